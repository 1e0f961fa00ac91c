//! Words that must not be committed.

use std::path::Path;

use super::assert_none;
use super::tree::{File, files};
use crate::cargo::root;

/// In Rust code. Written in two halves, because this file is checked too.
const IN_CODE: [(&str, &str); 3] = [
    (concat!("to", "do!"), "finish it or leave it out"),
    (concat!("db", "g!"), "it was for a moment"),
    (
        concat!("#[ig", "nore"),
        "a test that never runs proves nothing",
    ),
];

/// Anywhere.
const ANYWHERE: [(&str, &str); 3] = [
    (concat!("FIX", "ME"), "fix it, or open an issue"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/Us", "ers/"), "a path of one machine"),
];

/// Directories that every machine has: a checkout inside one of them says nothing about the machine.
const COMMON_DIRECTORIES: [&str; 9] = [
    "/", "/builds", "/mnt", "/opt", "/root", "/src", "/srv", "/tmp", "/usr/src",
];

/// Where this checkout lies, and the directory around it when that is a particular one.
fn own_places(checkout: &Path) -> Vec<String> {
    let around = checkout.parent().filter(|around| {
        let common = COMMON_DIRECTORIES.iter().any(|common| around == common);
        !common
    });
    let places = [Some(checkout), around].into_iter().flatten();
    places
        .map(|place| format!("{}/", place.display()))
        .collect()
}

fn offences(file: &File, own_places: &[String]) -> Vec<String> {
    let is_code = file
        .path
        .extension()
        .is_some_and(|extension| extension == "rs");
    let in_code = IN_CODE.iter().filter(|_| is_code).copied();
    let places = own_places
        .iter()
        .map(|place| (place.as_str(), "a path of this machine"));
    let words: Vec<(&str, &str)> = in_code.chain(ANYWHERE).chain(places).collect();
    let mut offences = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for (word, why) in &words {
            if line.contains(word) {
                offences.push(format!(
                    "{}:{}: {word} ({why})",
                    file.path.display(),
                    index + 1
                ));
            }
        }
    }
    offences
}

#[test]
fn nothing_unfinished_or_private_is_committed() {
    let own_places = own_places(root());
    let files = files(&[
        "rs", "md", "toml", "sql", "sh", "json", "ts", "svelte", "html", "css",
    ]);
    let offences: Vec<String> = files
        .iter()
        .flat_map(|file| offences(file, &own_places))
        .collect();
    assert_none("these words do not belong into the project", &offences);
}

#[test]
fn each_word_is_found_where_it_counts() {
    let check = |path: &str, text: &str, expected: usize| {
        let file = File {
            path: path.into(),
            text: format!("first line\n{text}\n"),
        };
        let found = offences(&file, &["/somewhere/particular/".to_owned()]);
        assert_eq!(found.len(), expected, "{path}: {found:?}");
        let second_line = format!("{path}:2: ");
        assert!(
            found
                .iter()
                .all(|offence| offence.starts_with(&second_line))
        );
    };
    for (word, _) in IN_CODE {
        check("a.rs", word, 1);
        check("a.md", word, 0);
    }
    for (word, _) in ANYWHERE {
        check("a.rs", word, 1);
        check("a.md", word, 1);
    }
    check("a.md", "see /somewhere/particular/notes.md", 1);
}

#[test]
fn a_common_directory_is_not_a_place_of_this_machine() {
    assert_eq!(own_places(Path::new("/tmp/kiln")), ["/tmp/kiln/"]);
    assert_eq!(
        own_places(Path::new("/data/one/kiln")),
        ["/data/one/kiln/", "/data/one/"]
    );
}
