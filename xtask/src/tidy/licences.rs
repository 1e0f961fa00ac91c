//! The licence of every package in the build is one that `deny.toml` allows.

use std::iter::Peekable;

use serde_json::Value;

use super::tree::{host_platform, metadata};
use super::{assert_none, deny};

/// Whether an SPDX expression can be satisfied with these licences alone.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // `A/B` is how old packages wrote `A OR B`.
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    any_of(&mut words, allowed) && words.next().is_none()
}

fn any_of<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &[String]) -> bool {
    let mut result = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        result |= all_of(words, allowed);
    }
    result
}

fn all_of<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &[String]) -> bool {
    let mut result = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        result &= one(words, allowed);
    }
    result
}

fn one<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let inner = any_of(words, allowed);
        return words.next_if_eq(&")").is_some() && inner;
    }
    let mut licence = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&licence)
}

fn offence(package: &Value, allowed: &[String]) -> Option<String> {
    let name = package["name"].as_str().unwrap();
    match package["license"].as_str() {
        Some(licence) if is_allowed(licence, allowed) => None,
        Some(licence) => Some(format!("{name}: {licence}")),
        None => Some(format!("{name}: names no licence")),
    }
}

#[test]
fn every_package_has_a_licence_that_is_allowed() {
    let allowed = deny::allowed_licences();
    let metadata = metadata(&["--locked", "--filter-platform", &host_platform()]);
    let packages = metadata["packages"].as_array().unwrap();
    let offences: Vec<String> = packages
        .iter()
        .filter_map(|package| offence(package, &allowed))
        .collect();
    assert_none("deny.toml does not allow these licences", &offences);
}

#[test]
fn expressions_are_understood() {
    let allowed = ["MIT", "ISC", "Apache-2.0", "Unicode-3.0"].map(String::from);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("Apache-2.0/GPL-3.0-only", true),
        ("Apache-2.0 / MIT", true),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", true),
        ("(MIT OR GPL-3.0-only) AND GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT AND ISC", true),
        ("MIT OR GPL-3.0-only AND ISC", true),
        ("Apache-2.0 WITH LLVM-exception", false),
        ("Apache-2.0 WITH LLVM-exception OR MIT", true),
        ("", false),
        ("MIT MIT", false),
        ("(MIT", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}
