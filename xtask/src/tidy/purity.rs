//! The crates that decide do not do: no runtime, no clock, no files, no sockets.

use super::assert_none;
use super::tree::{File, files};

const PURE: [&str; 3] = ["crates/model", "crates/kernel", "crates/insight"];

const IMPURE: [&str; 4] = ["tokio", "std::time::SystemTime", "std::fs", "std::net"];

fn offences(file: &File) -> Vec<String> {
    let code: Vec<&str> = file
        .lines_of_code()
        .filter(|line| !line.trim_start().starts_with("//") && !line.starts_with('#'))
        .collect();
    let code = spell_out(&code.join("\n"));
    IMPURE
        .iter()
        .filter(|word| mentions(&code, word))
        .map(|word| format!("{}: {word}", file.path.display()))
        .collect()
}

/// Adds, for each `use std::{a, b::c};`, the paths `std::a` and `std::b::c`, so that a search for them finds them. Deeper groups
/// are spelled out by their own first word, which is the one that counts.
fn spell_out(code: &str) -> String {
    let mut spelled = code.to_owned();
    for prefix in ["std::", "std::time::"] {
        let group = format!("{prefix}{{");
        for (start, _) in code.match_indices(&group) {
            let names = code[start + group.len()..]
                .split(';')
                .next()
                .unwrap_or_default();
            for name in names.split([',', '{', '}']) {
                spelled.push('\n');
                spelled.push_str(prefix);
                spelled.push_str(name.trim());
            }
        }
    }
    spelled
}

/// Whether a path occurs as a whole: `std::fs` is not in `std::fsync`.
fn mentions(code: &str, path: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(path).any(|(start, _)| {
        let after = code[start + path.len()..].chars().next();
        let before = code[..start].chars().next_back();
        !after.is_some_and(continues) && !before.is_some_and(continues)
    })
}

#[test]
fn pure_crates_do_no_input_or_output_and_read_no_clock() {
    let in_pure_crate = |file: &&File| PURE.iter().any(|pure| file.path.starts_with(pure));
    let files = files(&["rs", "toml"]);
    let checked = files.iter().filter(in_pure_crate);
    let checked = checked.filter(|file| !file.is_test() && !file.path.ends_with("clippy.toml"));
    let offences: Vec<String> = checked.flat_map(offences).collect();
    assert_none(
        "model, kernel and insight take time and bytes as arguments",
        &offences,
    );
}

#[test]
fn each_way_to_name_them_is_found() {
    let check = |text: &str, expected: &[&str]| {
        let file = File {
            path: "a.rs".into(),
            text: text.into(),
        };
        let expected: Vec<String> = expected
            .iter()
            .map(|word| format!("a.rs: {word}"))
            .collect();
        assert_eq!(offences(&file), expected, "{text}");
    };
    check("use std::fs;", &["std::fs"]);
    check("use std::{fmt, fs::File};", &["std::fs"]);
    check(
        "use std::{\n    fmt::{self, Display},\n    net::IpAddr,\n};",
        &["std::net"],
    );
    check(
        "use std::time::{Duration, SystemTime};",
        &["std::time::SystemTime"],
    );
    check(
        "let now = std::time::SystemTime::now();",
        &["std::time::SystemTime"],
    );
    check("tokio.workspace = true", &["tokio"]);
    check("use std::fmt;\nuse std::time::Duration;", &[]);
    check("// Unlike tokio and std::fs, this is pure.", &[]);
    check(
        "fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}",
        &[],
    );
}
