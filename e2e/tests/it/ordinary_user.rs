//! Somebody who is not root and has no control groups of their own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::{Command, Output};

use kiln_e2e::{Town, shell_layout};
use serde_json::Value;

const NOBODY: u32 = 65_534;

/// Runs the program as this user, at home in the town.
fn kiln_as_nobody(town: &Town, arguments: &[&str]) -> Output {
    let program = town.path().join("kiln");
    if !program.exists() {
        fs::set_permissions(town.path(), fs::Permissions::from_mode(0o755)).unwrap();
        chown(town.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        fs::copy(kiln_e2e::program(), &program).unwrap();
    }
    Command::new("setpriv")
        .args([
            format!("--reuid={NOBODY}"),
            format!("--regid={NOBODY}"),
            "--clear-groups".into(),
        ])
        .arg(&program)
        .args(arguments)
        .current_dir(town.path())
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", town.path())
        .env("TMPDIR", town.path())
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_demo_is_for_everyone() {
    let town = Town::new();
    let output = kiln_as_nobody(&town, &["demo", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let story: Value = serde_json::from_slice(&output.stdout).unwrap();
    let layers = story["job"]["output"]["conditions"]["layers"].as_array();
    let memory = layers
        .unwrap()
        .iter()
        .find(|layer| layer["name"] == "memory");
    assert_eq!(memory.unwrap()["applied"], false, "{layers:?}");
}

#[test]
fn jobs_run_without_limits_only_if_somebody_says_that_they_may() {
    let town = Town::new();
    shell_layout(town.path(), "told", "echo fine");
    let layout = town.path().join("layout-told");
    let words = ["runner", "run", "--image", layout.to_str().unwrap()];
    let output = kiln_as_nobody(&town, &words);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    for word in ["memory", "--accept-missing-limits", "as root"] {
        assert!(told(&output).contains(word), "{}", told(&output));
    }
    let output = kiln_as_nobody(&town, &[&words[..], &["--accept-missing-limits"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(output.stdout, b"fine\n");
}

#[test]
fn a_doctor_says_which_limits_are_missing_and_what_to_do() {
    let town = Town::new();
    let output = kiln_as_nobody(&town, &["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let limits = findings.iter().find(|finding| finding["name"] == "limits");
    assert_eq!(limits.unwrap()["works"], false, "{findings:?}");
    let fix = limits.unwrap()["fix"].as_str().unwrap();
    assert!(fix.contains("as root"), "{fix}");
}
