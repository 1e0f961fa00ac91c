//! All SQL of Kiln, one file per table. Functions take a transaction and typed values, and answer typed rows;
//! they decide nothing.

pub mod account;
pub mod branch;
pub mod heartbeat;
pub mod job;
pub mod job_event;
pub mod job_output;
pub mod lane;
pub mod project;
pub mod queue;
pub mod registry;
pub mod report;
pub mod runner;
pub mod setting;
pub mod spec;
pub mod testbed;
pub mod waiting;

use std::str::FromStr;

use crate::{Error, Row};

/// What an `INSERT … RETURNING id` answered.
fn inserted_id(row: Option<Row>) -> Result<i64, Error> {
    let row = row.ok_or_else(|| Error::Corrupt {
        what: "an insert answered no id".to_owned(),
    })?;
    row.get(0)
}

/// A text column as the type it was written from.
fn parse<T: FromStr>(row: &Row, index: usize) -> Result<T, Error> {
    let text: String = row.get(index)?;
    text.parse().map_err(|_| Error::Corrupt {
        what: format!(
            "{text:?} in column {index} is no {}",
            std::any::type_name::<T>()
        ),
    })
}

fn parse_optional<T: FromStr>(row: &Row, index: usize) -> Result<Option<T>, Error> {
    match row.get::<Option<String>>(index)? {
        Some(_) => parse(row, index).map(Some),
        None => Ok(None),
    }
}
