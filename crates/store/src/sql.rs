//! All SQL of Kiln, one file per table. Functions take a transaction and typed values, and answer typed rows;
//! they decide nothing.

pub mod account;
pub mod account_key;
pub mod alert;
mod archive;
pub mod audit;
pub mod benchmark;
pub mod billing_minute;
pub mod branch;
pub mod channel;
pub mod dimension;
pub mod head;
pub mod heartbeat;
pub mod job;
pub mod job_event;
pub mod job_live;
pub mod job_output;
pub mod job_standing;
pub mod job_upload;
pub mod lane;
mod list;
pub mod listing;
pub mod measure;
pub mod member;
pub mod metric;
pub mod numbers;
pub mod organization;
#[cfg(test)]
mod plans;
pub mod plot;
pub mod project;
pub mod project_key;
pub mod queue;
pub mod registry;
pub mod report;
pub mod runner;
pub mod series;
pub mod setting;
pub mod spec;
pub mod stats;
pub mod testbed;
pub mod threshold;
pub mod threshold_model;
pub mod waiting;

use std::str::FromStr;

use crate::{Error, Query, Row, Value};

/// What an `INSERT … RETURNING id` answered.
fn inserted_id(row: Option<Row>) -> Result<i64, Error> {
    let row = row.ok_or_else(|| Error::Corrupt {
        what: "an insert answered no id".to_owned(),
    })?;
    row.get(0)
}

/// A text column as the type it was written from.
fn parse<T: FromStr>(row: &Row, index: usize) -> Result<T, Error> {
    let text = row.text(index)?;
    text.parse().map_err(|_| Error::Corrupt {
        what: format!(
            "{text:?} in column {index} is no {}",
            std::any::type_name::<T>()
        ),
    })
}

fn parse_optional<T: FromStr>(row: &Row, index: usize) -> Result<Option<T>, Error> {
    match row.0.get(index) {
        Some(Value::Null) => Ok(None),
        _ => parse(row, index).map(Some),
    }
}

/// What a `SELECT COUNT(*)` answered.
fn count<Q: Query + ?Sized>(query: &mut Q, sql: &str, params: &[Value]) -> Result<i64, Error> {
    query
        .query_one(sql, params)?
        .map_or(Ok(0), |row| row.get(0))
}

/// The value whose name is stored.
fn one_of<T: Copy>(
    all: &[T],
    name: fn(&T) -> &'static str,
    stored: &str,
    what: &str,
) -> Result<T, Error> {
    all.iter()
        .find(|value| name(value) == stored)
        .copied()
        .ok_or_else(|| Error::Corrupt {
            what: format!("{what} {stored:?}"),
        })
}
