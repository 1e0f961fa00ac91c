//! Why a job waits, for the person who waits for it.

use kiln_model::v0::{Blocker, RunnerMetadata, Waiting};
use kiln_model::{Millis, Status};
use kiln_store::Query;
use kiln_store::sql::job::Job;
use kiln_store::sql::waiting::{self, Server};

use crate::{Denied, fleet};

/// What stands before `job`, and for how long, as far as that can be told. `wall` is now.
pub fn waiting<Q: Query + ?Sized>(
    query: &mut Q,
    job: &Job,
    wall: Millis,
) -> Result<Waiting, Denied> {
    if job.life.status != Status::Pending {
        return Ok(Waiting {
            status: job.life.status,
            blocker: Blocker::None,
            detail: format!(
                "the job is {}: it does not wait for a runner",
                job.life.status
            ),
            position: None,
            estimate_seconds: None,
        });
    }
    let servers = waiting::servers(query, job.ask.lane)?;
    let live: Vec<&Server> = servers
        .iter()
        .filter(|server| is_live(server, wall))
        .collect();
    let ahead = waiting::ahead(query, job)?;
    let spans = match job.ask.spec {
        Some(spec) => waiting::recent_spans(query, spec)?,
        None => Vec::new(),
    };
    let (blocker, detail) = blocker(job, &servers, &live);
    let estimate = match blocker {
        Blocker::RunnersBusy | Blocker::None => {
            let places = live.iter().map(|server| places(server, job)).sum();
            estimate(ahead, places, &spans)
        }
        Blocker::Limit | Blocker::NoRunner | Blocker::NoLiveRunner => None,
    };
    Ok(Waiting {
        status: job.life.status,
        blocker,
        detail,
        position: Some(ahead + 1),
        estimate_seconds: estimate,
    })
}

fn is_live(server: &Server, wall: Millis) -> bool {
    server.held > 0 || fleet::is_heard(server.last_heartbeat, wall)
}

/// How many jobs like this one the runner carries at once.
fn places(server: &Server, job: &Job) -> u32 {
    let told = server.metadata.as_deref().filter(|_| job.ask.shared);
    told.and_then(|text| serde_json::from_str::<RunnerMetadata>(text).ok()?.slots)
        .unwrap_or(1)
}

/// Whether the runner has no place for this job now, beside what it holds.
fn is_busy(server: &Server, job: &Job) -> bool {
    server.alone > 0 || server.held >= places(server, job)
}

fn blocker(job: &Job, servers: &[Server], live: &[&Server]) -> (Blocker, String) {
    if !job.life.admitted {
        let detail = "another job of the same organization or address goes first, and its plan allows one at a time";
        return (Blocker::Limit, detail.to_owned());
    }
    if servers.is_empty() {
        let detail = "no runner serves this spec: add the spec to a runner";
        return (Blocker::NoRunner, detail.to_owned());
    }
    if live.is_empty() {
        let detail = format!(
            "{} runner(s) serve this spec and none is connected: start one",
            servers.len()
        );
        return (Blocker::NoLiveRunner, detail);
    }
    if live.iter().all(|server| is_busy(server, job)) {
        let detail = format!(
            "all {} connected runner(s) of this spec are busy",
            live.len()
        );
        return (Blocker::RunnersBusy, detail);
    }
    (
        Blocker::None,
        "a runner will take it in a moment".to_owned(),
    )
}

/// Jobs ahead are shared out evenly among the places of the runners; each takes as long as the last ones did on average.
fn estimate(ahead: i64, places: u32, spans: &[i64]) -> Option<i64> {
    let count = i64::try_from(spans.len()).ok().filter(|count| *count > 0)?;
    let places = Some(i64::from(places)).filter(|count| *count > 0)?;
    let average = spans.iter().sum::<i64>() / count;
    let rounds = ahead / places + 1;
    Some(rounds.saturating_mul(average) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use kiln_model::Kind;
    use kiln_store::sql::runner;

    fn why(world: &World, id: i64) -> Waiting {
        let job = world.job(id);
        let wall = world.store.ledger.wall();
        world.write(move |tx| waiting(tx, &job, wall))
    }

    #[test]
    fn a_job_without_a_runner_says_so() {
        let world = World::new();
        let id = world.submit(world.ask(Kind::Bench));
        assert_eq!(why(&world, id).blocker, Blocker::NoRunner);
        let one = world.runner("one");
        assert_eq!(why(&world, id).blocker, Blocker::NoLiveRunner);
        let wall = world.store.ledger.wall();
        world.write(move |tx| Ok(runner::heard(tx, one, wall)?));
        assert_eq!(why(&world, id).blocker, Blocker::None);
    }

    #[test]
    fn a_job_behind_others_has_its_place() {
        let world = World::new();
        let one = world.runner("one");
        world.submit(world.ask(Kind::Bench));
        let second = world.submit(world.ask(Kind::Bench));
        let third = world.submit(world.ask(Kind::Bench));
        world.claim(one).unwrap();
        let answer = why(&world, third);
        assert_eq!(answer.blocker, Blocker::RunnersBusy);
        assert_eq!(answer.position, Some(2));
        assert_eq!(why(&world, second).position, Some(1));
    }

    #[test]
    fn a_held_back_job_names_the_limit() {
        let world = World::new();
        let one = world.runner("one");
        let mut ask = world.ask(Kind::Bench);
        ask.limit_key = Some("organization:1".to_owned());
        world.submit(ask.clone());
        let second = world.submit(ask);
        world.claim(one).unwrap();
        assert_eq!(why(&world, second).blocker, Blocker::Limit);
    }

    #[test]
    fn a_job_that_runs_does_not_wait() {
        let world = World::new();
        let one = world.runner("one");
        let id = world.submit(world.ask(Kind::Bench));
        world.claim(one).unwrap();
        let answer = why(&world, id);
        assert_eq!((answer.blocker, answer.position), (Blocker::None, None));
    }

    #[test]
    fn an_estimate_shares_the_queue_among_the_runners() {
        assert_eq!(estimate(0, 1, &[10_000]), Some(10));
        assert_eq!(estimate(4, 2, &[10_000, 20_000]), Some(45));
        assert_eq!(estimate(4, 0, &[10_000]), None);
        assert_eq!(estimate(4, 2, &[]), None);
    }
}
