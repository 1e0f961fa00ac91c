//! The kernel's promises, checked on the content of the store after every step.

use kiln_kernel::{InboxKey, Policy, Slot};

use super::book::{Book, Sent, SentKind};
use super::content::{Content, id_of};
use super::script::Script;
use crate::outcome::Violation;

type Check = fn(&Book, &Content, &Policy) -> Result<(), String>;

const CHECKS: &[(&str, Check)] = &[
    ("K1", leases_have_rows),
    ("K3", timers_keep_their_time),
    ("K2", effects_and_rows_go_together),
    ("K4", repetitions_have_one_effect),
    ("K5", budgets_hold),
];

pub(super) fn check(book: &Book, content: &Content, policy: &Policy) -> Result<(), Violation> {
    if let Some(violation) = &book.violation {
        return Err(violation.clone());
    }
    for (name, check) in CHECKS {
        check(book, content, policy).map_err(|detail| Violation::new(name, detail))?;
    }
    Ok(())
}

/// Nothing is left to do: everything took effect, was canceled, or is a dead letter that deserves it.
pub(super) fn check_end(book: &Book, content: &Content, policy: &Policy) -> Result<(), Violation> {
    if let Some((key, _)) = content.inbox.first() {
        let detail = format!("row {key:?} is never run");
        return Err(Violation::new("K1", detail));
    }
    if let Some((key, _)) = content.timers.first() {
        let detail = format!("timer {key:?} never fires");
        return Err(Violation::new("K3", detail));
    }
    for (id, sent) in &book.sent {
        let deserves = sent.kind == SentKind::Misrouted || is_hopeless(sent, policy);
        let effects = content.effects_of(id).len();
        let gone = sent.doubtful || book.canceled.contains(id);
        let letters = content.letters(id);
        if !gone && !deserves && effects == 0 {
            return Err(Violation::new("K2", format!("{id} never took effect")));
        }
        if !gone && deserves && sent.kind != SentKind::Once && letters != 1 {
            let detail = format!("{id} has {letters} dead letters");
            return Err(Violation::new("K5", detail));
        }
    }
    for frame in &book.garbage {
        let letters = content
            .dead
            .iter()
            .filter(|(_, letter)| letter.frame == *frame)
            .count();
        if letters > 1 {
            let detail = format!("a frame that is none has {letters} dead letters");
            return Err(Violation::new("K5", detail));
        }
    }
    Ok(())
}

/// In a world without trouble: rows by their sequence, timers by due time and then by sequence.
pub(super) fn check_order(book: &Book, content: &Content) -> Result<(), Violation> {
    let ran = |id: &str| content.effects_of(id).first().map(|effect| effect.order);
    for (one, first) in &book.sent {
        for (other, second) in &book.sent {
            let before = match (first.kind, second.kind) {
                (SentKind::Plain, SentKind::Plain) => {
                    same_inbox(one, other) && first.order < second.order
                }
                // A timer goes before a later one if it was there when the later one fired.
                (SentKind::Timer(a), SentKind::Timer(b)) => {
                    same_inbox(one, other) && a < b && ran(other) > Some(first.order)
                }
                _ => false,
            };
            if before && ran(one) > ran(other) {
                let invariant = if first.kind == SentKind::Plain {
                    "K1"
                } else {
                    "K3"
                };
                let detail = format!("{other} was run before {one}");
                return Err(Violation::new(invariant, detail));
            }
        }
    }
    Ok(())
}

/// The world puts the worker into the name of a message.
fn same_inbox(one: &str, other: &str) -> bool {
    one.split('-').next() == other.split('-').next()
}

