//! What a host can give, as it is told to people and to programs.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use kiln_e2e::{Exited, kiln, program};
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

/// A doctor of a host that gives neither namespaces nor machines.
fn doctor_without_a_back_end(arguments: &[&str]) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c"]);
    // How many more there may be is counted for each user namespace by itself: the host's own number stays.
    command.arg("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"");
    command.arg("sh").arg(program()).arg("doctor");
    command.args(["--qemu", "/no/such/qemu", "--firecracker", "/no/such/one"]);
    command.args(arguments).output().unwrap()
}

#[test]
fn a_host_without_any_back_end_fails_after_all_is_told() {
    let people = doctor_without_a_back_end(&[]);
    assert_eq!(people.status.code(), Some(1), "{people:?}");
    let told = String::from_utf8_lossy(&people.stdout);
    assert!(told.ends_with("\nauto takes: nothing\n"), "{told}");
    let error = String::from_utf8_lossy(&people.stderr);
    assert!(error.starts_with("error: no back end works"), "{error}");
}

#[test]
fn a_program_hears_of_a_host_without_any_back_end_too() {
    let programs = doctor_without_a_back_end(&["--json"]);
    assert_eq!(programs.status.code(), Some(1), "{programs:?}");
    let report: Value = serde_json::from_slice(&programs.stdout).unwrap();
    assert!(report["auto"].is_null(), "{report}");
    assert_eq!(report["findings"].as_array().unwrap().len(), 8, "{report}");
}

/// The option, and the lines that it is looked at for.
const NAMED: [(&str, &[&str]); 4] = [
    ("--qemu", &["qemu"]),
    ("--firecracker", &["firecracker"]),
    ("--jailer", &["firecracker"]),
    ("--kernel", &["guest kernel", "qemu"]),
];

#[test]
fn a_program_that_is_not_qemu_is_not_taken_for_it() {
    let exited = kiln(&["doctor", "--json", "--qemu", "/bin/true"], "");
    let qemu = &findings(&exited)["qemu"];
    assert_eq!(qemu["works"], false, "{qemu}");
    let detail = qemu["detail"].as_str().unwrap();
    assert!(detail.contains("does not say that it is QEMU"), "{qemu}");
}

#[test]
fn an_option_that_names_what_is_not_there_is_said_to_be_wrong() {
    for (option, lines) in NAMED {
        let exited = kiln(&["doctor", "--json", option, "/no/such/file"], "");
        assert_eq!(exited.code, Some(0), "{exited:?}");
        for line in lines {
            let finding = &findings(&exited)[*line];
            assert_eq!(finding["works"], false, "{finding}");
            let detail = finding["detail"].as_str().unwrap();
            let fault = format!("{option} is wrong: it names /no/such/file,");
            assert!(detail.starts_with(&fault), "{finding}");
            let fix = finding["fix"].as_str().unwrap();
            let correct = format!("correct {option} /no/such/file,");
            assert!(fix.starts_with(&correct), "{finding}");
        }
    }
}

#[test]
fn a_program_that_is_named_is_the_one_that_is_looked_at() {
    let exited = kiln(&["doctor", "--json", "--qemu", "/bin/sh"], "");
    let qemu = findings(&exited)["qemu"].clone();
    let detail = qemu["detail"].as_str().unwrap();
    let program = std::fs::canonicalize("/bin/sh").unwrap();
    assert!(detail.starts_with(program.to_str().unwrap()), "{qemu}");
}

#[test]
fn what_it_does_not_understand_is_a_mistake_of_the_user() {
    let exited = kiln(&["doctor", "--no-such-flag"], "");
    assert_eq!(exited.code, Some(2), "{exited:?}");
    assert_eq!(exited.stdout, "");
}
