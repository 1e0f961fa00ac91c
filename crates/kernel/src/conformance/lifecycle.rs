//! Boot, guard, and the single step.

use kiln_model::Millis;

use super::stage::{Script, WORKER, frame, frame_to, get};
use crate::boot::{MANIFEST, ManifestRow, bootstrap_dbis, ensure_schema_version};
use crate::keys::SCHEMA_KEY;
use crate::records::SchemaVersion;
use crate::runner::State;
use crate::{Dbi, Kv, KvTx, Runner, RunnerConfig, Status, WireError};

pub fn the_schema_guard_accepts_its_version_and_refuses_others<K: Kv>(kv: &K) {
    let version = SchemaVersion::new(1, 2);
    assert_eq!(
        ensure_schema_version(kv, version, false),
        Err(Status::NotFound)
    );
    assert_eq!(ensure_schema_version(kv, version, true), Ok(()));
    assert_eq!(ensure_schema_version(kv, version, false), Ok(()));
    let marker = get(kv, Dbi::APP_STATE, SCHEMA_KEY).unwrap();
    assert_eq!(crate::hex::encode(&marker), "5253563001000200");
    let newer = SchemaVersion::new(1, 3);
    assert_eq!(
        ensure_schema_version(kv, newer, true),
        Err(Status::Conflict)
    );
    kv.write(|tx| tx.put(Dbi::APP_STATE, SCHEMA_KEY, b"RSV0\x01"))
        .unwrap();
    assert_eq!(
        ensure_schema_version(kv, version, true),
        Err(Status::Conflict)
    );
}

pub fn a_runner_that_may_not_bootstrap_stays_stopped_on_an_empty_store<K: Kv>(kv: &K) {
    let config = RunnerConfig {
        bootstrap: false,
        ..RunnerConfig::new(WORKER)
    };
    let runner = Runner::new(kv.clone(), Script::succeeds(), config);
    assert_eq!(runner.start(), Err(Status::NotFound));
    assert_eq!(runner.state(), State::Stopped);
    assert_eq!(
        runner.poll_inbox(1, &|| Millis(0)).failure,
        Some(Status::Busy)
    );
}

pub fn a_manifest_must_number_its_databases_from_zero_without_a_gap<K: Kv>(kv: &K) {
    assert_eq!(bootstrap_dbis(kv, &MANIFEST), Ok(()));
    assert!(bootstrap_dbis(kv, &[]).is_err());
    assert!(bootstrap_dbis(kv, &MANIFEST[1..]).is_err());
    let gap = [
        MANIFEST[0],
        ManifestRow {
            dbi: 2,
            name: "outbox",
        },
    ];
    assert!(bootstrap_dbis(kv, &gap).is_err());
    let config = RunnerConfig {
        manifest: gap.to_vec(),
        ..RunnerConfig::new(WORKER)
    };
    assert!(Runner::boot(kv.clone(), Script::succeeds(), config).is_err());
}

pub fn a_step_is_dispatched_to_its_worker_while_the_runner_runs<K: Kv>(kv: &K) {
    let script = Script::succeeds();
    let runner = Runner::boot(
        kv.clone(),
        std::sync::Arc::clone(&script),
        RunnerConfig::new(WORKER),
    )
    .unwrap();
    assert_eq!(runner.state(), State::Running);
    let step = |frame: &[u8]| runner.run_step(frame, &|| Millis(5));
    assert_eq!(step(&frame("m1")), Ok(()));
    assert_eq!(step(&frame_to(8, "m2")), Err(Status::NotFound));
    assert_eq!(step(b"nope"), Err(Status::Wire(WireError::Truncated)));
    assert_eq!(
        (script.calls(), runner.steps_completed()),
        (vec!["m1".to_owned()], 1)
    );
    runner.shutdown();
    assert_eq!(step(&frame("m3")), Err(Status::Busy));
    assert_eq!(step(b"nope"), Err(Status::Busy));
    assert_eq!(runner.steps_completed(), 1);
}

pub fn a_failed_step_changes_nothing_and_is_not_counted<K: Kv>(kv: &K) {
    let script = Script::new(|_, tx, _| {
        tx.put(Dbi(7), b"half", b"done")?;
        Err(Status::Conflict)
    });
    let runner = Runner::boot(kv.clone(), script, RunnerConfig::new(WORKER)).unwrap();
    assert_eq!(
        runner.run_step(&frame("m1"), &|| Millis(5)),
        Err(Status::Conflict)
    );
    assert_eq!(get(kv, Dbi(7), b"half"), None);
    assert_eq!(runner.steps_completed(), 0);
}