/// K1: an ack takes row and lease together, so no lease is left without its row.
fn leases_have_rows(_: &Book, content: &Content, _: &Policy) -> Result<(), String> {
    let known = |lease: &Vec<u8>| {
        let rows = content
            .inbox
            .iter()
            .map(|(key, _)| Slot::Inbox(*key).lease_key());
        let timers = content
            .timers
            .iter()
            .map(|(key, _)| Slot::Timer(*key).lease_key());
        rows.chain(timers)
            .any(|key| key.as_slice() == lease.as_slice())
    };
    match content.leases.iter().find(|lease| !known(lease)) {
        Some(lease) => Err(format!(
            "a lease has no row: {:?}",
            InboxKey::decode(lease).ok()
        )),
        None => Ok(()),
    }
}

/// K2: a frame is there and has no effect, or has had its effect and is gone; and so have the messages it sends.
fn effects_and_rows_go_together(book: &Book, content: &Content, _: &Policy) -> Result<(), String> {
    for (id, sent) in &book.sent {
        if sent.kind == SentKind::Once {
            continue;
        }
        let (places, effects) = (content.places(id), content.effects_of(id).len());
        let gone = sent.doubtful || book.canceled.contains(id);
        if places + effects > 1 || (places + effects == 0 && !gone) {
            return Err(format!(
                "{id} is in {places} places and has {effects} effects"
            ));
        }
        let child = Script::child_of(id);
        let children = content.places(&child) + content.effects_of(&child).len();
        let expected = usize::from(sent.script.child) * effects;
        if children != expected {
            return Err(format!("{id} has {children} children, not {expected}"));
        }
    }
    Ok(())
}

/// K3: not before its time, and not after its cancellation.
fn timers_keep_their_time(book: &Book, content: &Content, _: &Policy) -> Result<(), String> {
    for (id, effects) in &content.effects {
        let early = |due: Option<kiln_model::Millis>, at| due.is_some_and(|due| at < due);
        if let Some(effect) = effects.iter().find(|effect| early(effect.due, effect.at)) {
            return Err(format!(
                "{id} was due at {:?} and fired at {}",
                effect.due, effect.at
            ));
        }
    }
    for id in &book.canceled {
        if content.places(id) > 0 || !content.effects_of(id).is_empty() {
            return Err(format!("{id} was canceled and is still there, or fired"));
        }
    }
    Ok(())
}

/// K4: within the window, one effect for one id.
fn repetitions_have_one_effect(
    book: &Book,
    content: &Content,
    policy: &Policy,
) -> Result<(), String> {
    let once = book
        .sent
        .iter()
        .filter(|(_, sent)| sent.kind == SentKind::Once);
    for (id, _) in once {
        let effects = content.effects_of(id);
        let too_close = effects.windows(2).any(|pair| {
            policy.dedupe_window_ms == 0 || pair[1].at.0 - pair[0].at.0 <= policy.dedupe_window_ms
        });
        if too_close {
            return Err(format!(
                "{id} took effect {} times: {effects:?}",
                effects.len()
            ));
        }
    }
    Ok(())
}

/// K5: failures stay below the budget, and dead letters have used it up.
fn budgets_hold(book: &Book, content: &Content, policy: &Policy) -> Result<(), String> {
    let budget = policy.retry_budget_max;
    if let Some((id, count)) = content.failures.iter().find(|(_, count)| **count >= budget) {
        return Err(format!(
            "{id} failed {count} times, and the budget is {budget}"
        ));
    }
    for (_, letter) in &content.dead {
        let Some(id) = id_of(&letter.frame) else {
            if letter.attempts != 0 {
                return Err("a frame that is none was tried".to_owned());
            }
            continue;
        };
        let sent = book.sent.get(&id);
        let deserves =
            sent.is_some_and(|sent| sent.kind == SentKind::Misrouted || is_hopeless(sent, policy));
        if letter.attempts != budget || !deserves {
            return Err(format!(
                "{id} is a dead letter after {} failures, and the budget is {budget}",
                letter.attempts
            ));
        }
    }
    Ok(())
}

fn is_hopeless(sent: &Sent, policy: &Policy) -> bool {
    u32::from(sent.script.failures) >= policy.retry_budget_max
}
