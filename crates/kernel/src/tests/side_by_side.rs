//! What a first half leaves to go on by itself: begun for all frames of a pass before the first is waited for.

use std::sync::{Arc, Mutex};

use kiln_model::Millis;

use crate::{
    Handler, Kind, Kv as _, KvTx, MemoryKv, Message, MessageView, Preparing, Runner, RunnerConfig,
    Status, Step, inbox,
};

const WORKER: u64 = 7;

/// Writes down what it does; waiting for the message `broken` fails.
#[derive(Default)]
struct Diary {
    lines: Mutex<Vec<String>>,
}

impl Diary {
    fn write(&self, what: &str, id: &str) {
        self.lines.lock().unwrap().push(format!("{what} {id}"));
    }
}

impl<T: KvTx + ?Sized> Handler<T> for Diary {
    type Prepared = String;

    fn prepare(&self, message: &MessageView<'_>, _: &Preparing<'_>) -> Result<String, Status> {
        let id = String::from_utf8_lossy(message.id).into_owned();
        self.write("begin", &id);
        Ok(id)
    }

    fn finish_preparing(&self, id: &mut String) -> Result<bool, Status> {
        self.write("wait", id);
        if id == "broken" {
            return Err(Status::Full);
        }
        Ok(true)
    }

    fn apply(
        &self,
        id: &String,
        _: &MessageView<'_>,
        _: &mut T,
        _: &mut Step,
    ) -> Result<(), Status> {
        self.write("apply", id);
        Ok(())
    }
}

fn poll(ids: &[&str]) -> (Vec<String>, crate::runner::Polled) {
    let kv = MemoryKv::new();
    for id in ids {
        let message = Message::new(Kind::Command, 7, (*id).to_owned(), b"x".to_vec());
        kv.write(move |tx| inbox::send(tx, &message.view()))
            .unwrap();
    }
    let diary = Arc::new(Diary::default());
    let runner = Runner::boot(kv, Arc::clone(&diary), RunnerConfig::new(WORKER)).unwrap();
    let polled = runner.poll_inbox(ids.len(), &|| Millis(0));
    let lines = diary.lines.lock().unwrap().clone();
    (lines, polled)
}

#[test]
fn all_frames_of_a_pass_are_begun_before_the_first_is_waited_for() {
    let (lines, polled) = poll(&["one", "two"]);
    assert_eq!(polled.processed, 2);
    let expected = [
        "begin one",
        "begin two",
        "wait one",
        "wait two",
        "apply one",
        "apply two",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_frame_that_was_waited_for_in_vain_fails_alone() {
    let (lines, polled) = poll(&["broken", "good"]);
    assert_eq!((polled.processed, polled.failure), (1, Some(Status::Full)));
    assert!(!lines.contains(&"apply broken".to_owned()));
    assert!(lines.contains(&"apply good".to_owned()));
}
