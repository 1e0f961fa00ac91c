//! Layers that mean harm. Whatever they ask for, nothing outside the root changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use tar::EntryType;

use crate::testing::{Layer, census, image_of};
use crate::{LayerError, Layout, Limits, UnpackError, unpack};

/// A root inside a directory full of things to damage.
struct Arena {
    directory: tempfile::TempDir,
    before: Vec<String>,
}

impl Arena {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let canary = directory.path().join("canary");
        fs::create_dir_all(canary.join("dir")).unwrap();
        fs::write(canary.join("file"), "untouched").unwrap();
        fs::write(canary.join("dir/inner"), "untouched").unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        let before = census(&canary);
        Self { directory, before }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// The canary's absolute path, for layers to aim at.
    fn canary(&self) -> String {
        self.directory.path().join("canary").display().to_string()
    }

    fn unpack(&self, layers: impl IntoIterator<Item = Layer>) -> Result<(), LayerError> {
        let elsewhere = tempfile::tempdir().unwrap();
        let layout = Layout::create(elsewhere.path()).unwrap();
        let layers: Vec<_> = layers.into_iter().map(Layer::finish).collect();
        let outcome = unpack(&image_of(&layout, &layers), &self.root(), &Limits::DEFAULT);
        assert_eq!(
            census(Path::new(&self.canary())),
            self.before,
            "the canary was touched"
        );
        let mut around: Vec<_> = fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        around.sort_unstable();
        assert_eq!(
            around,
            ["canary", "root"],
            "something was made beside the root"
        );
        match outcome {
            Ok(_) => Ok(()),
            Err(UnpackError::Refused { source, .. }) => Err(source),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }
}

macro_rules! refused {
    ($layers:expr, $pattern:pat) => {
        let error = Arena::new().unpack($layers).unwrap_err();
        assert!(matches!(error, $pattern), "{error:?}");
    };
}

#[test]
fn an_owner_that_stands_for_none_is_refused() {
    for id in ["4294967295", "4294967296"] {
        for key in ["uid", "gid"] {
            let owned = Layer::new().extended(&[(key, id.as_bytes())]);
            refused!([owned.file("a", "x")], LayerError::NoSuchId { .. });
        }
    }
}

#[test]
fn a_path_with_a_parent_is_refused() {
    for path in [
        "../canary/file",
        "a/../../canary/file",
        "/../canary/file",
        "..",
    ] {
        refused!(
            [Layer::new().file(path, "evil")],
            LayerError::ParentComponent { .. }
        );
    }
}

#[test]
fn an_absolute_path_lands_inside() {
    let arena = Arena::new();
    let target = format!("{}/file", arena.canary());
    arena
        .unpack([Layer::new().file(&target, "inside")])
        .unwrap();
    assert_eq!(arena.read(target.trim_start_matches('/')), "inside");
}

#[test]
fn a_file_written_through_an_absolute_symlink_lands_inside() {
    let arena = Arena::new();
    let canary = arena.canary();
    let layer = Layer::new()
        .directory(&canary)
        .symlink("out", &canary)
        .file("out/file", "inside")
        .file("out/new", "inside");
    arena.unpack([layer]).unwrap();
    assert_eq!(
        arena.read(&format!("{}/file", canary.trim_start_matches('/'))),
        "inside"
    );
}

#[test]
fn a_file_written_through_a_climbing_symlink_lands_inside() {
    let arena = Arena::new();
    let layer = Layer::new()
        .directory("canary/")
        .directory("a/")
        .symlink("a/out", "../../../../canary")
        .file("a/out/file", "inside");
    arena.unpack([layer]).unwrap();
    assert_eq!(arena.read("canary/file"), "inside");
}

#[test]
fn a_symlink_in_a_files_place_is_replaced_and_not_followed() {
    let arena = Arena::new();
    let target = format!("{}/file", arena.canary());
    let low = Layer::new()
        .symlink("f", &target)
        .symlink("d", &arena.canary());
    let high = Layer::new()
        .file("f", "mine")
        .directory("d")
        .file("d/inner", "mine");
    arena.unpack([low, high]).unwrap();
    assert_eq!(arena.read("f"), "mine");
    assert_eq!(arena.read("d/inner"), "mine");
}

#[test]
fn a_path_through_a_dangling_symlink_is_refused() {
    refused!(
        [Layer::new()
            .symlink("out", "/no/such/place")
            .file("out/file", "x")],
        LayerError::NotADirectory { .. }
    );
}

#[test]
fn a_hard_link_out_of_the_root_is_refused() {
    refused!(
        [Layer::new().hard_link("l", "../canary/file")],
        LayerError::ParentComponent { .. }
    );
    let arena = Arena::new();
    let target = format!("{}/file", arena.canary());
    let error = arena
        .unpack([Layer::new().hard_link("l", &target)])
        .unwrap_err();
    assert!(
        matches!(error, LayerError::LinkTargetMissing { .. }),
        "{error:?}"
    );
}

#[test]
fn a_hard_link_through_a_symlink_finds_only_what_is_inside() {
    let arena = Arena::new();
    let layer = Layer::new()
        .symlink("out", &arena.canary())
        .hard_link("l", "out/file");
    let error = arena.unpack([layer]).unwrap_err();
    assert!(
        matches!(error, LayerError::LinkTargetMissing { .. }),
        "{error:?}"
    );
}

#[test]
fn a_hard_link_to_a_symlink_is_that_symlink_and_writing_over_it_stays_inside() {
    let arena = Arena::new();
    let target = format!("{}/file", arena.canary());
    let low = Layer::new().symlink("s", &target).hard_link("l", "s");
    let high = Layer::new().file("l", "mine");
    arena.unpack([low, high]).unwrap();
    assert_eq!(arena.read("l"), "mine");
    assert!(arena.root().join("s").is_symlink());
}

#[test]
fn a_hard_link_to_a_directory_is_refused() {
    refused!(
        [Layer::new().directory("d/").hard_link("l", "d")],
        LayerError::LinkToDirectory { .. }
    );
    refused!(
        [Layer::new().hard_link("l", "/")],
        LayerError::LinkWithoutTarget { .. }
    );
}

#[test]
fn a_hard_link_into_what_it_replaces_is_refused() {
    refused!(
        [
            Layer::new().file("d/f", "x"),
            Layer::new().hard_link("d", "d/f")
        ],
        LayerError::LinkTargetMissing { .. }
    );
}

#[test]
fn a_whiteout_through_a_symlinked_parent_removes_nothing_outside() {
    let arena = Arena::new();
    let canary = arena.canary();
    let low = Layer::new()
        .symlink("out", &canary)
        .file(&format!("{canary}/file"), "inner copy");
    let high = Layer::new()
        .file("out/.wh.file", "")
        .file("out/.wh..wh..opq", "");
    arena.unpack([low, high]).unwrap();
    assert!(
        !arena
            .root()
            .join(canary.trim_start_matches('/'))
            .join("file")
            .exists()
    );
}

#[test]
fn a_whiteout_of_a_symlink_removes_the_link_alone() {
    let arena = Arena::new();
    let low = Layer::new().symlink("out", &arena.canary());
    arena
        .unpack([low, Layer::new().file(".wh.out", "")])
        .unwrap();
    assert!(!arena.root().join("out").is_symlink());
}

#[test]
fn a_whiteout_of_a_parent_or_of_nothing_is_refused() {
    for path in [".wh...", "d/.wh...", ".wh..", ".wh."] {
        refused!(
            [Layer::new().file(path, "")],
            LayerError::BadWhiteout { .. }
        );
    }
}

#[test]
fn an_extended_header_can_smuggle_no_path() {
    refused!(
        [Layer::new()
            .extended(&[("path", b"../canary/file")])
            .file("harmless", "x")],
        LayerError::ParentComponent { .. }
    );
    refused!(
        [Layer::new()
            .extended(&[("linkpath", b"../canary/file")])
            .hard_link("l", "harmless")],
        LayerError::ParentComponent { .. }
    );
    refused!(
        [Layer::new()
            .extended(&[("path", b"a\0b")])
            .file("harmless", "x")],
        LayerError::NulInPath { .. }
    );
    refused!(
        [Layer::new()
            .entry(EntryType::XHeader, "x", "", 0, b"99 path=a\n")
            .file("f", "")],
        LayerError::BadExtendedHeader
    );
}

#[test]
fn a_long_name_entry_can_smuggle_no_path() {
    let layer = Layer::new()
        .entry(EntryType::GNULongName, "x", "", 0, b"../canary/file\0")
        .file("f", "");
    refused!([layer], LayerError::ParentComponent { .. });
}

#[test]
fn a_global_extended_header_changes_nothing() {
    let arena = Arena::new();
    let layer = Layer::new()
        .entry(
            EntryType::XGlobalHeader,
            "g",
            "",
            0,
            b"23 path=../canary/file\n",
        )
        .file("f", "x");
    arena.unpack([layer]).unwrap();
    assert_eq!(arena.read("f"), "x");
}

#[test]
fn a_symlink_loop_is_refused() {
    refused!(
        [Layer::new()
            .symlink("a", "b")
            .symlink("b", "a")
            .file("a/f", "x")],
        LayerError::SymlinkLoop { .. }
    );
    refused!(
        [Layer::new()
            .symlink("a", "b")
            .symlink("b", "a")
            .hard_link("l", "a/f")],
        LayerError::SymlinkLoop { .. }
    );
}

#[test]
fn a_path_through_a_file_is_refused() {
    refused!(
        [Layer::new().file("f", "x").file("f/inner", "x")],
        LayerError::NotADirectory { .. }
    );
}

#[test]
fn links_of_the_proc_file_system_lead_nowhere() {
    let arena = Arena::new();
    let layer = Layer::new()
        .symlink("out", "/proc/self/root")
        .file("out/etc/x", "x");
    let error = arena.unpack([layer]).unwrap_err();
    assert!(
        matches!(error, LayerError::NotADirectory { .. }),
        "{error:?}"
    );
}

#[test]
fn the_root_itself_cannot_become_something_else() {
    for layer in [
        Layer::new().symlink("/", "/etc"),
        Layer::new().file("./", "x"),
        Layer::new().hard_link(".", "x"),
    ] {
        refused!([layer], LayerError::NoName { .. });
    }
}

#[test]
fn sparse_files_and_unknown_kinds_are_refused() {
    refused!(
        [Layer::new().entry(EntryType::GNUSparse, "s", "", 0o644, b"")],
        LayerError::Sparse { .. }
    );
    refused!(
        [Layer::new()
            .extended(&[("GNU.sparse.major", b"1")])
            .file("s", "")],
        LayerError::Sparse { .. }
    );
    refused!(
        [Layer::new().entry(EntryType::new(b'Z'), "z", "", 0o644, b"")],
        LayerError::UnknownKind { kind: 'Z', .. }
    );
}

#[test]
fn links_without_targets_are_refused() {
    refused!(
        [Layer::new().symlink("l", "")],
        LayerError::LinkWithoutTarget { .. }
    );
    refused!(
        [Layer::new().hard_link("l", "")],
        LayerError::LinkWithoutTarget { .. }
    );
}

#[test]
fn errors_show_no_raw_bytes_of_a_path() {
    let error = Arena::new()
        .unpack([Layer::new().file("\u{1b}[2J/../x", "")])
        .unwrap_err()
        .to_string();
    assert_eq!(error, "\\x1b[2J/../x: `..` in a path");
}

/// One step of a layer made by chance, from few enough names that the steps get in each other's way.
fn arbitrary_step() -> impl Strategy<Value = (u8, String, String)> {
    let name = prop::sample::select(vec!["a", "b", "c", ".wh.a", ".wh..wh..opq", "..", "out"]);
    let path = prop::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    let target = prop_oneof![
        path.clone(),
        Just("CANARY".to_owned()),
        Just("CANARY/dir".to_owned()),
        Just("../../../canary".to_owned()),
        Just("/".to_owned()),
        Just("a/../../..".to_owned()),
    ];
    (0..4_u8, path, target)
}

fn arbitrary_layer(steps: &[(u8, String, String)], canary: &str) -> Layer {
    steps
        .iter()
        .fold(Layer::new(), |layer, (kind, path, target)| {
            let target = target.replace("CANARY", canary);
            match kind {
                0 => layer.file(path, "evil"),
                1 => layer.directory(path),
                2 => layer.symlink(path, &target),
                _ => layer.hard_link(path, &target),
            }
        })
}

/// An ordinary user could damage what is its own, and meets other refusals of the kernel than root does.
#[test]
fn the_whole_corpus_does_no_more_harm_as_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        // All of it runs as one anyway.
        return;
    }
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .arg("unpack::tests::hostile::")
        .output()
        .expect("util-linux is not installed: run `cargo xtask setup`");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    // A filter that finds nothing succeeds too.
    let one = "hostile::a_hard_link_out_of_the_root_is_refused ... ok";
    assert!(told.contains(one), "{told}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_layers_whatever_they_hold_touch_anything_outside(
        low in prop::collection::vec(arbitrary_step(), 0..12),
        high in prop::collection::vec(arbitrary_step(), 0..12),
    ) {
        let arena = Arena::new();
        let canary = arena.canary();
        let layers = [arbitrary_layer(&low, &canary), arbitrary_layer(&high, &canary)];
        // Most are refused half-way; the arena looks at the canary in any case.
        let _refused_or_not = arena.unpack(layers);
    }
}
