//! Each limit has its own refusal, and one less is allowed.

use std::fs;
use std::io::Write as _;

use tar::EntryType;

use crate::testing::{Layer, image_of, image_of_stored};
use crate::{Compression, Exceeded, Image, LayerError, Layout, Limits, UnpackError, unpack};

fn unpack_image(make: impl FnOnce(&Layout) -> Image, limits: &Limits) -> Result<(), UnpackError> {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    unpack(&make(&layout), &root, limits).map(|_| ())
}

/// Unpacks one plain layer twice: `enough` suffices, `short` does not.
fn check(layer: Layer, enough: &Limits, short: &Limits, expected: Exceeded) {
    let archive = layer.finish();
    unpack_image(
        |layout| image_of(layout, std::slice::from_ref(&archive)),
        enough,
    )
    .unwrap();
    let error = unpack_image(|layout| image_of(layout, &[archive]), short).unwrap_err();
    let UnpackError::Refused {
        source: LayerError::Exceeded(actual),
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(actual, expected);
}

#[test]
fn entries_are_counted() {
    let limits = |entries| Limits {
        entries,
        ..Limits::DEFAULT
    };
    let layer = Layer::new().file("a", "").file("b", "").file(".wh.c", "");
    check(layer, &limits(3), &limits(2), Exceeded::Entries(2));
}

#[test]
fn unpacked_bytes_are_counted() {
    let limits = |unpacked_bytes| Limits {
        unpacked_bytes,
        ..Limits::DEFAULT
    };
    let layer = Layer::new().file("a", &"x".repeat(5000));
    check(
        layer,
        &limits(10_000),
        &limits(5_000),
        Exceeded::UnpackedBytes(5_000),
    );
}

#[test]
fn path_bytes_are_counted() {
    let limits = |path_bytes| Limits {
        path_bytes,
        ..Limits::DEFAULT
    };
    check(
        Layer::new().file("abcde", ""),
        &limits(6),
        &limits(4),
        Exceeded::PathBytes(4),
    );
    check(
        Layer::new().symlink("a", "12345"),
        &limits(5),
        &limits(4),
        Exceeded::PathBytes(4),
    );
}

#[test]
fn depth_is_counted_on_disk_and_not_in_the_path() {
    let limits = |depth| Limits {
        depth,
        ..Limits::DEFAULT
    };
    let layer = || {
        Layer::new()
            .directory("a/b/c")
            .symlink("s", "a/b/c")
            .file("s/f", "")
    };
    check(layer(), &limits(4), &limits(3), Exceeded::Depth(3));
}

#[test]
fn path_length_is_counted_on_disk_and_not_in_the_path() {
    let limits = |path_bytes| Limits {
        path_bytes,
        ..Limits::DEFAULT
    };
    let layer = || {
        Layer::new()
            .directory("aa/bb/cc")
            .symlink("s", "aa/bb/cc")
            .file("s/long", "")
    };
    check(layer(), &limits(14), &limits(13), Exceeded::PathBytes(13));
}

#[test]
fn an_extended_header_is_bounded_before_it_is_read() {
    let limits = |extended_header_bytes| Limits {
        extended_header_bytes,
        ..Limits::DEFAULT
    };
    let layer = || {
        Layer::new()
            .extended(&[("comment", &[b'x'; 1000])])
            .file("f", "")
    };
    check(
        layer(),
        &limits(2000),
        &limits(1000),
        Exceeded::ExtendedHeaderBytes(1000),
    );
    let layer = Layer::new()
        .entry(EntryType::GNULongName, "x", "", 0, &[b'n'; 200])
        .file("f", "");
    check(
        layer,
        &limits(200),
        &limits(199),
        Exceeded::ExtendedHeaderBytes(199),
    );
}

#[test]
fn a_bomb_is_stopped_by_its_ratio() {
    let archive = Layer::new()
        .entry(EntryType::Regular, "zeros", "", 0o644, &vec![0; 4 << 20])
        .finish();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&archive).unwrap();
    let bombs = [
        (Compression::Gzip, encoder.finish().unwrap()),
        (
            Compression::Zstd,
            zstd::encode_all(archive.as_slice(), 1).unwrap(),
        ),
    ];
    for (compression, stored) in bombs {
        let make = |layout: &Layout| {
            image_of_stored(layout, &[(compression, stored.clone(), archive.clone())])
        };
        // All of it fits into one read buffer, so that only the floor decides.
        let limits = Limits {
            ratio_floor_bytes: 1 << 20,
            ..Limits::DEFAULT
        };
        let error = unpack_image(make, &limits).unwrap_err();
        assert!(
            matches!(
                error,
                UnpackError::Refused {
                    source: LayerError::Exceeded(Exceeded::CompressionRatio(256)),
                    ..
                }
            ),
            "{error:?}"
        );
        unpack_image(make, &Limits::DEFAULT).unwrap();
    }
}

#[test]
fn layers_are_counted_and_measured() {
    let archive = Layer::new().file("a", "").finish();
    let size = archive.len() as u64;
    let two = |layout: &Layout| image_of(layout, &[archive.clone(), archive.clone()]);
    let error = unpack_image(
        two,
        &Limits {
            layers: 1,
            ..Limits::DEFAULT
        },
    )
    .unwrap_err();
    assert!(
        matches!(error, UnpackError::TooManyLayers { count: 2, limit: 1 }),
        "{error:?}"
    );
    let error = unpack_image(
        two,
        &Limits {
            layer_bytes: size - 1,
            ..Limits::DEFAULT
        },
    )
    .unwrap_err();
    assert!(
        matches!(error, UnpackError::LayerTooLarge { .. }),
        "{error:?}"
    );
}

#[test]
fn a_truncated_archive_is_refused() {
    let archive = Layer::new().file("a", &"x".repeat(2000)).finish();
    for length in [100, 512, 1000, 2000] {
        let cut = archive[..length].to_vec();
        let error = unpack_image(|layout| image_of(layout, &[cut]), &Limits::DEFAULT).unwrap_err();
        assert!(
            matches!(
                error,
                UnpackError::Refused {
                    source: LayerError::Truncated,
                    ..
                }
            ),
            "{length}: {error:?}"
        );
    }
}

#[test]
fn a_damaged_header_is_refused() {
    let mut archive = Layer::new().file("a", "x").finish();
    archive[0] ^= 1;
    let error = unpack_image(|layout| image_of(layout, &[archive]), &Limits::DEFAULT).unwrap_err();
    assert!(
        matches!(
            error,
            UnpackError::Refused {
                source: LayerError::BadHeader,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_layer_that_is_not_what_its_type_says_is_refused() {
    let archive = Layer::new().file("a", "x").finish();
    for compression in [Compression::Gzip, Compression::Zstd] {
        let make = |layout: &Layout| {
            image_of_stored(layout, &[(compression, archive.clone(), archive.clone())])
        };
        let error = unpack_image(make, &Limits::DEFAULT).unwrap_err();
        assert!(
            matches!(
                error,
                UnpackError::Refused {
                    source: LayerError::Stream(_),
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

#[test]
fn a_root_that_is_not_empty_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let image = image_of(&layout, &[Layer::new().finish()]);
    let error = unpack(&image, directory.path(), &Limits::DEFAULT).unwrap_err();
    assert!(matches!(error, UnpackError::RootNotEmpty), "{error:?}");
}
