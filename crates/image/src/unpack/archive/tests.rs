use proptest::prelude::*;

use super::*;
use crate::testing::Layer;

fn check_time(text: &str, tv_sec: i64, tv_nsec: i64) {
    assert_eq!(time(text.as_bytes()).unwrap(), Timespec { tv_sec, tv_nsec });
}

#[test]
fn times_with_signs_and_fractions_are_read() {
    check_time("0", 0, 0);
    check_time("12.5", 12, 500_000_000);
    check_time("1.0000000019", 1, 1);
    check_time("-1", -1, 0);
    check_time("-1.25", -2, 750_000_000);
}

#[test]
fn a_record_must_have_the_length_it_says() {
    for bad in [
        "8 path=a\n",
        "11 path=a\n",
        "x path=a\n",
        "10 pathxa\n",
        "99999999999999999999 a=b\n",
        "0 a=b\n",
        "+9 path=a\n",
    ] {
        let outcome = Extended::default().records(bad.as_bytes());
        assert!(
            matches!(outcome, Err(LayerError::BadExtendedHeader)),
            "{bad:?}"
        );
    }
    let mut extended = Extended::default();
    extended.records(b"10 path=a\n").unwrap();
    assert_eq!(extended.path.as_deref(), Some(b"a".as_slice()));
}

#[test]
fn a_newline_in_a_value_does_not_start_a_record() {
    let mut extended = Extended::default();
    extended
        .records(b"32 SCHILY.xattr.user.x=a\n9 p=..\n")
        .unwrap();
    assert_eq!(extended.path, None);
    assert_eq!(
        extended.attributes,
        [(b"user.x".to_vec(), b"a\n9 p=..".to_vec())]
    );
}

fn read_through(bytes: &[u8]) -> Result<usize, LayerError> {
    let mut archive = Archive::new(bytes, &Limits::DEFAULT);
    let mut entries = 0;
    let mut buffer = [0; 100];
    while archive.next_entry()?.is_some() {
        entries += 1;
        while archive.read_body(&mut buffer)? > 0 {}
    }
    Ok(entries)
}

/// Sets one byte and makes the header's checksum right again, so that the damage gets through.
fn damage(archive: &mut [u8], at: usize, value: u8) {
    archive[at] = value;
    let block = at / BLOCK_BYTES * BLOCK_BYTES;
    let header = &mut archive[block..block + BLOCK_BYTES];
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _read_or_refused = read_through(&bytes);
    }

    #[test]
    fn a_damaged_archive_is_read_or_refused(
        at in 0..2048_usize,
        value in any::<u8>(),
        more in prop::collection::vec((0..512_usize, any::<u8>()), 0..4),
    ) {
        let mut archive = Layer::new()
            .extended(&[("path", b"renamed"), ("mtime", b"1.5")])
            .file("a", "contents")
            .finish();
        damage(&mut archive, at, value);
        for (at, value) in more {
            damage(&mut archive, at, value);
        }
        let _read_or_refused = read_through(&archive);
    }
}

#[test]
fn a_size_no_archive_can_have_is_refused() {
    let mut archive = Layer::new().file("a", "contents").finish();
    // The largest number a header can hold, in the binary form.
    archive[124..136].fill(0xff);
    archive[124] = 0x80;
    damage(&mut archive, 0, b'a');
    assert!(read_through(&archive).is_err());
}
