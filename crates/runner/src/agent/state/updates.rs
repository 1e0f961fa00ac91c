//! Tests of offers of another program.

use std::time::Duration;

use super::tests::{Machine, ready, received};
use super::*;

fn offer(checksum: &str) -> Offer {
    Offer {
        version: "9".to_owned(),
        url: "https://kiln.example/kiln".to_owned(),
        checksum: checksum.to_owned(),
    }
}

fn offered(checksum: &str) -> Event {
    let Offer {
        version,
        url,
        checksum,
    } = offer(checksum);
    received(ServerMessage::Update {
        version,
        url,
        checksum,
    })
}

fn taken(checksum: &str) -> Effect {
    Effect::Exit(Exit::Update(Box::new(offer(checksum))))
}

fn declined() -> Effect {
    let version = offer("").version;
    Effect::Remark(Remark::UpdateDeclined { version })
}

/// Asks for a job without inviting an offer.
fn plain() -> Effect {
    Effect::Send(Outgoing::Ready { introduce: false })
}

/// An agent that starts after so many failures in a row.
fn after_failures(failures: u32) -> Machine {
    Machine::new(Vec::new()).with_updates(&Updates {
        failures,
        refused: None,
    })
}

/// An agent that refuses the program of this checksum.
fn refusing(checksum: &str) -> Machine {
    let mut machine = Machine::new(Vec::new()).with_updates(&Updates {
        failures: 0,
        refused: Some(checksum.to_owned()),
    });
    assert_eq!(machine.connect(), [ready()]);
    machine.after(Duration::from_secs(2));
    machine
}

/// The next question after the server has had nothing for so long.
fn asked_after(machine: &mut Machine, span: Duration) -> Vec<Effect> {
    machine.on(received(ServerMessage::NoJob));
    machine.after(span)
}

#[test]
fn a_declined_update_is_not_invited_again() {
    let mut machine = Machine::new(Vec::new());
    assert_eq!(machine.connect(), [ready()]);
    machine.after(Duration::from_secs(2));
    assert_eq!(machine.on(offered("ab")), [declined(), plain()]);
    let tomorrow = Duration::from_hours(24);
    assert_eq!(asked_after(&mut machine, tomorrow), [plain()]);
}

#[test]
fn an_update_that_is_wanted_ends_an_idle_agent_for_it() {
    let mut machine = after_failures(0);
    assert_eq!(machine.connect(), [ready()]);
    assert_eq!(machine.on(offered("ab")), [taken("ab")]);
}

#[test]
fn a_program_that_could_not_be_fetched_is_invited_again_later() {
    let mut machine = after_failures(3);
    assert_eq!(machine.connect(), [plain()]);
    let seconds = Duration::from_secs;
    assert_eq!(asked_after(&mut machine, seconds(3)), [plain()]);
    assert_eq!(asked_after(&mut machine, seconds(1)), [ready()]);
    assert_eq!(machine.on(offered("ab")), [taken("ab")]);
}

#[test]
fn a_program_that_can_never_be_fetched_is_invited_every_hour() {
    let mut machine = after_failures(u32::MAX);
    assert_eq!(machine.connect(), [plain()]);
    let almost = Duration::from_mins(59);
    assert_eq!(asked_after(&mut machine, almost), [plain()]);
    let rest = Duration::from_mins(1);
    assert_eq!(asked_after(&mut machine, rest), [ready()]);
}

#[test]
fn an_offer_that_comes_too_early_after_a_failure_is_declined() {
    let mut machine = after_failures(3);
    machine.connect();
    machine.after(Duration::from_secs(2));
    assert_eq!(machine.on(offered("ab")), [declined(), plain()]);
    assert_eq!(asked_after(&mut machine, Duration::from_secs(2)), [ready()]);
}

#[test]
fn a_program_that_does_not_work_here_stays_refused() {
    let mut machine = refusing("ab");
    assert_eq!(machine.on(offered("AB")), [declined(), plain()]);
    let later = Duration::from_hours(1);
    assert_eq!(asked_after(&mut machine, later), [ready()]);
    machine.after(Duration::from_secs(2));
    assert_eq!(machine.on(offered("ab")), [declined(), plain()]);
}

#[test]
fn after_one_that_does_not_work_another_program_is_taken() {
    let mut machine = refusing("ab");
    assert_eq!(machine.on(offered("ab")), [declined(), plain()]);
    let later = Duration::from_hours(1);
    assert_eq!(asked_after(&mut machine, later), [ready()]);
    assert_eq!(machine.on(offered("cd")), [taken("cd")]);
}
