//! Which crate may know which. Arrows point down only.

use std::collections::{BTreeMap, BTreeSet};

use super::assert_none;
use super::tree::metadata;

enum May {
    Know(&'static [&'static str]),
    KnowAnything,
}

use May::{Know, KnowAnything};

const RULES: [(&str, May); 18] = [
    ("kiln-model", Know(&[])),
    ("kiln-compact-binary", Know(&[])),
    ("kiln-guest-init", Know(&[])),
    ("kiln-kernel", Know(&["kiln-model"])),
    ("kiln-insight", Know(&["kiln-model"])),
    ("kiln-image", Know(&["kiln-model"])),
    ("kiln-client", Know(&["kiln-model"])),
    ("kiln-store", Know(&["kiln-kernel", "kiln-model"])),
    ("kiln-registry", Know(&["kiln-store", "kiln-model"])),
    ("kiln-sandbox", Know(&["kiln-guest-init", "kiln-model"])),
    (
        "kiln-control",
        Know(&["kiln-store", "kiln-kernel", "kiln-insight", "kiln-model"]),
    ),
    (
        "kiln-runner",
        Know(&[
            "kiln-sandbox",
            "kiln-image",
            "kiln-insight",
            "kiln-client",
            "kiln-model",
        ]),
    ),
    (
        "kiln-server",
        Know(&[
            "kiln-control",
            "kiln-registry",
            "kiln-store",
            "kiln-kernel",
            "kiln-insight",
            "kiln-model",
            "kiln-compact-binary",
        ]),
    ),
    (
        "kiln-sim",
        Know(&[
            "kiln-control",
            "kiln-store",
            "kiln-kernel",
            "kiln-insight",
            "kiln-model",
        ]),
    ),
    ("kiln", KnowAnything),
    ("kiln-bench", KnowAnything),
    ("kiln-e2e", KnowAnything),
    ("xtask", Know(&[])),
];

#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    /// Needed by tests only.
    dev: bool,
}

fn offences(members: &BTreeSet<String>, edges: &[Edge]) -> Vec<String> {
    let rules: BTreeMap<&str, &May> = RULES.iter().map(|(name, may)| (*name, may)).collect();
    let unknown = members
        .iter()
        .filter(|member| !rules.contains_key(member.as_str()))
        .map(|member| format!("{member} has no rule: give it one in {}", file!()));
    let broken = edges.iter().filter_map(|edge| {
        let Edge { from, to, dev } = edge;
        match rules.get(from.as_str())? {
            // A crate whose tests use itself only turns on features of its own for them.
            _ if *dev && from == to => None,
            _ if *dev => reaches(edges, to, from).then(|| {
                format!("the tests of {from} use {to}, which stands on {from}: move them to {to}")
            }),
            Know(allowed) if !allowed.contains(&to.as_str()) => Some(format!(
                "{from} depends on {to}, but may know only [{}]",
                allowed.join(", ")
            )),
            Know(_) | KnowAnything => None,
        }
    });
    unknown.chain(broken).collect()
}

/// Whether there is a way from one crate to another that does not go through tests.
fn reaches(edges: &[Edge], from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(crate_name) = open.pop() {
        if crate_name == to {
            return true;
        }
        let next = edges
            .iter()
            .filter(|edge| !edge.dev && edge.from == crate_name);
        open.extend(
            next.map(|edge| edge.to.as_str())
                .filter(|name| seen.insert(name)),
        );
    }
    false
}

fn edge(from: &str, to: &str, dev: bool) -> Edge {
    Edge {
        from: from.into(),
        to: to.into(),
        dev,
    }
}

#[test]
fn crates_know_only_what_lies_below_them() {
    let metadata = metadata(&["--no-deps", "--offline"]);
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let mut edges = Vec::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = name(dependency);
            if members.contains(&to) {
                edges.push(edge(&name(package), &to, dependency["kind"] == "dev"));
            }
        }
    }
    assert!(
        edges.len() > 10,
        "the crates of a workspace know one another"
    );
    assert_none("arrows point down only", &offences(&members, &edges));
}

#[test]
fn an_arrow_that_points_up_is_an_offence() {
    let edges = [
        edge("kiln-control", "kiln-store", false),
        edge("kiln-store", "kiln-control", false),
    ];
    assert_eq!(
        offences(&BTreeSet::new(), &edges),
        ["kiln-store depends on kiln-control, but may know only [kiln-kernel, kiln-model]"]
    );
}

#[test]
fn tests_may_look_sideways_but_not_up() {
    let edges = [
        edge("kiln-control", "kiln-store", false),
        edge("kiln-store", "kiln-kernel", false),
        edge("kiln-image", "kiln-registry", true),
        edge("kiln-kernel", "kiln-kernel", true),
        edge("kiln-kernel", "kiln-control", true),
    ];
    assert_eq!(
        offences(&BTreeSet::new(), &edges),
        [
            "the tests of kiln-kernel use kiln-control, which stands on kiln-kernel: move them to kiln-control"
        ]
    );
}

#[test]
fn a_crate_without_a_rule_is_an_offence() {
    let offences = offences(&BTreeSet::from(["kiln-new".to_owned()]), &[]);
    assert!(
        offences[0].starts_with("kiln-new has no rule"),
        "{offences:?}"
    );
}
