//! Frames to JSON and back.

use std::io::Read as _;

use kiln_kernel::wire::{RawIntent, RawMessage};
use kiln_kernel::{WireError, describe, hex};
use serde_json::Value;

use super::json::{bytes_from, json};
use crate::commands::Context;
use crate::failure::{Exit, Failure};

/// Whatever stdin holds beyond this is no frame.
const MAX_INPUT: u64 = 1024 * 1024;

pub(super) fn decode(context: &Context<'_>, text: &str) -> Result<Exit, Failure> {
    let bytes = read_hex(text)?;
    let node = describe::frame(&bytes).map_err(wire)?;
    context.terminal.json(&json(&node))?;
    Ok(Exit::Ok)
}

pub(super) fn encode(context: &Context<'_>) -> Result<Exit, Failure> {
    let mut text = String::new();
    std::io::stdin().take(MAX_INPUT).read_to_string(&mut text)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::usage("stdin is not JSON")
            .because(&error)
            .hint("`kiln kernel frame decode` prints the form that is read here")
    })?;
    let bytes = frame(&value)?;
    context.terminal.data(&hex::encode(&bytes))?;
    Ok(Exit::Ok)
}

pub(super) fn read_hex(text: &str) -> Result<Vec<u8>, Failure> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    hex::decode(&digits).ok_or_else(|| {
        Failure::usage("the argument is not hex")
            .hint("two hex digits for each byte, for example 4c4d5347")
    })
}

/// Bad bytes: the error's name, and exit code 1.
pub(super) fn wire(error: WireError) -> Failure {
    Failure::new(Exit::Unexpected, error.to_string())
}

fn frame(value: &Value) -> Result<Vec<u8>, Failure> {
    match value.get("frame").and_then(Value::as_str) {
        Some("LMSG") => message(value),
        Some("LINT") => intent(value),
        _ => Err(Failure::usage("`frame` must be \"LMSG\" or \"LINT\"")),
    }
}

fn message(value: &Value) -> Result<Vec<u8>, Failure> {
    let id = bytes(value, "message_id")?.unwrap_or_default();
    let trace = bytes(value, "trace_id")?;
    let payload = bytes(value, "payload")?.unwrap_or_default();
    let from = optional_number(value, "from_worker")?;
    let mut flags = flags(value)?;
    flags |= u8::from(from.is_some()) * HAS_FROM_WORKER;
    flags |= u8::from(trace.is_some()) * HAS_TRACE_ID;
    let raw = RawMessage {
        kind: kind(value, &["command", "event", "timer"])?,
        flags,
        to_worker: number(value, "to_worker")?,
        route_worker: number(value, "route_worker")?,
        route_timestamp: number(value, "route_timestamp")?,
        from_worker: from.unwrap_or(0),
        id: &id,
        trace_id: trace.as_deref().unwrap_or_default(),
        payload: &payload,
    };
    raw.check().and_then(|view| view.encode()).map_err(wire)
}

fn intent(value: &Value) -> Result<Vec<u8>, Failure> {
    let inner = value
        .get("message")
        .ok_or_else(|| Failure::usage("`message` is missing"))?;
    let inner = match bytes_from(inner) {
        Some(bytes) => bytes,
        None => frame(inner)?,
    };
    let due = optional_number(value, "due")?;
    let raw = RawIntent {
        kind: kind(value, &["outbox-emit", "timer-arm"])?,
        flags: u8::from(due.is_some()),
        due: due.unwrap_or(0),
        message: &inner,
    };
    raw.check().and_then(|view| view.encode()).map_err(wire)
}

const HAS_FROM_WORKER: u8 = 0x10;
const HAS_TRACE_ID: u8 = 0x20;

fn flags(value: &Value) -> Result<u8, Failure> {
    const NAMES: [&str; 4] = [
        "durable",
        "high-priority",
        "dedupe-required",
        "requires-ack",
    ];
    let Some(list) = value.get("flags") else {
        return Ok(0);
    };
    let unknown = || Failure::usage(format!("`flags` is a list of {}", NAMES.join(", ")));
    let mut flags = 0;
    for flag in list.as_array().ok_or_else(unknown)? {
        let place = NAMES
            .iter()
            .position(|name| flag == name)
            .ok_or_else(unknown)?;
        flags |= 1 << place;
    }
    Ok(flags)
}

fn kind(value: &Value, names: &[&str]) -> Result<u8, Failure> {
    let given = value.get("kind");
    let place = names
        .iter()
        .position(|name| given.is_some_and(|given| given == name));
    place
        .and_then(|place| u8::try_from(place).ok())
        .ok_or_else(|| Failure::usage(format!("`kind` is one of {}", names.join(", "))))
}

fn bytes(value: &Value, field: &str) -> Result<Option<Vec<u8>>, Failure> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(given) => bytes_from(given)
            .map(Some)
            .ok_or_else(|| Failure::usage(format!("`{field}` is a text, or {{\"hex\": \"…\"}}"))),
    }
}

fn number(value: &Value, field: &str) -> Result<i64, Failure> {
    optional_number(value, field)?.ok_or_else(|| Failure::usage(format!("`{field}` is missing")))
}

fn optional_number(value: &Value, field: &str) -> Result<Option<i64>, Failure> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(given) => given
            .as_i64()
            .map(Some)
            .ok_or_else(|| Failure::usage(format!("`{field}` is a whole number of 64 bits"))),
    }
}
