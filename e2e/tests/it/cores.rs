//! Which cores a runner keeps to, and which its jobs run on, on a host that is not tuned.

use std::collections::BTreeSet;
use std::fs;

use kiln_e2e::{Town, kiln, shell_layout};
use rustix::thread::{CpuSet, sched_getaffinity};
use serde_json::{Value, json};

use crate::stopping::busy;

const TELL: &str = "while read -r line; do echo \"$line\"; done < /proc/self/status";

/// This host's cores, as far as tests may use them.
fn cores() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap();
    let cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    cores.collect()
}

/// Those that the system has, and those that jobs have. A host with one core has it for both.
fn split() -> (Vec<usize>, Vec<usize>) {
    let cores = cores();
    let kept = match cores.len() {
        1 => return (cores.clone(), cores),
        2..8 => 1,
        _ => 2,
    };
    let (system, jobs) = cores.split_at(kept);
    (system.to_vec(), jobs.to_vec())
}

/// The cores of a process or thread, as the kernel tells them.
fn allowed(status: &str) -> Vec<usize> {
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let parts = list.unwrap().trim().split(',');
    parts
        .flat_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            from.parse().unwrap()..=to.parse().unwrap()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_keeps_to_housekeeping_cores_while_a_job_has_the_others() {
    let town = Town::new();
    // Long enough to be looked at while it runs.
    let (server, runner, job) = busy(&town, &format!("{TELL}; sleep 1")).await;
    let client = town.client(&server);
    // Any of them may be the one that says that the job is alive.
    let (system, jobs) = split();
    let threads = fs::read_dir(format!("/proc/{}/task", runner.process.id())).unwrap();
    let kept: BTreeSet<Vec<usize>> = threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("status")).ok())
        .map(|status| allowed(&status))
        .collect();
    assert_eq!(kept, BTreeSet::from([system]));
    let ended = Town::ended(&client, job).await;
    let said = ended.output.unwrap().results[0].stdout.clone().unwrap();
    assert_eq!(allowed(&said), jobs);
}

#[test]
fn a_job_of_as_many_cpus_as_the_host_has_runs_on_every_core() {
    let town = Town::new();
    shell_layout(town.path(), "cores", TELL);
    let path = |name: &str| town.path().join(name).to_string_lossy().into_owned();
    let (image, data) = (path("layout-cores"), path("runner"));
    let cpus = cores().len().to_string();
    let exited = kiln(
        &[
            "runner",
            "run",
            "--image",
            &image,
            "--runner-data",
            &data,
            "--memory",
            "64",
            "--disk",
            "16",
            "--json",
            "--vcpus",
            &cpus,
        ],
        "",
    );
    let told: Value = serde_json::from_str(&exited.stdout).unwrap();
    let said = told["results"][0]["stdout"].as_str().unwrap();
    assert_eq!(allowed(said), cores());
    if cores().len() > 1 {
        let split = json!({"housekeeping": split().0, "benchmark": cores()});
        assert_eq!(told["conditions"]["noise"]["cores"], split, "{exited:?}");
    }
}
