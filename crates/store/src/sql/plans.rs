//! What SQLite does to answer: what every job and every report asks must not walk or sort a history of any length.

use std::sync::Arc;

use super::metric::{self, Track};
use super::{head, job, job_output, report};
use crate::testing::ManualClock;
use crate::{Engine, Error, Query, Row, Store, StoreConfig, SystemEntropy, Value};

/// Keeps how a query would be answered, and answers nothing.
struct Plan<'a> {
    query: &'a mut dyn Query,
    steps: Vec<String>,
}

impl Query for Plan<'_> {
    fn engine(&self) -> Engine {
        self.query.engine()
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        let explained = format!("EXPLAIN QUERY PLAN {sql}");
        for row in self.query.query(&explained, params)? {
            self.steps.push(row.text(3)?.to_owned());
        }
        Ok(Vec::new())
    }
}

/// Checks that each of these beginnings is a step of the plan, that no table is walked, and how much is sorted at most.
fn check(ask: fn(&mut Plan<'_>) -> Result<(), Error>, steps: &[&str], sorts: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kiln.db");
    let clock = Arc::new(ManualClock::default());
    let config = StoreConfig::new(path.to_str().unwrap(), clock, Arc::new(SystemEntropy));
    let store = Store::open(&config).unwrap();
    let read = store.reader.read(move |query| {
        let mut plan = Plan {
            query,
            steps: Vec::new(),
        };
        ask(&mut plan)?;
        Ok::<_, Error>(plan.steps)
    });
    let found = read.wait().unwrap();
    for step in steps {
        assert!(found.iter().any(|line| line.starts_with(step)), "{found:?}");
    }
    let walks = |line: &String| line.starts_with("SCAN") && !line.contains(" INDEX ");
    assert!(!found.iter().any(walks), "{found:?}");
    let sorted: Vec<&String> = found
        .iter()
        .filter(|line| line.starts_with("USE TEMP B-TREE"))
        .collect();
    assert_eq!(sorted, sorts, "{found:?}");
}

const VERSIONS: &str = "SEARCH head_version USING COVERING INDEX";

#[test]
fn the_newest_reports_of_a_head_are_found_without_the_older_ones() {
    let ask = |query: &mut Plan<'_>| {
        let track = Track {
            head: 1,
            testbed: 1,
            spec: None,
            from: None,
            to: None,
            limit: 1,
        };
        metric::track(query, track).map(drop)
    };
    let reports = "SEARCH report USING INDEX index_report_version (version_id=? AND testbed_id=?)";
    // Only those of one version.
    let sorts = ["USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY"];
    check(ask, &[VERSIONS, reports], &sorts);
}

#[test]
fn the_reports_of_a_commit_are_found_by_it() {
    let ask = |query: &mut Plan<'_>| report::of_hash(query, 1, "abc").map(drop);
    let steps = [
        "SEARCH version USING COVERING INDEX index_version_git_hash",
        "SEARCH report USING INDEX index_report_version",
    ];
    check(ask, &steps, &["USE TEMP B-TREE FOR ORDER BY"]);
}

#[test]
fn the_newest_version_with_reports_is_found_without_the_older_ones() {
    let ask = |query: &mut Plan<'_>| report::of_newest_version(query, 1).map(drop);
    check(ask, &[VERSIONS], &["USE TEMP B-TREE FOR ORDER BY"]);
}

#[test]
fn the_newest_version_a_head_started_with_is_found_without_the_older_ones() {
    let ask = |query: &mut Plan<'_>| head::newest_version(query, 1).map(drop);
    check(ask, &[VERSIONS], &[]);
}

#[test]
fn the_jobs_a_runner_holds_are_found_without_its_past() {
    let ask = |query: &mut Plan<'_>| job::held_by(query, 1).map(drop);
    let steps = ["SEARCH job USING INDEX index_job_runner_in_flight"];
    check(ask, &steps, &["USE TEMP B-TREE FOR ORDER BY"]);
}

#[test]
fn whether_a_runner_holds_a_job_is_found_without_its_past() {
    let ask = |query: &mut Plan<'_>| job::is_held_by(query, 1).map(drop);
    let steps = ["SEARCH job USING INDEX index_job_runner_in_flight"];
    check(ask, &steps, &[]);
}

#[test]
fn live_actions_are_found_without_those_that_ended() {
    let ask = |query: &mut Plan<'_>| job::live_actions(query, None, 1).map(drop);
    check(ask, &["SCAN job USING INDEX index_job_live_actions"], &[]);
}

#[test]
fn outputs_that_may_leave_are_found_without_those_that_have_left() {
    let ask = |query: &mut Plan<'_>| job_output::resting(query, 1).map(drop);
    check(
        ask,
        &["SCAN job_output USING INDEX index_job_output_resting"],
        &[],
    );
}
