//! What every crate has, and what its manifest leaves to the workspace.

use std::path::Path;

use toml::{Table, Value};

use super::assert_none;
use super::tree::files;
use crate::cargo::root;

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// A manifest and where it lies.
struct Manifest {
    directory: String,
    table: Table,
}

fn members() -> Vec<Manifest> {
    let manifests = files(&["toml"]).into_iter().filter(|file| {
        let top = file.path == Path::new("Cargo.toml");
        file.path.ends_with("Cargo.toml") && !top
    });
    let manifest = manifests.map(|file| Manifest {
        directory: file.path.parent().unwrap().display().to_string(),
        table: file.text.parse().unwrap(),
    });
    manifest.collect()
}

/// Dependencies that name a version, a path or a repository of their own.
fn own_versions(manifest: &Manifest) -> Vec<String> {
    let targets = manifest.table.get("target").and_then(Value::as_table);
    let for_targets = targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let tables = [&manifest.table].into_iter().chain(for_targets);
    let lists = tables.flat_map(|table| KINDS.iter().filter_map(|kind| table.get(*kind)));
    let dependencies = lists.filter_map(Value::as_table).flatten();
    dependencies
        .filter(|(_, value)| value.get("workspace") != Some(&Value::Boolean(true)))
        .map(|(name, _)| format!("{}: {name}", manifest.directory))
        .collect()
}

fn follows_workspace_lints(manifest: &Manifest) -> bool {
    let lints = manifest
        .table
        .get("lints")
        .and_then(|lints| lints.get("workspace"));
    lints == Some(&Value::Boolean(true))
}

#[test]
fn every_version_is_declared_once_in_the_root() {
    let offences: Vec<String> = members().iter().flat_map(own_versions).collect();
    assert_none(
        "declare it under [workspace.dependencies] and write `workspace = true`",
        &offences,
    );
}

#[test]
fn every_crate_follows_the_workspace_lints() {
    let offences: Vec<String> = members()
        .into_iter()
        .filter(|manifest| !follows_workspace_lints(manifest))
        .map(|manifest| manifest.directory)
        .collect();
    assert_none("write `[lints] workspace = true`", &offences);
}

#[test]
fn every_crate_has_a_readme() {
    let offences: Vec<String> = members()
        .into_iter()
        .map(|manifest| manifest.directory)
        .filter(|directory| !root().join(directory).join("README.md").exists())
        .collect();
    assert_none("a crate says in its README.md what it is for", &offences);
}

#[test]
fn a_version_of_its_own_is_an_offence() {
    let manifest = |text: &str| Manifest {
        directory: "a".into(),
        table: text.parse().unwrap(),
    };
    for text in [
        "[dependencies]\nx = '1'",
        "[dev-dependencies]\nx = { path = '../x' }",
        "[build-dependencies.x]\ngit = 'https://example.org'",
        "[target.'cfg(unix)'.dependencies]\nx = '1'",
        "[dependencies]\nx = { workspace = false, version = '1' }",
    ] {
        assert_eq!(own_versions(&manifest(text)), ["a: x"], "{text}");
    }
    let good = "[dependencies]\nx.workspace = true\ny = { workspace = true, features = ['z'] }";
    assert!(own_versions(&manifest(good)).is_empty());
}

#[test]
fn lints_of_its_own_are_an_offence() {
    let follows = |text: &str| {
        let (directory, table) = (String::new(), text.parse().unwrap());
        follows_workspace_lints(&Manifest { directory, table })
    };
    assert!(follows("[lints]\nworkspace = true"));
    assert!(!follows("[package]\nname = 'a'"));
    assert!(!follows("[lints.clippy]\nall = 'allow'"));
}
