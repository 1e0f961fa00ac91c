//! What SQLite does to answer: queries that every job asks must not walk what lies in the past.

use std::sync::Arc;

use super::{job, job_output};
use crate::testing::ManualClock;
use crate::{Engine, Error, Query, Row, Store, StoreConfig, SystemEntropy, Value};

/// Asks how a query would be answered, and answers nothing.
struct Planned<'a> {
    query: &'a mut dyn Query,
    steps: Vec<String>,
}

impl Query for Planned<'_> {
    fn engine(&self) -> Engine {
        self.query.engine()
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        let steps = self
            .query
            .query(&format!("EXPLAIN QUERY PLAN {sql}"), params)?;
        for step in steps {
            self.steps.push(step.text(3)?.to_owned());
        }
        Ok(Vec::new())
    }
}

/// Checks that the plan of whatever `ask` asks uses `index` and walks no table.
fn check(index: &'static str, ask: fn(&mut Planned<'_>) -> Result<(), Error>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kiln.db");
    let clock = Arc::new(ManualClock::default());
    let config = StoreConfig::new(path.to_str().unwrap(), clock, Arc::new(SystemEntropy));
    let store = Store::open(&config).unwrap();
    let read = store.reader.read(move |query| {
        let mut planned = Planned {
            query,
            steps: Vec::new(),
        };
        ask(&mut planned)?;
        Ok::<_, Error>(planned.steps)
    });
    let steps = read.wait().unwrap();
    assert!(steps.iter().any(|step| step.contains(index)), "{steps:?}");
    let walks = |step: &String| step.starts_with("SCAN") && !step.contains(" INDEX ");
    assert!(!steps.iter().any(walks), "{steps:?}");
}

#[test]
fn the_jobs_a_runner_holds_are_found_without_its_past() {
    check("index_job_runner_in_flight", |query| {
        job::held_by(query, 1).map(drop)
    });
}

#[test]
fn live_actions_are_found_without_those_that_ended() {
    check("index_job_live_actions", |query| {
        job::live_actions(query, None, 1).map(drop)
    });
}

#[test]
fn outputs_that_may_leave_are_found_without_those_that_have_left() {
    check("index_job_output_resting", |query| {
        job_output::resting(query, 1).map(drop)
    });
}
