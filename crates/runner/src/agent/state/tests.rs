use std::time::Duration;

use kiln_model::v0::ClaimedJob;

use super::*;

pub(super) const JOB: &str = "01a1de47-71b7-7681-a510-54ad0fe9b85b";
const OTHER: &str = "01a1de48-2639-76f0-ac7d-6f226b3e8aa1";

pub(super) fn job_id(text: &str) -> JobUuid {
    text.parse().unwrap()
}

pub(super) fn claimed(uuid: JobUuid) -> Box<ClaimedJob> {
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("../../../fixtures/channel/happy.json")).unwrap();
    let job = rows
        .iter()
        .map(|row| &row["server"])
        .find(|message| message["event"] == "job");
    let job: ClaimedJob = serde_json::from_value(job.unwrap().clone()).unwrap();
    Box::new(ClaimedJob { uuid, ..job })
}

fn result(job: &str) -> Delivery {
    Delivery::completed(job_id(job), Vec::new(), None)
}

pub(super) fn ack(job: &str) -> Event {
    Event::Received(ServerMessage::Ack {
        job: Some(job_id(job)),
    })
}

pub(super) fn received(message: ServerMessage) -> Event {
    Event::Received(message)
}

/// With the longest waits.
fn moment(now: Millis) -> Moment {
    Moment {
        now,
        jitter: u32::MAX,
    }
}

/// A state and its time.
pub(super) struct Machine {
    state: State,
    now: Millis,
}

impl Machine {
    pub(super) fn new(spooled: Vec<Delivery>) -> Self {
        let now = Millis(5_000);
        Self {
            state: State::new(spooled, now),
            now,
        }
    }

    pub(super) fn with_updates(self, updates: &Updates) -> Self {
        Self {
            state: self.state.with_updates(updates, moment(self.now)),
            ..self
        }
    }

    pub(super) fn on(&mut self, event: Event) -> Vec<Effect> {
        self.state.apply(event, moment(self.now))
    }

    pub(super) fn after(&mut self, span: Duration) -> Vec<Effect> {
        self.now = self.now + span;
        self.on(Event::Tick)
    }

    pub(super) fn second(&mut self) -> Vec<Effect> {
        self.after(Duration::from_secs(1))
    }

    fn dial(&mut self) {
        while self.on(Event::Tick) != [Effect::Connect] {
            self.now = self.state.next_wake().unwrap();
        }
    }

    pub(super) fn connect(&mut self) -> Vec<Effect> {
        self.dial();
        self.on(Event::Connected)
    }

    fn idle() -> Self {
        let mut machine = Self::new(Vec::new());
        assert_eq!(machine.connect(), [ready()]);
        machine
    }

    fn setting_up() -> Self {
        let mut machine = Self::idle();
        let job = claimed(job_id(JOB));
        let effects = machine.on(received(ServerMessage::Job(job.clone())));
        assert_eq!(effects, [Effect::SetUp(job)]);
        machine
    }

    /// `running` is sent and answered.
    pub(super) fn executing() -> Self {
        let mut machine = Self::setting_up();
        let effects = machine.on(Event::SetUp(Ok(())));
        assert_eq!(effects, [Effect::Send(Outgoing::Running), Effect::Execute]);
        assert_eq!(machine.on(ack(JOB)), []);
        machine
    }

    /// The result is sent and everything before it answered.
    fn delivering() -> Self {
        let mut machine = Self::executing();
        assert_eq!(
            machine.on(Event::Executed(result(JOB))),
            [Effect::Spool(result(JOB))]
        );
        assert_eq!(machine.on(Event::Spooled), [send(result(JOB))]);
        machine
    }
}

pub(super) fn ready() -> Effect {
    Effect::Send(Outgoing::Ready { introduce: true })
}

pub(super) fn send(delivery: Delivery) -> Effect {
    Effect::Send(Outgoing::Result(delivery))
}

const HEARTBEAT: Effect = Effect::Send(Outgoing::Heartbeat);

#[test]
fn a_job_goes_from_ready_to_acknowledged_and_back_to_ready() {
    let mut machine = Machine::delivering();
    assert_eq!(machine.state.phase(), Phase::Delivering);
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
    assert_eq!(machine.state.phase(), Phase::Idle);
}

#[test]
fn running_is_said_only_when_the_set_up_is_done() {
    let mut machine = Machine::setting_up();
    assert_eq!(machine.second(), [HEARTBEAT]);
    assert_eq!(machine.second(), [HEARTBEAT]);
    let effects = machine.on(Event::SetUp(Ok(())));
    assert_eq!(effects[0], Effect::Send(Outgoing::Running));
}

