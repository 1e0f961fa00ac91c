//! Projects end.

use kiln_model::v0::Permission;
use kiln_store::Tx;
use kiln_store::sql::project::{self, Project};

use crate::access::{self, Caller};
use crate::{Denied, audit, bench, jobs};

/// Cancels the live jobs of a project, hides it, and removes its numbers, of which many go by and by. Its reports and jobs are
/// kept; its slug is free again.
pub fn delete_project(tx: &mut dyn Tx, caller: &Caller, reference: &str) -> Result<(), Denied> {
    let found = access::project(tx, caller, reference, Permission::Delete)?;
    delete(tx, caller, &found)
}

pub(crate) fn delete(tx: &mut dyn Tx, caller: &Caller, found: &Project) -> Result<(), Denied> {
    let actor = caller.actor();
    for job in project::live_jobs(tx, found.id)? {
        match jobs::cancel(tx, job, &actor) {
            // It ended by itself in between, which is as good.
            Ok(_) | Err(Denied::Ended(_)) => {}
            Err(denied) => return Err(denied),
        }
    }
    bench::forget(tx, found.id)?;
    project::delete(tx, found.id)?;
    audit::record(tx, caller, "project.delete", "project", found.uuid)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use kiln_model::{Millis, OrganizationUuid, ProjectUuid, ReportUuid};
    use kiln_store::sql::benchmark::Benchmark;
    use kiln_store::sql::branch::Branch;
    use kiln_store::sql::dimension;
    use kiln_store::sql::measure::Measure;
    use kiln_store::sql::testbed::Testbed;
    use kiln_store::testing::SeededEntropy;
    use serde_json::json;

    use super::*;
    use crate::bench::{Ids, NewResults, create_plot, submit_report};
    use crate::projects::{OnTheFly, create_on_the_fly};
    use crate::testing::World;

    const NUMBERS: [&str; 7] = [
        "benchmark",
        "measure",
        "metric",
        "plot",
        "series",
        "threshold",
        "threshold_model",
    ];

    fn rows(tx: &mut dyn Tx) -> Result<Vec<(&'static str, i64)>, Denied> {
        let count = |table: &'static str| {
            let row = tx.query_one(&format!("SELECT COUNT(*) FROM {table}"), &[])?;
            Ok((table, row.unwrap().get(0)?))
        };
        NUMBERS.into_iter().map(count).collect()
    }

    /// A project with a report, a threshold and a plot.
    fn measured(tx: &mut dyn Tx, slug: &str, seed: u64) -> Result<Project, Denied> {
        let entropy = SeededEntropy::new(seed);
        let ids = OnTheFly {
            project: ProjectUuid::mint(Millis(1), &entropy),
            organization: OrganizationUuid::mint(Millis(1), &entropy),
        };
        let project = create_on_the_fly(tx, &slug.parse().unwrap(), ids, None)?;
        let new = json!({
            "branch": "main", "testbed": "host",
            "start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:17Z",
            "results": [r#"{"adder": {"latency": {"value": 88}}}"#],
            "thresholds": {"models": {"latency": {"test": "static", "upper_boundary": 1}}},
        });
        let report = ReportUuid::mint(Millis(1), &entropy);
        let results = NewResults::read(report, None, serde_json::from_value(new).unwrap())?;
        submit_report(tx, project.id, &results)?;
        let new = json!({
            "lower_value": false, "upper_value": false, "lower_boundary": false, "upper_boundary": false,
            "x_axis": "version", "window": 1,
            "branches": [dimension::find_by_name::<Branch, _>(tx, project.id, "main")?.unwrap().uuid],
            "testbeds": [dimension::find_by_name::<Testbed, _>(tx, project.id, "host")?.unwrap().uuid],
            "benchmarks": [dimension::find_by_name::<Benchmark, _>(tx, project.id, "adder")?.unwrap().uuid],
            "measures": [dimension::find_by_name::<Measure, _>(tx, project.id, "latency")?.unwrap().uuid],
        });
        let ids = Ids::new(slug);
        create_plot(tx, project.id, &serde_json::from_value(new).unwrap(), &ids)?;
        Ok(project)
    }

    #[test]
    fn a_deleted_project_loses_its_numbers_and_no_other_does() {
        let world = World::new();
        let (one, both, after) = world.write(|tx| {
            measured(tx, "stays", 1)?;
            let one = rows(tx)?;
            let goes = measured(tx, "goes", 2)?;
            let both = rows(tx)?;
            delete(tx, &Caller::Anonymous, &goes)?;
            Ok((one, both, rows(tx)?))
        });
        assert!(one.iter().all(|(_, count)| *count == 1), "{one:?}");
        assert!(both.iter().all(|(_, count)| *count == 2), "{both:?}");
        assert_eq!(after, one);
    }
}
