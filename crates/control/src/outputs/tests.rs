use std::time::Duration;

use kiln_model::v0::UploadProgress;
use kiln_model::{Digest, JobUuid, Kind, Millis, OrganizationUuid, ProjectUuid, Status};
use kiln_store::sql::job_upload::{self, Upload};
use kiln_store::sql::runner;
use kiln_store::testing::SeededEntropy;

use super::*;
use crate::jobs::{self, Delivered, Holder, Output};
use crate::projects::{OnTheFly, create_on_the_fly};
use crate::testing::World;
use crate::{Credential, Denied};

const JOB: &str = "01a1de47-71b7-7681-a510-54ad0fe9b85b";
const LIMIT: u64 = 100;

/// A running job, and what its runner uploads with.
struct Running {
    world: World,
    job: i64,
    holding: Holding,
}

fn digest() -> Digest {
    Digest::from_hash(&[7; 32]).unwrap()
}

fn chunk(start: u64, size: u64) -> Chunk {
    Chunk {
        start,
        size,
        digest: Digest::from_hash(&[u8::try_from(start).unwrap(); 32]).unwrap(),
    }
}

impl Running {
    fn new() -> Self {
        let world = World::new();
        let runner = world.runner("rack");
        let entropy = SeededEntropy::new(3);
        let ids = OnTheFly {
            project: ProjectUuid::mint(Millis(1), &entropy),
            organization: OrganizationUuid::mint(Millis(1), &entropy),
        };
        let slug = "project".parse().unwrap();
        let project = world.write(move |tx| Ok(create_on_the_fly(tx, &slug, ids, None)?.id));
        let mut ask = world.ask(Kind::Bench);
        ask.project = Some(project);
        ask.public_id = Some(JOB.to_owned());
        let job = world.submit(ask);
        let claimed = world.claim(runner).unwrap();
        let holder = Holder {
            runner,
            epoch: Some(claimed.life.epoch),
        };
        world.start(job, holder);
        let version = world.write(move |tx| Ok(runner::find(tx, runner)?.unwrap().key_version));
        let holding = Holding {
            credential: Credential { runner, version },
            job: JOB.parse::<JobUuid>().unwrap(),
        };
        Self {
            world,
            job,
            holding,
        }
    }

    fn begin(&self, size: u64) -> Result<Upload, Denied> {
        let holding = self.holding;
        self.world
            .try_write(move |tx| begin(tx, holding, &digest(), size, LIMIT))
    }

    fn append(&self, chunk: Chunk) -> Result<UploadProgress, Denied> {
        let holding = self.holding;
        self.world
            .try_write(move |tx| append(tx, holding, &digest(), &chunk))
    }

    /// A whole upload of ten bytes.
    fn upload(&self) -> Upload {
        self.begin(10).unwrap();
        self.append(chunk(0, 10)).unwrap();
        let holding = self.holding;
        self.world.write(move |tx| {
            let upload = find(tx, holding, &digest())?;
            finished(tx, &upload)?;
            find(tx, holding, &digest())
        })
    }

    fn deliver(&self, size: u64) -> Result<Delivered, Denied> {
        let large = Large {
            digest: digest(),
            size,
        };
        let output = Output::new(b"{}".to_vec()).with_large(Some(large));
        let holder = Holder {
            runner: self.holding.credential.runner,
            epoch: None,
        };
        let job = self.job;
        self.world
            .try_write(move |tx| jobs::complete(tx, job, holder, &output, "test"))
    }

    fn leaving(&self) -> usize {
        self.world.write(|tx| Ok(leaving(tx, 10)?.len()))
    }
}

#[test]
fn a_result_names_an_upload_that_is_whole_and_no_other() {
    let running = Running::new();
    assert!(matches!(running.deliver(10), Err(Denied::NotUploaded)));
    running.begin(10).unwrap();
    running.append(chunk(0, 10)).unwrap();
    assert!(matches!(running.deliver(10), Err(Denied::NotUploaded)));
    assert_eq!(running.world.status(running.job), Status::Running);
    running.upload();
    assert!(matches!(running.deliver(9), Err(Denied::NotUploaded)));
    assert_eq!(running.deliver(10).unwrap(), Delivered::Accepted);
    assert_eq!(running.deliver(10).unwrap(), Delivered::Duplicate);
}