#[test]
fn a_heartbeat_is_due_a_second_after_the_last_message_and_not_before() {
    let mut machine = Machine::executing();
    assert_eq!(machine.after(Duration::from_millis(999)), []);
    assert_eq!(
        machine.state.next_wake(),
        Some(machine.now + Duration::from_millis(1))
    );
    assert_eq!(machine.after(Duration::from_millis(1)), [HEARTBEAT]);
}

#[test]
fn there_is_no_heartbeat_without_a_job_or_after_its_end() {
    let mut idle = Machine::idle();
    assert_eq!(idle.second(), []);
    let mut delivering = Machine::delivering();
    assert_eq!(delivering.second(), []);
}

#[test]
fn an_acknowledgement_of_a_heartbeat_is_not_taken_for_that_of_the_result() {
    let mut machine = Machine::executing();
    machine.second();
    machine.second();
    machine.on(Event::Executed(result(JOB)));
    machine.on(Event::Spooled);
    assert_eq!(machine.on(ack(JOB)), []);
    assert_eq!(machine.on(ack(JOB)), []);
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
}

#[test]
fn an_acknowledgement_of_another_job_or_of_none_changes_nothing() {
    let mut machine = Machine::delivering();
    assert_eq!(machine.on(ack(OTHER)), []);
    assert_eq!(machine.on(received(ServerMessage::Ack { job: None })), []);
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
}

#[test]
fn a_result_without_its_acknowledgement_is_sent_alone_on_a_new_channel() {
    let mut machine = Machine::executing();
    machine.second();
    machine.on(Event::Executed(result(JOB)));
    machine.on(Event::Spooled);
    // The server passes over a heartbeat, so the count does not come out.
    assert_eq!(machine.on(ack(JOB)), []);
    let effects = machine.after(Duration::from_mins(1));
    assert_eq!(effects, [Effect::Remark(Remark::NoAnswer), Effect::Drop]);
    assert_eq!(machine.connect(), [send(result(JOB))]);
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
}

#[test]
fn a_cancel_stops_the_job_before_it_is_answered() {
    for mut machine in [Machine::setting_up(), Machine::executing()] {
        let in_set_up = machine.state.phase() == Phase::SettingUp;
        assert_eq!(
            machine.on(received(ServerMessage::Cancel)),
            [Effect::StopWork]
        );
        assert_eq!(
            machine.second(),
            [],
            "no heartbeat for a job the server has given up"
        );
        let ended = if in_set_up {
            Event::SetUp(Err(result(JOB)))
        } else {
            Event::Executed(result(JOB))
        };
        let canceled = Delivery::canceled(job_id(JOB));
        assert_eq!(machine.on(ended), [Effect::Spool(canceled.clone())]);
        assert_eq!(machine.on(Event::Spooled), [send(canceled)]);
        assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
    }
}

#[test]
fn a_cancel_that_crosses_the_end_of_the_set_up_gives_up_what_is_ready() {
    let mut machine = Machine::setting_up();
    machine.on(received(ServerMessage::Cancel));
    let canceled = Delivery::canceled(job_id(JOB));
    let effects = machine.on(Event::SetUp(Ok(())));
    assert_eq!(effects, [Effect::StopWork, Effect::Spool(canceled)]);
}

#[test]
fn after_a_cancel_in_place_of_an_acknowledgement_the_next_one_counts() {
    let mut machine = Machine::executing();
    machine.second();
    machine.second();
    machine.on(received(ServerMessage::Cancel));
    machine.on(Event::Executed(result(JOB)));
    machine.on(Event::Spooled);
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
}

#[test]
fn a_cancel_that_crosses_the_result_leaves_the_result_to_be_acknowledged() {
    let mut machine = Machine::executing();
    machine.second();
    machine.on(Event::Executed(result(JOB)));
    machine.on(Event::Spooled);
    assert_eq!(machine.on(received(ServerMessage::Cancel)), []);
    assert_eq!(machine.on(ack(JOB)), [Effect::Forget(job_id(JOB)), ready()]);
}

#[test]
fn a_second_cancel_and_one_without_a_job_do_nothing() {
    let mut machine = Machine::executing();
    machine.on(received(ServerMessage::Cancel));
    assert_eq!(machine.on(received(ServerMessage::Cancel)), []);
    let mut idle = Machine::idle();
    assert_eq!(idle.on(received(ServerMessage::Cancel)), []);
}

#[test]
fn a_lost_channel_does_not_disturb_the_job_and_it_is_taken_up_again() {
    let mut machine = Machine::executing();
    assert_eq!(machine.on(Event::Disconnected), []);
    assert_eq!(machine.state.phase(), Phase::Executing);
    assert_eq!(machine.connect(), [Effect::Send(Outgoing::Running)]);
    assert_eq!(machine.on(ack(JOB)), []);
    assert_eq!(machine.second(), [HEARTBEAT]);
}

