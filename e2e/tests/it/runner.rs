//! A runner without a server, and one whose jobs run in machines.

use std::path::PathBuf;

use kiln_e2e::{Process, Town, kiln, shell_image, shell_layout};
use kiln_model::Status;
use rustix::process::Signal;
use serde_json::Value;

use crate::leftovers::groups_of;

/// An image that runs a script, and the arguments that run it.
fn run_arguments(town: &Town, tag: &str, script: &str) -> Vec<String> {
    shell_layout(town.path(), tag, script);
    let path = |name: String| town.path().join(name).to_string_lossy().into_owned();
    let words = [
        "runner".to_owned(),
        "run".into(),
        "--image".into(),
        path(format!("layout-{tag}")),
        "--runner-data".into(),
        path("runner".to_owned()),
        "--memory".into(),
        "64".into(),
        "--disk".into(),
        "16".into(),
    ];
    words.into()
}

fn run(arguments: &[String], more: &[&str]) -> kiln_e2e::Exited {
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    words.extend(more);
    kiln(&words, "")
}

#[test]
fn an_image_runs_once_without_a_server() {
    let town = Town::new();
    let arguments = run_arguments(&town, "once", "echo hello $WHO; echo 42 > /answer");
    let exited = run(&arguments, &["--env", "WHO=you", "--output", "/answer"]);
    assert_eq!(exited.code, Some(0), "{exited:?}");
    assert_eq!(exited.stdout, "hello you\n42\n");
}

#[test]
fn whoever_names_a_program_that_is_not_used_is_told() {
    let town = Town::new();
    let arguments = run_arguments(&town, "unused", "echo hello");
    let exited = run(&arguments, &["--qemu", "/bin/true"]);
    assert_eq!(exited.code, Some(0), "{exited:?}");
    assert!(exited.stderr.contains("--backend qemu"), "{exited:?}");
}