#[test]
fn chunks_follow_one_another_and_may_come_twice() {
    let running = Running::new();
    running.begin(10).unwrap();
    assert_eq!(running.append(chunk(0, 4)).unwrap().received, 4);
    assert_eq!(running.append(chunk(0, 4)).unwrap().received, 4);
    let gap = running.append(chunk(6, 4));
    assert!(matches!(gap, Err(Denied::OutOfOrder { received: 4 })));
    let beyond = running.append(chunk(4, 7));
    assert!(matches!(beyond, Err(Denied::Invalid(_))));
    assert_eq!(running.append(chunk(4, 6)).unwrap().received, 10);
}

#[test]
fn one_lease_has_one_limit() {
    let running = Running::new();
    running.begin(LIMIT).unwrap();
    let holding = running.holding;
    let other = Digest::from_hash(&[8; 32]).unwrap();
    let more = running
        .world
        .try_write(move |tx| begin(tx, holding, &other, 1, LIMIT));
    assert!(matches!(more, Err(Denied::TooLarge(_))), "{more:?}");
    assert!(matches!(running.begin(3), Err(Denied::Conflict(_))));
}

#[test]
fn an_upload_that_lies_still_for_a_day_goes_and_one_that_is_named_stays() {
    let abandoned = Running::new();
    abandoned.upload();
    abandoned.world.pass(IDLE / 2);
    assert_eq!(abandoned.leaving(), 0);
    abandoned.world.pass(IDLE / 2 + Duration::from_secs(1));
    assert_eq!(abandoned.leaving(), 1);

    let named = Running::new();
    named.upload();
    named.deliver(10).unwrap();
    named.world.pass(2 * IDLE);
    assert_eq!(named.leaving(), 0);
}

#[test]
fn what_is_leaving_takes_nothing_more_and_is_named_by_nobody() {
    let running = Running::new();
    let upload = running.begin(10).unwrap();
    let discarded = upload.clone();
    running.world.write(move |tx| discard(tx, &discarded));
    assert!(matches!(running.begin(10), Err(Denied::Conflict(_))));
    assert!(matches!(running.deliver(10), Err(Denied::NotUploaded)));
    running.world.write(move |tx| gone(tx, upload.id));
    assert_eq!(running.begin(10).unwrap().received, 0);
}

#[test]
fn pieces_that_a_crash_left_of_a_whole_upload_are_found() {
    let running = Running::new();
    let upload = running.upload();
    let spare = |running: &Running| {
        let read = |tx: &mut dyn kiln_store::Tx| Ok(with_spare_pieces(tx, 10)?.len());
        running.world.write(read)
    };
    assert_eq!(spare(&running), 1);
    running.world.write(move |tx| forget_pieces(tx, upload.id));
    assert_eq!(spare(&running), 0);
    let left = running
        .world
        .write(move |tx| Ok(job_upload::pieces(tx, upload.id)?));
    assert_eq!(left, []);
}

impl Running {
    fn resting(&self) -> Vec<Resting> {
        self.world.write(|tx| resting(tx, 10))
    }

    fn body(&self, of: &[Resting]) -> Option<Vec<u8>> {
        let first = of[0].clone();
        self.world.write(move |tx| first.body(tx))
    }

    fn fails(&self, wrote: &'static [u8]) {
        let (job, runner) = (self.job, self.holding.credential.runner);
        let holder = Holder {
            runner,
            epoch: None,
        };
        let output = Output::new(wrote.to_vec());
        let fail = move |tx: &mut dyn kiln_store::Tx| {
            jobs::fail(tx, job, holder, Some(&output), "broken", "test").map(drop)
        };
        self.world.write(fail);
    }
}

#[test]
fn what_a_failed_job_wrote_leaves_once_for_its_place_among_the_objects() {
    let running = Running::new();
    running.fails(b"{}");
    let leaving = running.resting();
    let keys: Vec<&str> = leaving.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys.len(), 1);
    assert!(
        keys[0].ends_with(&format!("/output/v0/jobs/{JOB}")),
        "{keys:?}"
    );
    assert_eq!(running.body(&leaving).as_deref(), Some(&b"{}"[..]));
    let gone = leaving.clone();
    running.world.write(move |tx| rested(tx, &gone));
    assert!(running.resting().is_empty());
    assert_eq!(running.body(&leaving), None);
}

#[test]
fn a_result_stays_until_it_was_put_to_use() {
    let running = Running::new();
    running.upload();
    running.deliver(10).unwrap();
    assert!(running.resting().is_empty());
}