#[test]
fn a_job_in_set_up_is_taken_up_again_by_a_heartbeat() {
    let mut machine = Machine::setting_up();
    machine.on(Event::Disconnected);
    assert_eq!(machine.connect(), [HEARTBEAT]);
}

#[test]
fn a_set_up_that_ends_without_a_channel_starts_the_job_all_the_same() {
    let mut machine = Machine::setting_up();
    machine.on(Event::Disconnected);
    assert_eq!(machine.on(Event::SetUp(Ok(()))), [Effect::Execute]);
    assert_eq!(machine.connect(), [Effect::Send(Outgoing::Running)]);
}

#[test]
fn a_job_that_ends_without_a_channel_is_delivered_first_on_the_next() {
    let mut machine = Machine::executing();
    machine.on(Event::Disconnected);
    assert_eq!(
        machine.on(Event::Executed(result(JOB))),
        [Effect::Spool(result(JOB))]
    );
    assert_eq!(machine.on(Event::Spooled), []);
    assert_eq!(machine.connect(), [send(result(JOB))]);
}

#[test]
fn spooled_results_are_delivered_one_by_one_before_ready() {
    let mut machine = Machine::new(vec![result(JOB), result(OTHER)]);
    assert_eq!(machine.connect(), [send(result(JOB))]);
    assert_eq!(machine.on(ack(OTHER)), []);
    assert_eq!(
        machine.on(ack(JOB)),
        [Effect::Forget(job_id(JOB)), send(result(OTHER))]
    );
    assert_eq!(
        machine.on(ack(OTHER)),
        [Effect::Forget(job_id(OTHER)), ready()]
    );
}

#[test]
fn a_result_that_cannot_be_spooled_is_tried_again_and_not_sent_before() {
    let mut machine = Machine::executing();
    machine.on(Event::Executed(result(JOB)));
    assert_eq!(machine.on(Event::NotSpooled), []);
    assert_eq!(machine.after(Duration::from_millis(500)), []);
    assert_eq!(
        machine.after(Duration::from_millis(500)),
        [Effect::Spool(result(JOB))]
    );
    assert_eq!(machine.on(Event::Spooled), [send(result(JOB))]);
}

#[test]
fn a_second_job_is_refused_without_touching_the_first() {
    let mut machine = Machine::executing();
    let effects = machine.on(received(ServerMessage::Job(claimed(job_id(OTHER)))));
    assert_eq!(
        effects,
        [Effect::Remark(Remark::UnexpectedJob(job_id(OTHER)))]
    );
    assert_eq!(machine.state.job(), Some(job_id(JOB)));
}

#[test]
fn a_server_that_answers_no_job_at_once_is_asked_once_a_second() {
    let mut machine = Machine::idle();
    assert_eq!(machine.on(received(ServerMessage::NoJob)), []);
    assert_eq!(machine.second(), [ready()]);
    machine.after(Duration::from_secs(55));
    assert_eq!(machine.on(received(ServerMessage::NoJob)), [ready()]);
}

#[test]
fn a_silent_server_is_given_up_and_connected_anew() {
    let mut idle = Machine::idle();
    assert_eq!(idle.after(Duration::from_secs(84)), []);
    assert_eq!(
        idle.second(),
        [Effect::Remark(Remark::NoAnswer), Effect::Drop]
    );
    assert_eq!(idle.connect(), [ready()]);

    let mut executing = Machine::executing();
    for _ in 0..30 {
        assert_eq!(executing.second(), [HEARTBEAT]);
    }
    assert_eq!(
        executing.second(),
        [Effect::Remark(Remark::NoAnswer), Effect::Drop]
    );
    assert_eq!(executing.connect(), [Effect::Send(Outgoing::Running)]);
}

#[test]
fn a_dial_that_takes_too_long_is_given_up() {
    let mut machine = Machine::new(Vec::new());
    assert_eq!(machine.on(Event::Tick), [Effect::Connect]);
    let effects = machine.after(Duration::from_secs(30));
    assert_eq!(effects, [Effect::Remark(Remark::NoAnswer), Effect::Drop]);
}

#[test]
fn waits_between_attempts_grow_until_the_server_has_said_something() {
    let mut machine = Machine::new(Vec::new());
    let mut waits = Vec::new();
    for _ in 0..4 {
        machine.connect();
        machine.on(Event::Disconnected);
        waits.push(
            machine
                .state
                .next_wake()
                .unwrap()
                .since(machine.now)
                .as_secs(),
        );
    }
    assert_eq!(waits, [1, 2, 4, 8]);
    machine.connect();
    machine.on(received(ServerMessage::NoJob));
    machine.on(Event::Disconnected);
    assert_eq!(
        machine
            .state
            .next_wake()
            .unwrap()
            .since(machine.now)
            .as_secs(),
        1
    );
}

