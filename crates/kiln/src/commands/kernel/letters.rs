//! What the kernel holds, and the frames it gave up on.

use kiln_kernel::{Status, describe, hex};
use kiln_model::operator::{DeadLetter, KernelStats, Replayed};
use kiln_server::operator;

use super::json::json;
use crate::cli::{self, Drain, Target};
use crate::commands::Context;
use crate::commands::target::{Answerer, from_client};
use crate::failure::{Exit, Failure};

/// How many letters `list` shows at most.
const LISTED: usize = 1_000;

pub(super) fn stats(context: &Context<'_>, target: &Target) -> Result<Exit, Failure> {
    let stats: KernelStats = match &Answerer::find(context)? {
        Answerer::Server(client, runtime) => runtime
            .block_on(client.kernel_stats())
            .map_err(from_client)?,
        Answerer::Store(store) => operator::stats(&store.ledger).map_err(from_kernel)?,
    };
    if target.json.json {
        context.terminal.json(&stats)?;
        return Ok(Exit::Ok);
    }
    for inbox in &stats.inboxes {
        context.terminal.data(&format!(
            "inbox of worker {:<6} {}",
            inbox.worker, inbox.frames
        ))?;
    }
    for (what, count) in [
        ("outbox", stats.outbox),
        ("leases", stats.leases),
        ("timers", stats.timers),
        ("dead letters", stats.dead_letters),
    ] {
        context.terminal.data(&format!("{what:<22} {count}"))?;
    }
    if let Some(due) = stats.next_timer {
        context.terminal.data(&format!(
            "{:<22} {} ms",
            "next timer in",
            (due - stats.now).max(0)
        ))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn list(context: &Context<'_>, target: &Target) -> Result<Exit, Failure> {
    let letters = match &Answerer::find(context)? {
        Answerer::Server(client, runtime) => runtime
            .block_on(client.dead_letters())
            .map_err(from_client)?,
        Answerer::Store(store) => operator::list(&store.ledger, LISTED).map_err(from_kernel)?,
    };
    if target.json.json {
        context.terminal.json(&letters)?;
    } else {
        print(context, &letters)?;
    }
    Ok(Exit::Ok)
}

pub(super) fn show(context: &Context<'_>, request: &cli::DeadLetter) -> Result<Exit, Failure> {
    let (worker, seq) = place(&request.letter)?;
    let letter = match &Answerer::find(context)? {
        Answerer::Server(client, runtime) => runtime
            .block_on(client.dead_letter(worker, seq))
            .map_err(from_client)?,
        Answerer::Store(store) => operator::show(&store.ledger, worker, seq)
            .and_then(|letter| letter.ok_or(Status::NotFound))
            .map_err(from_kernel)?,
    };
    let described = hex::decode(&letter.frame).and_then(|bytes| describe::frame(&bytes).ok());
    let mut answer = serde_json::to_value(&letter).map_err(|error| {
        Failure::unexpected("the letter cannot be written as JSON").because(&error)
    })?;
    answer["message"] = described.as_ref().map_or(serde_json::Value::Null, json);
    context.terminal.json(&answer)?;
    Ok(Exit::Ok)
}

pub(super) fn replay(context: &Context<'_>, request: &cli::DeadLetter) -> Result<Exit, Failure> {
    let (worker, seq) = place(&request.letter)?;
    let replayed: Replayed = match &Answerer::find(context)? {
        Answerer::Server(client, runtime) => runtime
            .block_on(client.replay_dead_letter(worker, seq))
            .map_err(from_client)?,
        Answerer::Store(store) => {
            operator::replay(&store.ledger, worker, seq).map_err(from_kernel)?
        }
    };
    if request.target.json.json {
        context.terminal.json(&replayed)?;
    } else {
        context.terminal.data(&format!(
            "back in the inbox at {}:{}",
            replayed.worker, replayed.seq
        ))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn drain(context: &Context<'_>, request: &Drain) -> Result<Exit, Failure> {
    let drained = match &Answerer::find(context)? {
        Answerer::Server(client, runtime) => runtime
            .block_on(client.drain_dead_letters(request.max))
            .map_err(from_client)?,
        Answerer::Store(store) => {
            let max = usize::try_from(request.max).unwrap_or(usize::MAX);
            operator::drain(&store.ledger, max).map_err(from_kernel)?
        }
    };
    if request.target.json.json {
        for letter in &drained {
            let line = serde_json::to_string(letter).map_err(|error| {
                Failure::unexpected("a letter cannot be written as JSON").because(&error)
            })?;
            context.terminal.data(&line)?;
        }
    } else {
        print(context, &drained)?;
        context.terminal.note(&format!("{} removed", drained.len()));
    }
    Ok(Exit::Ok)
}

fn print(context: &Context<'_>, letters: &[DeadLetter]) -> Result<(), Failure> {
    for letter in letters {
        let id = hex::decode(&letter.frame)
            .and_then(|bytes| kiln_kernel::Message::decode(&bytes).ok())
            .map_or_else(
                || "(undecodable)".to_owned(),
                |message| String::from_utf8_lossy(&message.id).into_owned(),
            );
        context.terminal.data(&format!(
            "{}:{}  failure {}  attempts {}  {id}",
            letter.worker, letter.seq, letter.failure, letter.attempts
        ))?;
    }
    Ok(())
}

fn place(text: &str) -> Result<(u64, u64), Failure> {
    text.split_once(':')
        .and_then(|(worker, seq)| Some((worker.parse().ok()?, seq.parse().ok()?)))
        .ok_or_else(|| {
            Failure::usage(format!("{text:?} names no dead letter"))
                .hint("write WORKER:SEQUENCE, as `kiln kernel dead-letters list` shows it")
        })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
fn from_kernel(status: Status) -> Failure {
    let exit = match status {
        Status::NotFound => Exit::NotFound,
        Status::Exists | Status::Busy | Status::Conflict => Exit::Conflict,
        Status::Error(_)
        | Status::Full
        | Status::Corrupt(_)
        | Status::Wire(_)
        | Status::Store(_) => Exit::Unexpected,
    };
    Failure::new(exit, format!("the kernel refused: {status}"))
}
