//! A runner with two slots: jobs that share run side by side in real chambers, and one that does not runs alone.

use std::fs;
use std::path::PathBuf;

use kiln_client::Client;
use kiln_e2e::{Town, kiln, shell_image};
use kiln_model::v0::{NewRun, NewRunJob};
use kiln_model::{JobUuid, Status};

/// Waits at a gate in its own root until somebody outside writes to it.
const SCRIPT: &str =
    r#"mkfifo /gate; read -r word < /gate; echo "{\"$word\": {\"latency\": {\"value\": 1.5}}}""#;

/// The gates of the commands that wait now, which say `marker` in their arguments.
fn gates(marker: &str) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|process| process.path())
        .filter(|process| {
            let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments).into_owned();
            arguments.starts_with("/sh\0-c\0") && arguments.contains(marker)
        })
        .map(|process| process.join("root/gate"))
        .filter(|gate| gate.exists())
        .collect()
}

/// Waits until so many commands wait at their gates at the same time.
async fn waiting(marker: &str, count: usize) -> Vec<PathBuf> {
    loop {
        let gates = gates(marker);
        if gates.len() == count {
            return gates;
        }
        tokio::task::yield_now().await;
    }
}

async fn open(gate: PathBuf) {
    let opened = tokio::task::spawn_blocking(move || fs::write(gate, "word\n"));
    opened.await.unwrap().unwrap();
}

async fn submit(client: &Client, spec: &str) -> JobUuid {
    let run = NewRun {
        project: Some("test".to_owned()),
        job: Some(NewRunJob {
            image: "test:latest".to_owned(),
            spec: Some(spec.to_owned()),
            timeout: Some(60),
            ..NewRunJob::default()
        }),
        ..NewRun::default()
    };
    client.submit_run(&run).await.unwrap().job.unwrap()
}

async fn status(client: &Client, job: JobUuid) -> Status {
    client.get_job("test", job).await.unwrap().status
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_share_overlap_and_one_that_does_not_runs_alone() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let client = town.client(&server);
    let marker = town.path().to_str().unwrap().to_owned();
    let script = format!("{SCRIPT}; : {marker}");
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", &script).await;
    town.runner(&server).await.process.kill();
    let data = town.data();
    let made = kiln(
        &[
            "spec",
            "create",
            "counts",
            "--cpu",
            "1",
            "--memory",
            "67108864",
            "--disk",
            "16777216",
            "--shared",
            "--data",
            data.to_str().unwrap(),
        ],
        "",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    client.link_spec("test", "counts").await.unwrap();
    let _runner = town.runner_with(&server, &["--slots", "2"]);

    let shared = [
        submit(&client, "counts").await,
        submit(&client, "counts").await,
    ];
    let mut gates = waiting(&marker, 2).await;
    // The server may hear of it a little later; neither can end before its gate is opened.
    for job in shared {
        while status(&client, job).await != Status::Running {}
    }
    assert_eq!(gates, waiting(&marker, 2).await);
    let alone = submit(&client, "test").await;
    // One place is free, and still it waits.
    open(gates.pop().unwrap()).await;
    let left = waiting(&marker, 1).await;
    assert_eq!(left, gates);
    assert_eq!(status(&client, alone).await, Status::Pending);
    open(gates.pop().unwrap()).await;
    let mut ends = Vec::new();
    for job in shared {
        let ended = Town::ended(&client, job).await;
        assert_eq!(ended.status, Status::Processed);
        let conditions = ended.output.unwrap().conditions.unwrap();
        assert!(conditions.shared);
        assert_eq!(conditions.noise, None);
        ends.push(ended.completed.unwrap());
    }
    let gate = waiting(&marker, 1).await.pop().unwrap();
    let running = client.get_job("test", alone).await.unwrap();
    assert!(ends.iter().all(|end| running.claimed.unwrap() >= *end));
    open(gate).await;
    let ended = Town::ended(&client, alone).await;
    assert_eq!(ended.status, Status::Processed);
    let conditions = ended.output.unwrap().conditions.unwrap();
    assert!(!conditions.shared);
    assert!(conditions.noise.is_some());
}

#[test]
fn a_number_of_slots_that_makes_no_sense_is_refused() {
    for slots in ["0", "65", "many"] {
        let arguments = ["runner", "up", "--host", "http://127.0.0.1:1", "--key", "k"];
        let mut all = arguments.to_vec();
        all.extend(["--runner", "r", "--slots", slots]);
        let exited = kiln(&all, "");
        assert_eq!(exited.code, Some(2), "{exited:?}");
        assert!(exited.stderr.contains("1 to 64"), "{exited:?}");
    }
}

#[test]
fn a_server_is_not_begun_for_a_runner_that_makes_no_sense() {
    let town = Town::new();
    let data = town.path().join("new");
    let exited = kiln(
        &["up", "--data", data.to_str().unwrap(), "--slots", "65"],
        "",
    );
    assert_eq!(exited.code, Some(2), "{exited:?}");
    assert!(!data.exists());
}

#[test]
fn a_server_whose_runner_cannot_start_stops_in_good_order() {
    let town = Town::new();
    let data = town.path().join("new");
    let arguments = ["up", "--listen", "127.0.0.1:0", "--backend", "firecracker"];
    let mut all = arguments.to_vec();
    all.extend(["--firecracker", "/none", "--data", data.to_str().unwrap()]);
    let exited = kiln(&all, "");
    assert_ne!(exited.code, Some(0), "{exited:?}");
    assert!(
        exited.stderr.contains("Firecracker cannot be used"),
        "{exited:?}"
    );
    assert!(!exited.stderr.contains("panicked"), "{exited:?}");
}
