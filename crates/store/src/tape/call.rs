//! What a closure said to its transaction, and what it was told.

use serde::{Deserialize, Serialize};

use crate::{Error, Row, Value};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    Query {
        sql: Statement,
        params: Vec<Value>,
        answer: Result<Vec<Row>, Error>,
    },
    Execute {
        sql: Statement,
        params: Vec<Value>,
        answer: Result<u64, Error>,
    },
    Nested {
        frame: Frame,
        answer: Result<(), Error>,
    },
    /// The kernel's lock could not be had. That it could is not worth a line.
    Locked { failed: Error },
}

/// A statement's text, or its place among the texts that came before it in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Statement {
    Text(String),
    Known(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Frame {
    Begin,
    Commit,
    Rollback,
}

impl Call {
    pub(super) fn statement_mut(&mut self) -> Option<&mut Statement> {
        match self {
            Self::Query { sql, .. } | Self::Execute { sql, .. } => Some(sql),
            Self::Nested { .. } | Self::Locked { .. } => None,
        }
    }

    /// The question without its answer, for a reader.
    pub(super) fn question(&self) -> String {
        match self {
            Self::Query { sql, params, .. } | Self::Execute { sql, params, .. } => {
                statement(sql, params)
            }
            Self::Nested { frame, .. } => nested(*frame),
            Self::Locked { .. } => "the kernel's lock".to_owned(),
        }
    }
}

pub(super) fn statement(sql: &Statement, params: &[Value]) -> String {
    let text = match sql {
        Statement::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Statement::Known(number) => format!("statement {number}"),
    };
    let params = serde_json::to_string(params).expect("values are plain data");
    format!("{text} {params}")
}

pub(super) fn nested(frame: Frame) -> String {
    match frame {
        Frame::Begin => "begin a nested frame".to_owned(),
        Frame::Commit => "keep a nested frame".to_owned(),
        Frame::Rollback => "undo a nested frame".to_owned(),
    }
}

/// What came together while someone listened.
#[derive(Debug, Default)]
pub struct Transcript {
    pub(super) calls: Vec<Call>,
}

impl Transcript {
    pub(crate) fn query(&mut self, sql: &str, params: &[Value], answer: &Result<Vec<Row>, Error>) {
        self.calls.push(Call::Query {
            sql: Statement::Text(sql.to_owned()),
            params: params.to_vec(),
            answer: answer.clone(),
        });
    }

    pub(crate) fn execute(&mut self, sql: &str, params: &[Value], answer: &Result<u64, Error>) {
        self.calls.push(Call::Execute {
            sql: Statement::Text(sql.to_owned()),
            params: params.to_vec(),
            answer: answer.clone(),
        });
    }

    pub(crate) fn nested(&mut self, frame: Frame, answer: &Result<(), Error>) {
        self.calls.push(Call::Nested {
            frame,
            answer: answer.clone(),
        });
    }

    pub(crate) fn lock(&mut self, answer: &Result<(), Error>) {
        if let Err(failed) = answer {
            self.calls.push(Call::Locked {
                failed: failed.clone(),
            });
        }
    }
}