#[test]
fn limits_of_processes_are_set_and_told_and_those_beyond_the_hosts_are_clamped() {
    let town = Town::new();
    let arguments = run_arguments(&town, "limited", "ulimit -Ss; ulimit -Hs");
    let words = [
        "--ulimit",
        "stack=3145728",
        "--ulimit",
        "stack=1048576:2097152",
        "--ulimit",
        "nofile=4294967295",
    ];
    let exited = run(&arguments, &words);
    assert_eq!(exited.code, Some(0), "{exited:?}");
    assert_eq!(exited.stdout, "1024\n2048\n");
    let clamped = "rlimit-nofile: clamped from 4294967295 to ";
    assert!(exited.stderr.contains(clamped), "{exited:?}");
    let told = run(&arguments, &[&words[..], &["--json"]].concat());
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let layers = told["conditions"]["layers"].as_array().unwrap();
    let layer = |name: &str| layers.iter().find(|layer| layer["name"] == name).unwrap();
    assert_eq!(layer("rlimit-stack")["detail"], "1048576:2097152");
    assert_eq!(layer("rlimit-nofile")["applied"], false);

    let refused = run(&arguments, &["--ulimit", "files=1"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("nofile"), "{refused:?}");
}

#[test]
fn a_result_carries_its_conditions_and_a_noise_receipt() {
    let town = Town::new();
    let arguments = run_arguments(&town, "told", "true");
    let exited = run(&arguments, &["--json", "--iter", "2"]);
    let told: Value = serde_json::from_str(&exited.stdout).unwrap();
    assert_eq!(told["results"].as_array().unwrap().len(), 2, "{exited:?}");
    let conditions = &told["conditions"];
    assert_eq!(conditions["isolation"], "namespace");
    assert_eq!(conditions["iterations"].as_array().unwrap().len(), 2);
    for look in ["before", "after"] {
        assert!(
            conditions["noise"][look]["rounds"].as_u64() > Some(0),
            "{exited:?}"
        );
    }
}

#[test]
fn an_image_runs_in_a_machine_of_its_own() {
    let town = Town::new();
    let arguments = run_arguments(
        &town,
        "machine",
        "read -r name < /proc/1/comm; echo in $name",
    );
    let exited = run(&arguments, &["--backend", "qemu", "--json"]);
    assert_eq!(exited.code, Some(0), "{exited:?}");
    let told: Value = serde_json::from_str(&exited.stdout).unwrap();
    assert_eq!(told["results"][0]["stdout"], "in kiln-init\n");
    assert_eq!(told["conditions"]["isolation"], "microvm");
    assert_eq!(told["conditions"]["backend"], "qemu");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_server_runs_in_a_machine() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let script = r#"echo '{"echo": {"latency": {"value": 1.5}}}'"#;
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", script).await;
    town.runner(&server).await.process.kill();
    let _runner = town.runner_with(&server, &["--backend", "qemu"]);
    let client = town.client(&server);
    let report = Town::submit(&client, "test:latest").await.unwrap();
    let ended = Town::ended(&client, report.job.unwrap()).await;
    assert_eq!(ended.status, Status::Processed);
    let conditions = ended.output.unwrap().conditions.unwrap();
    assert_eq!(conditions.isolation.as_deref(), Some("microvm"));
    assert_eq!(conditions.backend.as_deref(), Some("qemu"));
}

#[test]
fn a_back_end_that_does_not_exist_is_refused() {
    let town = Town::new();
    let arguments = run_arguments(&town, "refused", "true");
    let exited = run(&arguments, &["--backend", "thin-air"]);
    assert_eq!(exited.code, Some(2), "{exited:?}");
    assert!(exited.stderr.contains("thin-air"), "{exited:?}");
}

#[test]
fn no_sandbox_is_refused_unless_someone_says_that_it_may_be() {
    let town = Town::new();
    let arguments = run_arguments(&town, "bare", "echo bare");
    let refused = run(&arguments, &["--backend", "process"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("--danger-allow-no-sandbox"),
        "{refused:?}"
    );
    let allowed = [
        "--backend",
        "process",
        "--danger-allow-no-sandbox",
        "--json",
    ];
    let exited = run(&arguments, &allowed);
    assert_eq!(exited.code, Some(0), "{exited:?}");
    assert!(exited.stderr.contains("WITHOUT A SANDBOX"), "{exited:?}");
    let told: Value = serde_json::from_str(&exited.stdout).unwrap();
    assert_eq!(told["results"][0]["stdout"], "bare\n");
    assert_eq!(told["conditions"]["isolation"], "none");
    assert_eq!(told["conditions"]["backend"], "process");
}

#[test]
fn a_command_that_fails_is_an_exit_code_of_its_own() {
    let town = Town::new();
    let exited = run(&run_arguments(&town, "fails", "exit 3"), &[]);
    assert_eq!(exited.code, Some(10), "{exited:?}");
    assert!(exited.stderr.contains("code 3"), "{exited:?}");
}

#[test]
fn an_interrupted_run_stops_its_command_and_says_so() {
    let town = Town::new();
    let arguments = run_arguments(&town, "interrupted", "sleep 1000");
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut runner = Process::start(&words, &town.log());
    while groups_of(runner.id()).is_empty() {
        std::thread::yield_now();
    }
    runner.signal(Signal::TERM);
    assert_eq!(runner.wait(), Some(10));
    assert_eq!(groups_of(runner.id()), Vec::<PathBuf>::new());
}

#[test]
fn a_unit_for_systemd_is_printed() {
    let exited = kiln(
        &[
            "runner",
            "unit",
            "--host",
            "https://kiln.example",
            "--runner",
            "metal-1",
        ],
        "",
    );
    assert_eq!(exited.code, Some(0), "{exited:?}");
    assert!(exited.stdout.starts_with("[Unit]\n"), "{exited:?}");
}

#[test]
fn the_noise_of_this_host_is_measured_and_scored() {
    let exited = kiln(&["noise", "--json"], "");
    let receipt: Value = serde_json::from_str(&exited.stdout).unwrap();
    assert!(
        receipt["before"]["score"].as_u64() <= Some(100),
        "{exited:?}"
    );
}
