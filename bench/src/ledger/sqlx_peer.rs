//! A peer: the same statements through one sqlx connection, in a program of its own (see `peers/sqlx`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::workload::{BACKLOG, LANE, WORK};
use super::{WRITERS, Writing};
use crate::aside;
use crate::failure::Failure;
use crate::sample::Sample;
use crate::window::Window;

const WORKSPACE: &str = "peers/sqlx";

pub(super) struct SqlxPeer {
    program: PathBuf,
    database: PathBuf,
    per_commit: u16,
}

#[derive(Debug, Deserialize)]
struct Answer {
    closures: u64,
    seconds: f64,
}

pub(super) fn build() -> Result<PathBuf, Failure> {
    Ok(aside::build(WORKSPACE)?.join("kiln-bench-peer-sqlx"))
}

impl SqlxPeer {
    pub(super) fn new(program: &Path, place: &Path, per_commit: u16) -> Self {
        Self {
            program: program.to_owned(),
            database: place.join(format!("sqlx-{per_commit}.db")),
            per_commit,
        }
    }
}

impl Writing for SqlxPeer {
    fn name(&self) -> &'static str {
        if self.per_commit == WRITERS {
            "peer: sqlx, one loop, 64 a commit"
        } else {
            "peer: sqlx, one commit per closure"
        }
    }

    fn run(&mut self, window: Window) -> Result<Sample, Failure> {
        let millis = |span: Duration| span.as_millis().to_string();
        let output = Command::new(&self.program)
            .arg(&self.database)
            .args([LANE.to_string(), WORK.to_owned(), BACKLOG.to_string()])
            .arg(self.per_commit.to_string())
            .args([millis(window.warm_up), millis(window.measured)])
            .output()
            .map_err(|source| Failure::io("run the sqlx peer", source))?;
        if !output.status.success() {
            return Err(unavailable(String::from_utf8_lossy(&output.stderr).trim()));
        }
        let answer: Answer = serde_json::from_slice(&output.stdout)
            .map_err(|error| unavailable(&error.to_string()))?;
        Ok(Sample {
            operations: answer.closures,
            commits: answer.closures / u64::from(self.per_commit),
            wall: Duration::from_secs_f64(answer.seconds),
            cpu: None,
        })
    }
}

fn unavailable(why: &str) -> Failure {
    Failure::Aside {
        workspace: WORKSPACE,
        why: why.to_owned(),
    }
}
