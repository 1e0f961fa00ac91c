//! Keys of the kernel's databases, and what lies under them.

use kiln_kernel::{Dbi, describe};
use serde_json::{Map, Value};

use super::frame::read_hex;
use super::json::json;
use crate::cli::KeyDecode;
use crate::commands::Context;
use crate::failure::{Exit, Failure};

const NAMES: [(&str, Dbi); 7] = [
    ("app_state", Dbi::APP_STATE),
    ("inbox", Dbi::INBOX),
    ("outbox", Dbi::OUTBOX),
    ("leases", Dbi::LEASES),
    ("timers", Dbi::TIMERS),
    ("dedupe", Dbi::DEDUPE),
    ("dead_letter", Dbi::DEAD_LETTER),
];

pub(super) fn decode(context: &Context<'_>, request: &KeyDecode) -> Result<Exit, Failure> {
    let key = read_hex(&request.key)?;
    let value = request.value.as_deref().map(read_hex).transpose()?;
    let answer = match &request.dbi {
        Some(name) => one(dbi(name)?, &key, value.as_deref())?,
        None => every(&key, value.as_deref())?,
    };
    context.terminal.json(&answer)?;
    Ok(Exit::Ok)
}

fn dbi(name: &str) -> Result<Dbi, Failure> {
    let by_name = NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, dbi)| *dbi);
    by_name
        .or_else(|| name.parse().ok().map(Dbi))
        .ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            Failure::usage(format!("there is no database {name:?}"))
                .hint(format!("one of {}, or a number", names.join(", ")))
        })
}

fn one(dbi: Dbi, key: &[u8], value: Option<&[u8]>) -> Result<Value, Failure> {
    let bad = |status: kiln_kernel::Status| Failure::new(Exit::Unexpected, status.to_string());
    let mut answer = Map::new();
    answer.insert(
        "key".to_owned(),
        json(&describe::key(dbi, key).map_err(bad)?),
    );
    if let Some(value) = value {
        answer.insert(
            "value".to_owned(),
            json(&describe::value(dbi, key, value).map_err(bad)?),
        );
    }
    Ok(Value::Object(answer))
}

/// Every database in which these bytes can stand: a key does not say which it is from.
fn every(key: &[u8], value: Option<&[u8]>) -> Result<Value, Failure> {
    let fits = NAMES
        .iter()
        .filter_map(|(name, dbi)| Some(((*name).to_owned(), one(*dbi, key, value).ok()?)));
    let answer: Map<String, Value> = fits.collect();
    if answer.is_empty() {
        return Err(Failure::new(
            Exit::Unexpected,
            "EFORMAT: these bytes stand in no database of the kernel",
        ));
    }
    Ok(Value::Object(answer))
}
