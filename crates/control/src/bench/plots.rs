//! Plots that a project keeps, in an order of its own.

use kiln_model::v0::NewPlot;
use kiln_model::{Entropy, PlotUuid};
use kiln_store::Tx;
use kiln_store::sql::benchmark::Benchmark;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::dimension::{self, Dimension};
use kiln_store::sql::measure::Measure;
use kiln_store::sql::plot::{self, Plot};
use kiln_store::sql::testbed::Testbed;

use crate::Denied;

/// How far apart plots are put, so that others fit in between.
const GAP: i64 = 1 << 20;

pub fn create_plot(
    tx: &mut dyn Tx,
    project: i64,
    new: &NewPlot,
    ids: &dyn Entropy,
) -> Result<Plot, Denied> {
    if !["date_time", "version"].contains(&new.x_axis.as_str()) {
        return Err(Denied::Invalid(
            "`x_axis` is date_time or version".to_owned(),
        ));
    }
    if !["auto", "linear", "log"].contains(&new.y_axis.as_str()) {
        return Err(Denied::Invalid(
            "`y_axis` is auto, linear or log".to_owned(),
        ));
    }
    let wall = tx.wall();
    let row = Plot {
        id: 0,
        uuid: PlotUuid::mint(wall, ids),
        title: new.title.clone(),
        place: place_plot(tx, project, new.index.unwrap_or(u8::MAX))?,
        lower_value: new.lower_value,
        upper_value: new.upper_value,
        lower_boundary: new.lower_boundary,
        upper_boundary: new.upper_boundary,
        x_axis: new.x_axis.clone(),
        y_axis: new.y_axis.clone(),
        window: new.window,
        branches: list::<Branch, _>(tx, project, &new.branches)?,
        testbeds: list::<Testbed, _>(tx, project, &new.testbeds)?,
        benchmarks: list::<Benchmark, _>(tx, project, &new.benchmarks)?,
        measures: list::<Measure, _>(tx, project, &new.measures)?,
        created: wall,
        modified: wall,
    };
    plot::insert(tx, project, &row)?;
    Ok(row)
}

/// A place that stands at `index` among the plots there are, or at the end. Where two neighbours have no room between them, all
/// are moved apart.
pub fn place_plot(tx: &mut dyn Tx, project: i64, index: u8) -> Result<i64, Denied> {
    let index = usize::from(index);
    let mut places = plot::places(tx, project)?;
    if let Some(place) = between(&places, index) {
        return Ok(place);
    }
    let mut next = 0;
    for (id, place) in &mut places {
        next += GAP;
        *place = next;
        plot::set_place(tx, *id, next)?;
    }
    between(&places, index).ok_or(Denied::Raced)
}

fn between(places: &[(i64, i64)], index: usize) -> Option<i64> {
    let index = index.min(places.len());
    let before = index.checked_sub(1).and_then(|index| places.get(index));
    match (before, places.get(index)) {
        (None, None) => Some(0),
        (Some((_, before)), None) => before.checked_add(GAP),
        (None, Some((_, after))) => after.checked_sub(GAP),
        (Some((_, before)), Some((_, after))) => {
            let middle = i64::midpoint(*before, *after);
            (middle > *before && middle < *after).then_some(middle)
        }
    }
}

/// A list of UUIDs, each of which the project has; an empty one is refused.
fn list<D: Dimension, U: ToString + serde::Serialize>(
    tx: &mut dyn Tx,
    project: i64,
    uuids: &[U],
) -> Result<String, Denied> {
    if uuids.is_empty() {
        return Err(Denied::Invalid(format!(
            "a plot needs at least one {}",
            D::KIND
        )));
    }
    for uuid in uuids {
        dimension::find_by_ref::<D, _>(tx, project, &uuid.to_string())?
            .ok_or(Denied::NotFound(D::KIND))?;
    }
    Ok(serde_json::to_string(uuids).expect("a list of UUIDs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_finds_its_place_at_either_end_or_between() {
        let places = [(1, 0), (2, 10)];
        assert_eq!(between(&[], 0), Some(0));
        assert_eq!(between(&places, 0), Some(-GAP));
        assert_eq!(between(&places, 1), Some(5));
        assert_eq!(between(&places, 9), Some(10 + GAP));
        assert_eq!(between(&[(1, 4), (2, 5)], 1), None);
    }
}
