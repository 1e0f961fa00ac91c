//! What a host can give, as it is told to people and to programs.

use std::collections::BTreeMap;

use kiln_e2e::{Exited, kiln};
use serde_json::Value;

/// What is said of each thing: whether it works, and with what to paste where it does not.
fn findings(exited: &Exited) -> BTreeMap<String, Value> {
    let report: Value = serde_json::from_str(&exited.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            (
                finding["name"].as_str().unwrap().to_owned(),
                finding.clone(),
            )
        })
        .collect()
}

#[test]
fn what_works_here_is_told_to_people_and_to_programs_alike() {
    let (people, programs) = (kiln(&["doctor"], ""), kiln(&["doctor", "--json"], ""));
    assert_eq!((people.code, programs.code), (Some(0), Some(0)));
    let findings = findings(&programs);
    for name in [
        "kvm",
        "guest kernel",
        "firecracker",
        "qemu",
        "namespace",
        "network",
    ] {
        let finding = findings
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not told: {programs:?}"));
        let works = finding["works"].as_bool().unwrap();
        let start = format!("{:<3} {name} ", if works { "ok" } else { "no" });
        let line = people.stdout.lines().find(|line| line.starts_with(&start));
        assert!(line.is_some(), "{start:?} {people:?}");
        assert!(works || !finding["fix"].is_null(), "{finding}");
    }
    // Tests need chambers, so that there is at least one kind that works.
    assert_eq!(findings["namespace"]["works"], true, "{programs:?}");
    let report: Value = serde_json::from_str(&programs.stdout).unwrap();
    let auto = report["auto"].as_str().unwrap();
    assert_eq!(findings[auto]["works"], true, "{programs:?}");
    let last = people.stdout.lines().last().unwrap();
    assert_eq!(last, format!("auto takes: {auto}"));
}

#[test]
fn a_program_that_is_named_is_the_one_that_is_looked_at() {
    let exited = kiln(&["doctor", "--json", "--qemu", "/no/such/qemu"], "");
    assert_eq!(exited.code, Some(0), "{exited:?}");
    let qemu = findings(&exited)["qemu"].clone();
    assert_eq!(qemu["works"], false, "{qemu}");
}

#[test]
fn what_it_does_not_understand_is_a_mistake_of_the_user() {
    let exited = kiln(&["doctor", "--no-such-flag"], "");
    assert_eq!(exited.code, Some(2), "{exited:?}");
    assert_eq!(exited.stdout, "");
}
