//! `cargo xtask crash`: kills the server and the runner again and again, and counts what is lost or doubled. With
//! `--servers N` there are several servers on one PostgreSQL, and one of them at a time is killed.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use kiln_client::Client;
use kiln_e2e::{RunnerProcess, ServerProcess, Several, Town, kill_servers, problems, shell_image};
use kiln_model::{Entropy as _, JobUuid, Status};
use kiln_store::testing::{SeededEntropy, postgres_database};

const SCRIPT: &str = r#"n=0; while [ $n -lt 20 ]; do n=$((n+1)); sleep 0.01; done; echo '{"loop": {"latency": {"value": 1}}}'"#;
/// How many jobs may be waiting while the killing goes on.
const WAITING: usize = 4;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut kills, mut seed, mut servers) = (100, 1, 1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
        match (argument.as_str(), value) {
            ("--kills", Some(value)) => kills = value,
            ("--seed", Some(value)) => seed = value,
            ("--servers", Some(value)) => servers = value,
            _ => {
                say("usage: crash [--kills N] [--seed S] [--servers N]");
                return ExitCode::from(2);
            }
        }
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let chance = SeededEntropy::new(seed);
    let wrong = if servers > 1 {
        runtime.block_on(run_several(servers, kills, &chance))
    } else {
        runtime.block_on(run(kills, &chance))
    };
    for line in &wrong {
        say(&format!("WRONG {line}"));
    }
    say(&format!("{kills} kills, {} wrong", wrong.len()));
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}

/// As many runners and clients as keep the servers busy.
async fn run_several(servers: u64, kills: u64, chance: &SeededEntropy) -> Vec<String> {
    let several = Several {
        servers: usize::try_from(servers).unwrap_or(usize::MAX),
        runners: 8,
        clients: 4,
        kills: u32::try_from(kills).unwrap_or(u32::MAX),
    };
    let outcome = kill_servers(several, &postgres_database(), chance).await;
    say(&format!("{} jobs through {servers} servers", outcome.jobs));
    outcome.wrong
}

async fn run(kills: u64, chance: &SeededEntropy) -> Vec<String> {
    let town = Town::new();
    let mut server = town.server(0, &[]);
    let port: u16 = server
        .url
        .rsplit_once(':')
        .and_then(|(_, port)| port.parse().ok())
        .expect("a port");
    shell_image(
        town.path(),
        &server.url,
        &town.admin_key(),
        "test",
        "latest",
        SCRIPT,
    )
    .await;
    let mut runner = town.runner(&server).await;
    let mut jobs = Vec::new();
    for kill in 1..=kills {
        submit(&town.client(&server), &mut jobs).await;
        tokio::time::sleep(Duration::from_millis(u64::from(byte(chance)) * 3)).await;
        if byte(chance).is_multiple_of(2) {
            server.process.kill();
            server = town.server(port, &[]);
        } else {
            runner.process.kill();
            runner = town.runner_again(&server);
        }
        if kill % 10 == 0 {
            say(&format!("{kill} kills, {} jobs acknowledged", jobs.len()));
        }
    }
    let wrong = check(&town.client(&server), &jobs).await;
    stop(server, runner);
    wrong
}

/// Submits until enough jobs wait. What was not acknowledged does not count.
async fn submit(client: &Client, jobs: &mut Vec<JobUuid>) {
    let mut waiting = 0;
    for job in jobs.iter().rev().take(WAITING) {
        waiting += usize::from(
            client
                .get_job("test", *job)
                .await
                .is_ok_and(|job| !job.status.is_ended()),
        );
    }
    while waiting < WAITING {
        waiting += 1;
        if let Ok(Some(job)) = Town::submit(client, "test:latest")
            .await
            .map(|report| report.job)
        {
            jobs.push(job);
        }
    }
}

/// Every acknowledged job ends, once: processed, or failed because its runner was killed.
async fn check(client: &Client, jobs: &[JobUuid]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut endings: BTreeMap<&str, usize> = BTreeMap::new();
    for job in jobs {
        let ended = Town::ended(client, *job).await;
        *endings.entry(ended.status.name()).or_default() += 1;
        let events = match client.list_job_events("test", *job).await {
            Ok(events) => events,
            Err(error) => {
                wrong.push(format!("{job}: its events cannot be read: {error}"));
                continue;
            }
        };
        wrong.extend(
            problems(&events)
                .into_iter()
                .map(|problem| format!("{job}: {problem}")),
        );
        let results = ended
            .output
            .as_ref()
            .map_or(0, |output| output.results.len());
        if ended.status == Status::Processed && results != 1 {
            wrong.push(format!("{job}: processed with {results} results"));
        }
        if !matches!(ended.status, Status::Processed | Status::Failed) {
            wrong.push(format!("{job}: ended as {}", ended.status));
        }
    }
    say(&format!("{} jobs ended: {endings:?}", jobs.len()));
    wrong
}

fn stop(mut server: ServerProcess, mut runner: RunnerProcess) {
    for process in [&mut runner.process, &mut server.process] {
        process.signal(rustix::process::Signal::TERM);
        process.wait();
    }
}

fn byte(chance: &SeededEntropy) -> u8 {
    let mut byte = [0];
    chance.fill(&mut byte);
    byte[0]
}

#[expect(
    clippy::print_stdout,
    reason = "this is a program, and this is what it says"
)]
fn say(line: &str) {
    println!("{line}");
}
