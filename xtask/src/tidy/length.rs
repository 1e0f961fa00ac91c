//! No file becomes the one that everybody avoids.

use super::assert_none;
use super::tree::{File, files};

/// Without tests. Most files should stay far below.
const MAX_LINES: usize = 600;

fn offence(file: &File) -> Option<String> {
    let lines = file.lines_of_code().count();
    let too_long = lines > MAX_LINES && !file.is_test();
    too_long.then(|| format!("{}: {lines} lines", file.path.display()))
}

#[test]
fn files_are_short() {
    let offences: Vec<String> = files(&["rs", "sql"]).iter().filter_map(offence).collect();
    assert_none(
        &format!("a file has at most {MAX_LINES} lines without tests"),
        &offences,
    );
}

#[test]
fn only_code_counts() {
    let check = |path: &str, text: String, long: bool| {
        let path = path.into();
        assert_eq!(offence(&File { path, text }).is_some(), long);
    };
    let lines = |count: usize| "x\n".repeat(count);
    check("src/a.rs", lines(600), false);
    check("src/a.rs", lines(601), true);
    check(
        "src/a.rs",
        lines(600) + "#[cfg(test)]\nmod tests {\n}\n",
        false,
    );
    check("src/a/tests.rs", lines(601), false);
    check("tests/it/main.rs", lines(601), false);
}
