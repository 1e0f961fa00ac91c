//! Several servers on one database, one of which is killed again and again while runners and clients go on with another.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use kiln_client::{Client, Page};
use kiln_model::v0::{Architecture, Job, JobEvent, NewRunner, NewSpec, OperatingSystem};
use kiln_model::{Entropy, JobUuid, Status};
use tokio::task::JoinSet;

use crate::fleet::{FleetRunner, Servers, result_of, submit};
use crate::{ServerProcess, Town};

/// How a run of several servers is set up.
#[derive(Clone, Copy, Debug)]
pub struct Several {
    pub servers: usize,
    pub runners: usize,
    pub clients: u32,
    pub kills: u32,
}

/// What came of it: how many jobs there were, and everything that is not as it should be.
#[derive(Debug)]
pub struct Outcome {
    pub jobs: usize,
    pub wrong: Vec<String>,
}

/// Runs jobs through several servers on the database while they are killed, and looks at every job at the end.
pub async fn kill_servers(several: Several, database: &str, chance: &dyn Entropy) -> Outcome {
    let town = Town::new();
    let more = ["--database", database];
    let mut processes: Vec<ServerProcess> = (0..several.servers)
        .map(|_| town.server(0, &more))
        .collect();
    let servers: Servers = Arc::new(processes.iter().map(|it| it.url.clone()).collect());
    let key = town.admin_key();
    let client = town.client(&processes[0]);
    let stop = Arc::new(AtomicBool::new(false));
    let mut runners = JoinSet::new();
    make_spec(&client).await;
    for number in 0..several.runners {
        let name = format!("fleet-{number}");
        let runner_key = make_runner(&client, &name).await;
        let runner = FleetRunner::new(Arc::clone(&servers), &name, &runner_key, number);
        runners.spawn(runner.run(Arc::clone(&stop)));
    }
    let submitting = Submitting::start(several.clients, &servers, &key);
    for _ in 0..several.kills {
        tokio::time::sleep(Duration::from_millis(u64::from(byte(chance)) * 4)).await;
        let victim = usize::from(byte(chance)) % processes.len();
        processes[victim]
            .process
            .signal(rustix::process::Signal::KILL);
        processes[victim].process.wait();
        processes[victim] = town.server(port(&servers[victim]), &more);
    }
    let (jobs, runs) = submitting.end().await;
    let wrong = check(&client, &jobs, runs).await;
    stop.store(true, Ordering::Relaxed);
    while runners.join_next().await.is_some() {}
    Outcome {
        jobs: jobs.len(),
        wrong,
    }
}

/// Clients that submit one run after the other.
struct Submitting {
    stop: Arc<AtomicBool>,
    numbers: Arc<AtomicU32>,
    clients: JoinSet<Vec<JobUuid>>,
}

impl Submitting {
    fn start(count: u32, servers: &Servers, key: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let numbers = Arc::new(AtomicU32::new(0));
        let mut clients = JoinSet::new();
        for _ in 0..count {
            let (stop, numbers) = (Arc::clone(&stop), Arc::clone(&numbers));
            let (servers, key) = (Arc::clone(servers), key.to_owned());
            clients.spawn(async move {
                let mut jobs = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let number = numbers.fetch_add(1, Ordering::Relaxed);
                    jobs.push(submit(&servers, &key, number).await);
                }
                jobs
            });
        }
        Self {
            stop,
            numbers,
            clients,
        }
    }

    /// The jobs that were acknowledged, and how many runs they were submitted as.
    async fn end(mut self) -> (Vec<JobUuid>, u32) {
        self.stop.store(true, Ordering::Relaxed);
        let mut jobs = Vec::new();
        while let Some(some) = self.clients.join_next().await {
            jobs.extend(some.expect("a client does not panic"));
        }
        (jobs, self.numbers.load(Ordering::Relaxed))
    }
}

/// Every run is one job, and every job ends once, with the result of its runner.
async fn check(client: &Client, jobs: &[JobUuid], runs: u32) -> Vec<String> {
    let mut wrong = Vec::new();
    let different: BTreeSet<&JobUuid> = jobs.iter().collect();
    if different.len() != jobs.len() || jobs.len() != runs as usize {
        wrong.push(format!(
            "{runs} runs became {} jobs, {} of them different",
            jobs.len(),
            different.len()
        ));
    }
    for job in jobs {
        let ended = Town::ended(client, *job).await;
        wrong.extend(problems_of(&ended));
        match client.list_job_events("test", *job).await {
            Ok(events) => wrong.extend(problems(&events).iter().map(|it| format!("{job}: {it}"))),
            Err(error) => wrong.push(format!("{job}: its events cannot be read: {error}")),
        }
    }
    let total = count_jobs(client).await;
    if total != different.len() {
        wrong.push(format!(
            "the project has {total} jobs, and {} were acknowledged",
            different.len()
        ));
    }
    wrong
}

fn problems_of(job: &Job) -> Option<String> {
    let uuid = job.uuid;
    if job.status != Status::Processed {
        return Some(format!("{uuid}: ended as {}: {:?}", job.status, job.error));
    }
    let output = job.output.as_ref();
    let wrote = output.and_then(|output| output.results.first()?.stdout.clone());
    (wrote != Some(result_of(uuid))).then(|| format!("{uuid}: its output is {wrote:?}"))
}

/// Numbers without gaps, each step from where the last one led, epochs that only grow, one result and one report.
pub fn problems(events: &[JobEvent]) -> Vec<String> {
    let mut problems = Vec::new();
    let (mut status, mut epoch) = (None, 0);
    let (mut results, mut reports) = (0, 0);
    for (event, number) in events.iter().zip(1..) {
        if event.number != number {
            problems.push(format!("event {number} is numbered {}", event.number));
        }
        if event.from != status {
            problems.push(format!(
                "event {number} leaves {:?}, the job was {status:?}",
                event.from
            ));
        }
        if event.epoch < epoch {
            problems.push(format!("event {number} goes back to epoch {}", event.epoch));
        }
        (status, epoch) = (event.to, event.epoch);
        results += u32::from(status == Some(Status::Completed));
        reports += u32::from(status == Some(Status::Processed));
    }
    if results > 1 || reports > 1 {
        problems.push(format!(
            "{results} results were accepted, and {reports} reports made of them"
        ));
    }
    problems
}

async fn count_jobs(client: &Client) -> usize {
    const SIZE: u8 = 255;
    let mut total = 0;
    for number in 1.. {
        let page = Page { number, size: SIZE };
        let found = client.list_jobs("test", None, page).await;
        let found = found.expect("the jobs can be listed").len();
        total += found;
        if found < usize::from(SIZE) {
            break;
        }
    }
    total
}

async fn make_spec(client: &Client) {
    let spec = NewSpec {
        name: "fleet".parse().expect("a name"),
        slug: None,
        os: OperatingSystem::Linux,
        architecture: Architecture::X86_64,
        sandbox: None,
        cpu: 1,
        memory: 1 << 20,
        disk: 1 << 20,
        network: false,
        shared: false,
        isolation: None,
        fallback: true,
    };
    client.create_spec(&spec).await.expect("a spec");
}

async fn make_runner(client: &Client, name: &str) -> String {
    let new = NewRunner {
        name: name.parse().expect("a name"),
        slug: None,
    };
    let made = client.create_runner(&new).await.expect("a runner");
    client.link_spec(name, "fleet").await.expect("a link");
    made.key
}

fn port(url: &str) -> u16 {
    let port = url.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.expect("a port")
}

fn byte(chance: &dyn Entropy) -> u8 {
    let mut byte = [0];
    chance.fill(&mut byte);
    byte[0]
}
