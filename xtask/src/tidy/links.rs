//! Links from one file of the project to another lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::assert_none;
use super::tree::{File, files};
use crate::cargo::root;

/// The targets of the links in a Markdown text, outside code.
fn targets(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut in_code_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code_block = !in_code_block;
        }
        if in_code_block || line.starts_with("    ") {
            continue;
        }
        let outside_code = line.split('`').step_by(2);
        for part in outside_code {
            let links = part.split("](").skip(1);
            targets.extend(links.filter_map(|rest| rest.split([')', ' ']).next()));
        }
        let is_definition = line.starts_with('[') && !line.starts_with("[^");
        if let Some((_, target)) = line.split_once("]: ").filter(|_| is_definition) {
            targets.extend(target.split_whitespace().next());
        }
    }
    targets
}

/// The file that a link means; `None` for the web, and for a heading of the same file.
fn local(target: &str) -> Option<&str> {
    let path = target.split('#').next().filter(|path| !path.is_empty())?;
    let is_address = path.contains("://") || path.starts_with("mailto:");
    (!is_address).then_some(path)
}

fn offences(file: &File, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let directory = file.path.parent().unwrap_or_else(|| Path::new(""));
    let broken = targets(&file.text).into_iter().filter_map(local);
    let broken = broken.filter(|target| {
        let inside = normal(&directory.join(target));
        !inside.is_some_and(|path| exists(&path))
    });
    broken
        .map(|target| format!("{}: {target}", file.path.display()))
        .collect()
}

/// The path without `.` and `..`; `None` when it leaves the checkout.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

#[test]
fn links_between_files_lead_somewhere() {
    let exists = |path: &Path| root().join(path).exists();
    let files = files(&["md"]);
    let offences: Vec<String> = files
        .iter()
        .flat_map(|file| offences(file, exists))
        .collect();
    assert_none("these links lead nowhere", &offences);
}

#[test]
fn broken_links_are_found() {
    let check = |text: &str, expected: &[&str]| {
        let file = File {
            path: "docs/a.md".into(),
            text: text.into(),
        };
        let exists = |path: &Path| {
            ["README.md", "docs/b.md"]
                .iter()
                .any(|there| path == *there)
        };
        let expected: Vec<String> = expected
            .iter()
            .map(|to| format!("docs/a.md: {to}"))
            .collect();
        assert_eq!(offences(&file, exists), expected, "{text}");
    };
    check("[b](b.md), [b again](./b.md#part), [up](../README.md)", &[]);
    check(
        "[c](c.md) and [b](b.md) and ![d](d.png \"title\")",
        &["c.md", "d.png"],
    );
    check(
        "[out](../../README.md) [abs](/etc/passwd)",
        &["../../README.md", "/etc/passwd"],
    );
    check(
        "[web](https://example.org/x) [here](#part) [mail](mailto:a@example.org)",
        &[],
    );
    check("`[c](c.md)`\n```\n[c](c.md)\n```\n    [c](c.md)", &[]);
    check("[c]: c.md\n[b]: b.md", &["c.md"]);
}
