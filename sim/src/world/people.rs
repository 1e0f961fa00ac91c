//! What people want: jobs, results, and now and then something else.

use kiln_control::access::Caller;
use kiln_control::bench::{RunSettings, Submission, Work};
use kiln_model::v0::{NewRun, NewRunJob};
use kiln_model::{
    BranchUuid, Clock as _, HeadUuid, JobUuid, Kind, OrganizationUuid, Priority, ProjectUuid,
    ReportUuid, Retry, RuntimeJobId, Status, TestbedUuid,
};
use kiln_store::sql::branch::NewBranch;
use kiln_store::sql::job::NewJob;

use super::{Event, World};
use crate::outcome::Violation;

/// How soon somebody tries again who got no answer.
const AGAIN: i64 = 3_000;

/// A job that somebody wants.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    kind: Kind,
    /// Which spec, lane or queue, by its place.
    place: usize,
    limit: Option<i64>,
    priority: i32,
    run_secs: u64,
    pending_secs: Option<u64>,
    public_id: Option<String>,
    settled: bool,
}

impl Wish {
    pub(super) const fn is_settled(&self) -> bool {
        self.settled
    }
}

/// Something that a person or a program sets out to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Errand {
    Submit(usize),
    Fetch { job: i64, epoch: i64, refuse: bool },
    Cancel,
    Retry,
    DrainQueue,
    CancelQueue,
    AbandonSession,
    ReopenSession,
}

impl World {
    /// Draws the jobs of this world, all to be asked for before `end`.
    pub(super) fn draw_wishes(&mut self, end: i64) {
        for index in 0..self.rng.index(9) + 6 {
            let wall = self.host.clock.wall();
            let kind = *self
                .rng
                .pick(&[Kind::Bench, Kind::Action, Kind::Action, Kind::Runtime]);
            let limit = kind != Kind::Bench && self.rng.percent(40);
            let pending = kind != Kind::Bench && self.rng.percent(25);
            let wish = Wish {
                kind,
                place: self.rng.index(4),
                limit: limit.then(|| self.rng.within(1..=2)),
                priority: *self.rng.pick(&[0, 100, 200]),
                run_secs: self.rng.within(8..=30).unsigned_abs(),
                pending_secs: pending.then(|| self.rng.within(20..=90).unsigned_abs()),
                public_id: (kind == Kind::Runtime)
                    .then(|| RuntimeJobId::mint(wall, &self.host.entropy).to_string()),
                settled: false,
            };
            self.wishes.push(wish);
            let at = self.rng.within(0..=end);
            self.schedule.at(at, Event::Errand(Errand::Submit(index)));
        }
    }

    pub(super) fn run_errand(&mut self, errand: Errand) -> Result<(), Violation> {
        if self.server.is_none() {
            self.schedule.after(AGAIN, Event::Errand(errand));
            return Ok(());
        }
        match errand {
            Errand::Submit(index) => self.submit(index)?,
            Errand::Fetch { job, epoch, refuse } => self.fetch(job, epoch, refuse)?,
            Errand::Cancel => self.cancel_something()?,
            Errand::Retry => self.retry_something()?,
            Errand::DrainQueue => {
                let queue = *self.rng.pick(&self.town.queues);
                self.note(format_args!("somebody drains queue {queue}"));
                self.call(|server, _| server.drain_queue(queue))?;
            }
            Errand::CancelQueue => {
                let queue = *self.rng.pick(&self.town.queues);
                self.note(format_args!("somebody cancels queue {queue}"));
                self.call(|server, _| server.cancel_queue(queue))?;
            }
            Errand::AbandonSession => {
                self.note(format_args!("the session is abandoned"));
                self.call(|server, _| server.abandon_session())?;
            }
            Errand::ReopenSession => {
                self.note(format_args!("the session is opened again"));
                let done = self.call(|server, _| server.reopen_session())?;
                if done.is_none() {
                    self.schedule.after(AGAIN, Event::Errand(errand));
                }
            }
        }
        self.pump()
    }

    fn submit(&mut self, index: usize) -> Result<(), Violation> {
        let wish = self.wishes[index].clone();
        let kind = wish.kind;
        self.note(format_args!("somebody wants {} job {index}", kind.name()));
        let answer = if kind == Kind::Bench {
            let submission = self.submission(index, &wish);
            let settings = self.town.bench_settings();
            self.call(|server, notes| server.submit_run(submission, settings, notes))?
        } else {
            let ask = self.ask_for(&wish);
            self.call(|server, notes| server.submit_job(ask, notes))?
        };
        // An action has no name of its own before it is stored, so asking again could make two of it.
        if answer.is_some() || kind == Kind::Action {
            self.wishes[index].settled = true;
        } else {
            self.schedule
                .after(AGAIN, Event::Errand(Errand::Submit(index)));
        }
        Ok(())
    }

