//! Pixels as a PNG file.

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::raster::Raster;

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// Eight bits a channel, red, green and blue, no interlacing.
const FORMAT: [u8; 5] = [8, 2, 0, 0, 0];

pub(super) fn encode(raster: &Raster) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend(raster.width.to_be_bytes());
    header.extend(raster.height.to_be_bytes());
    header.extend(FORMAT);
    let mut data = ZlibEncoder::new(Vec::new(), Compression::fast());
    for row in raster.pixels.chunks(raster.width as usize * 3) {
        // Each row begins with the name of its filter; none suits plain colours.
        let written = data.write_all(&[0]).and_then(|()| data.write_all(row));
        written.expect("a vector takes everything");
    }
    let data = data.finish().expect("a vector takes everything");
    let mut file = SIGNATURE.to_vec();
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"IDAT", &data);
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).expect("a picture is small");
    let mut crc = Crc::new();
    crc.update(&name);
    crc.update(data);
    file.extend(length.to_be_bytes());
    file.extend(name);
    file.extend(data);
    file.extend(crc.sum().to_be_bytes());
}
