//! The initial file system of a machine: our PID 1 and the kernel modules it loads, as a `newc` archive with the same
//! bytes every time.

use kiln_guest_init::protocol::machine;

use super::kernel::GuestKernel;
use super::modules;
use crate::{Error, guest};

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_666;

/// The numbers of `/dev/null`, which the Rust runtime opens before anything can mount a `/dev`.
const NULL: (u32, u32) = (1, 3);

/// The initial file system for a kernel.
pub(crate) fn initramfs(kernel: &GuestKernel) -> Result<Vec<u8>, Error> {
    let modules = match kernel.modules() {
        Some(directory) => modules::needed(directory)?,
        None => Vec::new(),
    };
    let mut archive = Archive::default();
    archive.add("dev", DIRECTORY, (0, 0), b"");
    archive.add("dev/null", CHARACTER_DEVICE, NULL, b"");
    archive.add("init", PROGRAM, (0, 0), guest::bytes());
    let directory = machine::MODULES.trim_start_matches('/');
    archive.add(directory, DIRECTORY, (0, 0), b"");
    for (number, (name, content)) in modules.iter().enumerate() {
        // The guest loads them in the order of their names.
        let path = format!("{directory}/{number:03}-{name}.ko");
        archive.add(&path, FILE, (0, 0), content);
    }
    Ok(archive.finish())
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    fn add(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let inode = self.entries;
        self.entry(inode, path, mode, device, content);
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry(0, "TRAILER!!!", 0, (0, 0), b"");
        self.bytes
    }

    fn entry(&mut self, inode: u32, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        const OWNER: u32 = 0;
        const LINKS: u32 = 1;
        const TIME: u32 = 0;
        const CHECKSUM: u32 = 0;
        let length = |bytes: usize| u32::try_from(bytes).expect("our own files are small");
        let fields = [
            inode,
            mode,
            OWNER,
            OWNER,
            LINKS,
            TIME,
            length(content.len()),
            0,
            0,
            device.0,
            device.1,
            length(path.len() + 1),
            CHECKSUM,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn an_entry_is_as_the_format_has_it() {
        let mut archive = Archive::default();
        archive.add("a", FILE, (0, 0), b"hello");
        let bytes = archive.finish();
        let header = "070701\
                      00000001000081a4000000000000000000000001000000000000000500000000\
                      0000000000000000000000000000000200000000a\0";
        assert!(bytes.starts_with(header.as_bytes()));
        assert_eq!(&bytes[112..120], b"hello\0\0\0");
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn another_program_reads_the_archive() {
        let mut archive = Archive::default();
        archive.add("dir", DIRECTORY, (0, 0), b"");
        archive.add("dir/odd", FILE, (0, 0), b"abc");
        archive.add("dir/even", FILE, (0, 0), b"abcd");
        let mut cpio = Command::new("cpio")
            .args(["--list", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cpio is not installed: run `cargo xtask setup`");
        cpio.stdin
            .take()
            .unwrap()
            .write_all(&archive.finish())
            .unwrap();
        let listed = cpio.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&listed.stdout),
            "dir\ndir/odd\ndir/even\n"
        );
    }
}