    fn fetch(&mut self, job: i64, epoch: i64, refuse: bool) -> Result<(), Violation> {
        let done = self.call(|server, _| {
            if refuse {
                server.refuse_hand_off(job, epoch)
            } else {
                server.process(job, epoch)
            }
        })?;
        if done.is_none() || self.rng.percent(20) {
            let errand = Errand::Fetch { job, epoch, refuse };
            self.schedule.after(AGAIN, Event::Errand(errand));
        }
        Ok(())
    }

    fn cancel_something(&mut self) -> Result<(), Violation> {
        let live: Vec<i64> = self.jobs_where(|status| !status.is_ended());
        let all: Vec<i64> = self.jobs_where(|_| true);
        let among = if live.is_empty() || self.rng.percent(15) {
            all
        } else {
            live
        };
        if among.is_empty() {
            return Ok(());
        }
        let job = *self.rng.pick(&among);
        let answer = self.call(|server, notes| server.cancel(job, notes))?;
        let answer = answer.unwrap_or("nothing");
        self.note(format_args!(
            "somebody cancels job {job} and is told {answer}"
        ));
        Ok(())
    }

    fn retry_something(&mut self) -> Result<(), Violation> {
        let among = self.jobs_where(|status| matches!(status, Status::Failed | Status::Abandoned));
        if among.is_empty() {
            return Ok(());
        }
        let job = *self.rng.pick(&among);
        self.note(format_args!("somebody retries job {job}"));
        self.call(|server, _| server.retry(job))?;
        Ok(())
    }

    fn jobs_where(&self, which: impl Fn(Status) -> bool) -> Vec<i64> {
        let jobs = self.seen.all_jobs();
        jobs.filter(|job| which(job.life.status))
            .map(|job| job.id)
            .collect()
    }

    /// Ids are new each time it is sent; the idempotency key is not.
    fn submission(&self, index: usize, wish: &Wish) -> Submission {
        let wall = self.host.clock.wall();
        let entropy = &self.host.entropy;
        let spec = &self.town.specs[wish.place % self.town.specs.len()];
        let run = NewRun {
            project: Some("simulated".to_owned()),
            idempotency_key: Some(format!("wish-{index}")),
            job: Some(NewRunJob {
                image: "simulated:latest".to_owned(),
                spec: Some(spec.clone()),
                timeout: u32::try_from(wish.run_secs).ok(),
                ..NewRunJob::default()
            }),
            ..NewRun::default()
        };
        let settings = RunSettings::check(None).expect("no settings are good settings");
        Submission {
            work: Work::of(&run, settings).expect("the run is for a runner"),
            settings,
            run,
            caller: Caller::Anonymous,
            source_address: None,
            report: ReportUuid::mint(wall, entropy),
            job: JobUuid::mint(wall, entropy),
            project: ProjectUuid::mint(wall, entropy),
            organization: OrganizationUuid::mint(wall, entropy),
            branch: NewBranch {
                uuid: BranchUuid::mint(wall, entropy),
                head: HeadUuid::mint(wall, entropy),
            },
            testbed: TestbedUuid::mint(wall, entropy),
        }
    }

    fn ask_for(&self, wish: &Wish) -> NewJob {
        let (lanes, retry, queue) = match wish.kind {
            Kind::Runtime => (&self.town.runtime_lanes, Retry::DEFAULT_RUNTIME, None),
            Kind::Bench | Kind::Action => {
                let queue = self.town.queues[wish.place % self.town.queues.len()];
                let queued = !wish.place.is_multiple_of(3);
                (
                    &self.town.action_lanes,
                    Retry::DEFAULT_ACTION,
                    queued.then_some(queue),
                )
            }
        };
        NewJob {
            public_id: wish.public_id.clone(),
            kind: wish.kind,
            lane: lanes[wish.place % lanes.len()],
            organization: None,
            project: None,
            report: None,
            spec: None,
            queue,
            source_address: None,
            limit_key: wish.limit.map(|number| format!("limit-{number}")),
            priority: Priority(wish.priority),
            work: "{}".to_owned(),
            timeouts: self.town.timeouts(wish.run_secs, wish.pending_secs),
            retry,
            retry_of: None,
            root: None,
            created: self.host.clock.wall(),
            shared: false,
        }
    }
}
