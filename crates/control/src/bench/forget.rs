//! A project's numbers go.

use kiln_store::sql::benchmark::Benchmark;
use kiln_store::sql::measure::Measure;
use kiln_store::sql::{dimension, plot};
use kiln_store::{Error, Tx};

/// Removes what a project measured, how it was judged, and how it was shown. Its reports stay, without numbers.
pub(crate) fn forget(tx: &mut dyn Tx, project: i64) -> Result<(), Error> {
    // Metrics, alerts and thresholds go with the measures they belong to.
    dimension::delete_all::<Measure>(tx, project)?;
    dimension::delete_all::<Benchmark>(tx, project)?;
    plot::delete_all(tx, project)
}
