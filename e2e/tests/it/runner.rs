//! A runner without a server, and one whose jobs run in machines.

use std::fs;
use std::path::{Path, PathBuf};

use kiln_e2e::{Process, Town, kiln, shell_image, shell_layout};
use kiln_model::Status;
use rustix::process::Signal;
use serde_json::Value;

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
    assert_eq!(told["conditions"]["isolation"], "qemu");
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
    assert_eq!(conditions.isolation.as_deref(), Some("qemu"));
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
    assert_eq!(told["conditions"]["isolation"], "process");
}

#[test]
fn a_command_that_fails_is_an_exit_code_of_its_own() {
    let town = Town::new();
    let exited = run(&run_arguments(&town, "fails", "exit 3"), &[]);
    assert_eq!(exited.code, Some(10), "{exited:?}");
    assert!(exited.stderr.contains("code 3"), "{exited:?}");
}

#[test]
fn a_killed_runner_leaves_nothing_after_the_next_start() {
    let town = Town::new();
    kill_while_it_runs(&town, &[]);
    let journals: Vec<_> = walk(&town.path().join("runner"))
        .into_iter()
        .filter(|path| path.ends_with("tuning.journal"))
        .collect();
    assert_eq!(journals, Vec::<PathBuf>::new());
}

#[test]
fn a_killed_runner_leaves_no_machine() {
    kill_while_it_runs(&Town::new(), &["--backend", "qemu"]);
}

/// Kills a runner whose command never ends. A group with a process in it cannot be removed, so that none being left
/// after the next start means that nothing runs any more.
fn kill_while_it_runs(town: &Town, more: &[&str]) {
    let forever = run_arguments(town, "forever", "sleep 1000");
    let mut words: Vec<&str> = forever.iter().map(String::as_str).collect();
    words.extend(more);
    let runner = Process::start(&words, &town.log());
    let id = runner.id();
    while groups_of(id).is_empty() {
        std::thread::yield_now();
    }
    runner.kill();
    let quick = run_arguments(town, "quick", "true");
    assert_eq!(run(&quick, &[]).code, Some(0));
    assert_eq!(groups_of(id), Vec::<PathBuf>::new());
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

/// The control groups that a process has made and not removed.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let prefix = format!("kiln-run-{pid}-");
    walk(Path::new("/sys/fs/cgroup"))
        .into_iter()
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(&prefix))
        })
        .collect()
}

/// All directories and the files in them that are there now.
fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(walk(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}
