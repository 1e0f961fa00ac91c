//! Tests of results with output beside them.

use std::time::Duration;

use super::tests::{JOB, Machine, ack, job_id, ready, received, send};
use super::*;

/// A result that names output beside it.
fn large_result() -> Delivery {
    Delivery::with_output_beside(job_id(JOB), 1)
}

fn upload() -> Effect {
    Effect::Upload {
        job: job_id(JOB),
        large: large_result().large().unwrap().clone(),
    }
}

fn uploaded(taken: bool) -> Event {
    let job = job_id(JOB);
    Event::Uploaded { job, taken }
}

fn uploading() -> Machine {
    let mut machine = Machine::executing();
    machine.on(Event::Executed(large_result().with_bytes("x".into())));
    assert_eq!(machine.on(Event::Spooled), [upload()]);
    machine
}

#[test]
fn a_result_is_sent_after_what_it_names() {
    let mut machine = uploading();
    assert_eq!(machine.on(uploaded(true)), [send(large_result())]);
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
}

#[test]
fn heartbeats_keep_the_lease_during_an_upload() {
    let mut machine = uploading();
    assert_eq!(machine.second(), [Effect::Send(Outgoing::Heartbeat)]);
    assert_eq!(machine.on(ack(JOB)), [], "that was the heartbeat's");
    assert_eq!(machine.on(uploaded(true)), [send(large_result())]);
}

#[test]
fn a_server_that_is_silent_during_an_upload_is_left() {
    let mut machine = uploading();
    machine.second();
    let effects = machine.after(Duration::from_mins(1));
    assert!(effects.contains(&Effect::Drop), "{effects:?}");
}

#[test]
fn a_server_is_not_left_for_its_silence_while_the_disk_was_full() {
    let mut machine = Machine::executing();
    machine.second();
    machine.on(Event::Executed(large_result().with_bytes("x".into())));
    machine.on(Event::NotSpooled);
    machine.after(Duration::from_mins(5));
    let effects = machine.on(Event::Spooled);
    assert!(effects.contains(&upload()), "{effects:?}");
    let effects = machine.on(Event::Tick);
    assert!(!effects.contains(&Effect::Drop), "{effects:?}");
}

#[test]
fn what_the_server_does_not_take_is_left_out() {
    let mut machine = uploading();
    let alone = large_result().without_large();
    assert_eq!(machine.on(uploaded(false)), [send(alone)]);
}

#[test]
fn on_a_new_channel_the_server_is_asked_again_whether_it_has_it() {
    let mut machine = uploading();
    machine.on(uploaded(true));
    machine.on(Event::Disconnected);
    assert_eq!(machine.connect(), [upload()]);
    assert_eq!(machine.on(uploaded(true)), [send(large_result())]);
}

#[test]
fn an_upload_goes_on_while_there_is_no_channel() {
    let mut machine = uploading();
    machine.on(Event::Disconnected);
    assert_eq!(machine.on(uploaded(true)), []);
    assert_eq!(machine.connect(), [send(large_result())]);
}

#[test]
fn a_cancel_during_an_upload_sends_the_beginnings_at_once() {
    let mut machine = uploading();
    let alone = large_result().without_large();
    let effects = machine.on(received(ServerMessage::Cancel));
    assert_eq!(effects, [send(alone)]);
    assert_eq!(machine.on(uploaded(true)), [], "too late");
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
}

#[test]
fn a_result_of_an_earlier_process_is_uploaded_without_heartbeats() {
    let mut machine = Machine::new(vec![large_result()]);
    assert_eq!(machine.connect(), [upload()]);
    assert_eq!(machine.second(), []);
    assert_eq!(machine.on(uploaded(true)), [send(large_result())]);
}
