//! `deny.toml` holds the lists; these checks work without cargo-deny.

use std::fs;

use toml::{Table, Value};

use super::assert_none;
use crate::cargo::root;

/// The licences that a package may have.
pub(super) fn allowed_licences() -> Vec<String> {
    let allowed = &read("deny.toml")["licenses"]["allow"];
    strings(allowed.as_array().unwrap().iter())
}

fn banned_crates() -> Vec<String> {
    let banned = &read("deny.toml")["bans"]["deny"];
    strings(banned.as_array().unwrap().iter().map(|ban| &ban["crate"]))
}

fn strings<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<String> {
    values
        .map(|value| value.as_str().unwrap().to_owned())
        .collect()
}

fn read(path: &str) -> Table {
    let text = fs::read_to_string(root().join(path)).unwrap();
    text.parse().unwrap()
}

fn offences(lock: &Table, banned: &[String]) -> Vec<String> {
    let packages = lock["package"].as_array().unwrap().iter();
    let names = packages.filter_map(|package| package["name"].as_str());
    let found = names.filter(|name| banned.iter().any(|banned| banned == name));
    found
        .map(|name| format!("{name}: `cargo tree -i {name}` says who brought it"))
        .collect()
}

#[test]
fn banned_crates_are_not_in_the_lock_file() {
    let banned = banned_crates();
    for name in ["aws-lc-sys", "openssl-sys", "rsa"] {
        assert!(
            banned.iter().any(|banned| banned == name),
            "{name} is banned"
        );
    }
    let offences = offences(&read("Cargo.lock"), &banned);
    assert_none("deny.toml bans these crates", &offences);
}

#[test]
fn a_banned_crate_is_an_offence() {
    let lock = "[[package]]\nname = \"rsa\"\n[[package]]\nname = \"rsaki\"\n";
    let offences = offences(&lock.parse().unwrap(), &["rsa".to_owned()]);
    assert_eq!(offences, ["rsa: `cargo tree -i rsa` says who brought it"]);
}