#[test]
fn nothing_wakes_an_idle_agent_but_the_end_of_its_poll() {
    let machine = Machine::idle();
    assert_eq!(
        machine.state.next_wake(),
        Some(machine.now + Duration::from_secs(85))
    );
}

#[test]
fn a_refused_key_ends_the_agent() {
    let mut machine = Machine::new(Vec::new());
    machine.on(Event::Tick);
    assert_eq!(
        machine.on(Event::Refused),
        [Effect::Exit(Exit::Unauthorized)]
    );
    assert_eq!(machine.state.phase(), Phase::Ended);
    assert_eq!(machine.second(), []);
}

#[test]
fn a_key_that_is_refused_during_a_job_ends_the_agent_when_the_result_is_spooled() {
    let mut machine = Machine::executing();
    machine.on(Event::Disconnected);
    machine.dial();
    assert_eq!(machine.on(Event::Refused), []);
    assert_eq!(machine.state.phase(), Phase::Executing);
    machine.on(Event::Executed(result(JOB)));
    machine.on(Event::Spooled);
    machine.dial();
    assert_eq!(
        machine.on(Event::Refused),
        [Effect::Exit(Exit::Unauthorized)]
    );
}

#[test]
fn a_drain_lets_the_job_finish_and_ends_after_its_acknowledgement() {
    let mut machine = Machine::executing();
    assert_eq!(machine.on(Event::Drain), []);
    assert_eq!(machine.second(), [HEARTBEAT]);
    machine.on(ack(JOB));
    machine.on(Event::Executed(result(JOB)));
    machine.on(Event::Spooled);
    let effects = machine.on(ack(JOB));
    assert_eq!(
        effects,
        [Effect::Forget(job_id(JOB)), Effect::Exit(Exit::Done)]
    );
}

#[test]
fn a_drain_of_an_idle_agent_closes_the_channel_first() {
    let mut machine = Machine::idle();
    assert_eq!(machine.on(Event::Drain), [Effect::Close]);
    assert_eq!(machine.on(received(ServerMessage::NoJob)), []);
    assert_eq!(machine.on(Event::Disconnected), [Effect::Exit(Exit::Done)]);
}

#[test]
fn a_server_that_does_not_close_does_not_hold_up_a_drain() {
    let mut machine = Machine::idle();
    machine.on(Event::Drain);
    let effects = machine.after(Duration::from_secs(2));
    assert_eq!(effects.last(), Some(&Effect::Exit(Exit::Done)));
}

#[test]
fn a_job_that_crosses_the_drain_is_done_on_a_new_channel() {
    let mut machine = Machine::idle();
    machine.on(Event::Drain);
    let job = claimed(job_id(JOB));
    let effects = machine.on(received(ServerMessage::Job(job.clone())));
    assert_eq!(effects, [Effect::SetUp(job)]);
    assert_eq!(machine.on(Event::Disconnected), []);
    assert_eq!(machine.connect(), [HEARTBEAT]);
}

#[test]
fn a_drain_without_a_channel_and_a_job_ends_at_once() {
    let mut machine = Machine::new(Vec::new());
    assert_eq!(machine.on(Event::Drain), [Effect::Exit(Exit::Done)]);
}

#[test]
fn a_stop_ends_the_job_and_reports_that() {
    let mut machine = Machine::executing();
    assert_eq!(machine.on(Event::Stop), [Effect::StopWork]);
    let effects = machine.on(Event::Executed(Delivery::failed(
        job_id(JOB),
        Vec::new(),
        "the command was stopped",
        None,
    )));
    let [Effect::Spool(report)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(report.text().contains(r#""event":"failed""#));
    assert!(report.text().contains("the runner was stopped"));
    machine.on(Event::Spooled);
    let effects = machine.on(ack(JOB));
    assert_eq!(
        effects,
        [Effect::Forget(job_id(JOB)), Effect::Exit(Exit::Done)]
    );
}

#[test]
fn a_stop_waits_only_so_long() {
    let mut machine = Machine::delivering();
    machine.on(Event::Stop);
    assert_eq!(machine.after(Duration::from_secs(14)), []);
    assert_eq!(machine.second(), [Effect::Exit(Exit::Undelivered)]);
}

#[test]
fn a_stop_of_an_idle_agent_ends_at_once() {
    let mut machine = Machine::idle();
    assert_eq!(machine.on(Event::Stop), [Effect::Exit(Exit::Done)]);
}
