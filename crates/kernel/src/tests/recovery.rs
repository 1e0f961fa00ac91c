//! What comes back when a store goes back to a checkpoint.

use std::sync::{Arc, Mutex};

use kiln_model::Millis;

use crate::memory::MemoryTx;
use crate::{
    Dbi, Handler, InboxKey, Kind, Kv, KvTx, MemoryKv, Message, MessageView, Runner, RunnerConfig,
    Status, Step, apply_only, dead_letters, inbox, timers,
};

type Ran = Arc<Mutex<Vec<String>>>;

/// Notes every id, and refuses those that say so.
fn noting() -> (Ran, Arc<impl Handler<MemoryTx>>) {
    let ran = Ran::default();
    let notes = Arc::clone(&ran);
    let handler = apply_only(
        move |message: &MessageView<'_>, _: &mut MemoryTx, _: &mut Step| {
            let id = String::from_utf8_lossy(message.id).into_owned();
            let refused = id.starts_with("bad");
            notes.lock().unwrap().push(id);
            if refused {
                Err(Status::Conflict)
            } else {
                Ok(())
            }
        },
    );
    (ran, Arc::new(handler))
}

fn frame(id: &str) -> Vec<u8> {
    Message::new(Kind::Command, 7, id, "").encode().unwrap()
}

#[test]
fn rows_and_dead_letters_come_back_and_dispatch_resumes() {
    let kv = MemoryKv::new();
    kv.write(|tx| {
        inbox::append(tx, 7, &frame("bad"))?;
        inbox::append(tx, 7, &frame("good")).map(drop)
    })
    .unwrap();
    let (ran, handler) = noting();
    let runner = Runner::boot(kv.clone(), handler, RunnerConfig::new(7)).unwrap();
    runner.poll_inbox(8, &|| Millis(0));
    kv.write(|tx| inbox::append(tx, 7, &frame("later")))
        .unwrap();
    let checkpoint = kv.checkpoint();
    runner.poll_inbox(8, &|| Millis(0));
    let letter = InboxKey::new(7, 4);
    kv.write(move |tx| dead_letters::replay_at_tail(tx, letter))
        .unwrap();

    kv.restore(&checkpoint);
    assert!(
        kv.read(move |tx| dead_letters::show(tx, letter))
            .unwrap()
            .is_some()
    );
    assert_eq!(runner.poll_inbox(8, &|| Millis(0)).processed, 1);
    assert_eq!(
        *ran.lock().unwrap(),
        ["bad", "good", "bad", "bad", "bad", "later", "later"]
    );
}

#[test]
fn timers_come_back_in_order() {
    let kv = MemoryKv::new();
    kv.write(|tx| {
        for due in [30, -10, 20] {
            timers::arm(tx, Millis(due), &frame(&due.to_string()))?;
        }
        Ok(())
    })
    .unwrap();
    let checkpoint = kv.checkpoint();
    let (ran, handler) = noting();
    let runner = Runner::boot(kv.clone(), handler, RunnerConfig::new(7)).unwrap();
    runner.poll_timers(2, &|| Millis(50));
    kv.restore(&checkpoint);
    kv.write(|tx| {
        assert_eq!(timers::next_due(tx)?, Some(Millis(-10)));
        // What was restored is older than the marker of the schema.
        tx.get(Dbi::APP_STATE, crate::keys::SCHEMA_KEY)
            .map(|marker| assert_eq!(marker, None))
    })
    .unwrap();
    assert_eq!(runner.poll_timers(8, &|| Millis(50)).processed, 3);
    assert_eq!(*ran.lock().unwrap(), ["-10", "20", "-10", "20", "30"]);
}
