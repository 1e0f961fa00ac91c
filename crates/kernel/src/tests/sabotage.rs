//! Each guard, taken away, is missed: these tests show that the switches do what the simulator needs them for.

use std::sync::Arc;

use kiln_model::Millis;

use super::crashes::each_effect_once;
use crate::memory::MemoryTx;
use crate::sabotage::{Switch, switch_on};
use crate::{
    InboxKey, Kind, Kv, MemoryKv, Message, MessageView, Runner, RunnerConfig, Status, Step,
    apply_only, dead_letters, inbox, timers,
};

fn timer() -> Vec<u8> {
    Message::new(Kind::Timer, 7, "timer", "").encode().unwrap()
}

fn runner(
    kv: &MemoryKv,
    answer: Result<(), Status>,
) -> Runner<MemoryKv, impl crate::Handler<MemoryTx>> {
    let handler =
        apply_only(move |_: &MessageView<'_>, _: &mut MemoryTx, _: &mut Step| answer.clone());
    Runner::boot(kv.clone(), Arc::new(handler), RunnerConfig::new(7)).unwrap()
}

#[test]
fn effects_apart_from_their_ack_are_doubled_by_some_crash() {
    let _sabotaged = switch_on(Switch::ApplyOutsideTransaction);
    assert!((0..12).any(|commits| !each_effect_once(commits)));
}

#[test]
fn a_timer_fires_early() {
    let kv = MemoryKv::new();
    kv.write(|tx| timers::arm(tx, Millis(100), &timer()))
        .unwrap();
    let runner = runner(&kv, Ok(()));
    assert_eq!(runner.poll_timers(8, &|| Millis(50)).processed, 0);
    let _sabotaged = switch_on(Switch::FireEarly);
    assert_eq!(runner.poll_timers(8, &|| Millis(50)).processed, 1);
}

#[test]
fn a_cancelled_timer_fires() {
    let kv = MemoryKv::new();
    let key = kv
        .write(|tx| timers::arm(tx, Millis(100), &timer()))
        .unwrap();
    let sabotaged = switch_on(Switch::ForgetTimerCancel);
    assert!(kv.write(move |tx| timers::cancel(tx, key)).unwrap());
    drop(sabotaged);
    assert_eq!(
        runner(&kv, Ok(()))
            .poll_timers(8, &|| Millis(100))
            .processed,
        1
    );
}

#[test]
fn a_failing_message_is_tried_for_ever() {
    let kv = MemoryKv::new();
    let message = Message::new(Kind::Command, 7, "m1", "");
    kv.write(move |tx| inbox::send(tx, &message.view()))
        .unwrap();
    let runner = runner(&kv, Err(Status::Busy));
    let sabotaged = switch_on(Switch::IgnoreBudget);
    runner.poll_inbox(50, &|| Millis(0));
    assert_eq!(runner.metrics().step_attempts, 50);
    drop(sabotaged);
    runner.poll_inbox(50, &|| Millis(0));
    let letters = kv
        .read(|tx| dead_letters::list(tx, InboxKey::new(0, 0), 9))
        .unwrap();
    assert_eq!(letters.len(), 1);
}
