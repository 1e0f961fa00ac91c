//! Every legal change of a job's status, each with its trigger and where it is written down.

use crate::{Kind, Status, Trigger};

/// Where a row of the table comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// bencher-runner-protocol, "Job Lifecycle".
    BenchProtocol,
    /// bencher-runner-design, "Job State Machine".
    BenchDesign,
    /// zencompute, "State machine" and "Action Rescheduling".
    Compute,
    /// sandtrace-runtime-orchestrator, "State rules" and "Lease rules".
    Runtime,
    /// Our own; ARCHITECTURE.md says why.
    Kiln,
}

/// One row: a job of one of `kinds` in `from` moves to `to` when `trigger` happens.
#[derive(Clone, Copy, Debug)]
pub struct Transition {
    pub from: Status,
    pub to: Status,
    pub trigger: Trigger,
    pub kinds: &'static [Kind],
    pub source: Source,
}

const EVERY: &[Kind] = &[Kind::Bench, Kind::Action, Kind::Runtime];
const ACTION: &[Kind] = &[Kind::Action];
const RUNTIME: &[Kind] = &[Kind::Runtime];

const fn row(
    from: Status,
    to: Status,
    trigger: Trigger,
    kinds: &'static [Kind],
    source: Source,
) -> Transition {
    Transition {
        from,
        to,
        trigger,
        kinds,
        source,
    }
}

/// The table. A status changes by one of these rows or not at all.
pub const TRANSITIONS: &[Transition] = {
    use Source as By;
    use Status::{Abandoned, Canceled, Claimed, Completed, Failed, Pending, Processed, Running};
    use Trigger as On;
    &[
        row(Pending, Claimed, On::Claim, EVERY, By::BenchProtocol),
        row(Pending, Canceled, On::UserCancel, EVERY, By::BenchProtocol),
        row(Pending, Canceled, On::PendingExpiry, EVERY, By::Kiln),
        row(Pending, Abandoned, On::SessionAbandon, ACTION, By::Compute),
        row(Claimed, Running, On::Start, EVERY, By::BenchProtocol),
        row(Claimed, Failed, On::Fail, EVERY, By::BenchProtocol),
        row(Claimed, Failed, On::LostContact, EVERY, By::BenchProtocol),
        row(Claimed, Failed, On::SetUpDeadline, EVERY, By::Kiln),
        row(Claimed, Canceled, On::UserCancel, EVERY, By::BenchProtocol),
        row(Claimed, Canceled, On::RunnerCancel, EVERY, By::BenchDesign),
        row(Claimed, Abandoned, On::SessionAbandon, ACTION, By::Compute),
        row(Running, Completed, On::Complete, EVERY, By::BenchProtocol),
        row(Running, Failed, On::Fail, EVERY, By::BenchProtocol),
        row(Running, Failed, On::LostContact, EVERY, By::BenchProtocol),
        row(Running, Failed, On::Forgotten, EVERY, By::Kiln),
        row(Running, Canceled, On::UserCancel, EVERY, By::BenchProtocol),
        row(Running, Canceled, On::RunnerCancel, EVERY, By::BenchDesign),
        row(Running, Canceled, On::HardTimeout, EVERY, By::BenchProtocol),
        row(Running, Abandoned, On::SessionAbandon, ACTION, By::Compute),
        row(Completed, Processed, On::Process, EVERY, By::BenchProtocol),
        row(Completed, Failed, On::HandOffRefused, RUNTIME, By::Runtime),
        row(Failed, Completed, On::LateResult, EVERY, By::BenchProtocol),
        row(Failed, Pending, On::Retry, ACTION, By::Compute),
        row(Abandoned, Pending, On::Retry, ACTION, By::Compute),
    ]
};

/// Where `trigger` takes a job of `kind` that is in `from`; `None` when that is not a legal move.
pub fn next(kind: Kind, from: Status, trigger: Trigger) -> Option<Status> {
    TRANSITIONS
        .iter()
        .find(|row| row.from == from && row.trigger == trigger && row.kinds.contains(&kind))
        .map(|row| row.to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_trigger_leads_from_a_status_to_one_place_only() {
        let mut seen = BTreeSet::new();
        for row in TRANSITIONS {
            for kind in row.kinds {
                assert!(
                    seen.insert((*kind, row.from, row.trigger)),
                    "{row:?} stands twice"
                );
            }
        }
    }

    #[test]
    fn processed_and_canceled_have_no_way_out() {
        for row in TRANSITIONS {
            assert!(
                !matches!(row.from, Status::Processed | Status::Canceled),
                "{row:?}"
            );
        }
    }

    #[test]
    fn every_row_of_the_bench_protocol_is_here() {
        use Status::{Canceled, Claimed, Completed, Failed, Pending, Processed, Running};
        let seed = [
            (Pending, Claimed),
            (Pending, Canceled),
            (Claimed, Running),
            (Claimed, Failed),
            (Claimed, Canceled),
            (Running, Completed),
            (Running, Failed),
            (Running, Canceled),
            (Completed, Processed),
            (Failed, Completed),
        ];
        let ours: BTreeSet<_> = TRANSITIONS
            .iter()
            .filter(|row| row.kinds.contains(&Kind::Bench))
            .map(|row| (row.from, row.to))
            .collect();
        assert_eq!(ours, BTreeSet::from(seed));
    }

    #[test]
    fn only_actions_are_abandoned_or_retried_in_place() {
        for row in TRANSITIONS {
            if row.to == Status::Abandoned || row.trigger == Trigger::Retry {
                assert_eq!(row.kinds, [Kind::Action]);
            }
        }
    }

    #[test]
    fn stored_numbers_round_trip() {
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
            assert_eq!(Status::from_name(status.name()), Some(status));
        }
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
        }
        for trigger in Trigger::ALL {
            assert_eq!(Trigger::from_code(trigger.code()), Some(trigger));
        }
    }
}
