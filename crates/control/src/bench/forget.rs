//! A project's numbers go, a slice at a time.

use kiln_store::Tx;
use kiln_store::sql::numbers;

use crate::Denied;
use crate::tasks::{self, Task};

/// Few enough that nobody who writes meanwhile has to wait for long.
const SLICE: i64 = 5_000;

/// Removes what a project measured, how it was judged, and how it was shown: the first slice now and the rest by and by. Its
/// reports stay, without numbers.
pub(crate) fn forget(tx: &mut dyn Tx, project: i64) -> Result<(), Denied> {
    if numbers::delete_some(tx, project, SLICE)? {
        tasks::send(tx, &Task::ForgetNumbers { project })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kiln_model::{Millis, OrganizationUuid, ProjectUuid, ReportUuid};
    use kiln_store::testing::SeededEntropy;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::bench::{NewResults, submit_report};
    use crate::projects::{OnTheFly, create_on_the_fly};
    use crate::testing::World;

    fn metrics(tx: &mut dyn Tx) -> Result<i64, Denied> {
        let row = tx.query_one("SELECT COUNT(*) FROM metric", &[])?;
        Ok(row.unwrap().get(0)?)
    }

    /// A project with one report of so many benchmarks.
    fn measured(tx: &mut dyn Tx, benchmarks: i64) -> Result<i64, Denied> {
        let entropy = SeededEntropy::new(1);
        let ids = OnTheFly {
            project: ProjectUuid::mint(Millis(1), &entropy),
            organization: OrganizationUuid::mint(Millis(1), &entropy),
        };
        let project = create_on_the_fly(tx, &"large".parse().unwrap(), ids, None)?;
        let results: Map<String, Value> = (0..benchmarks)
            .map(|number| (format!("b{number}"), json!({"latency": {"value": number}})))
            .collect();
        let new = json!({
            "branch": "main", "testbed": "host",
            "start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:17Z",
            "results": [Value::Object(results).to_string()],
        });
        let report = ReportUuid::mint(Millis(1), &entropy);
        let results = NewResults::read(report, None, serde_json::from_value(new).unwrap())?;
        submit_report(tx, project.id, &results)?;
        Ok(project.id)
    }

    #[test]
    fn more_numbers_than_a_slice_go_by_and_by() {
        let world = World::new();
        let left = world.write(|tx| {
            let project = measured(tx, SLICE + 7)?;
            forget(tx, project)?;
            metrics(tx)
        });
        assert_eq!(left, 7);
        world.tick();
        assert_eq!(world.write(metrics), 0);
        let rows = world.write(|tx| {
            let row = tx.query_one("SELECT COUNT(*) FROM benchmark", &[])?;
            Ok(row.unwrap().get::<i64>(0)?)
        });
        assert_eq!(rows, 0);
    }
}
