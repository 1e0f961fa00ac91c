//! Measures as they appear in results: known ones have a name, units and a direction.

use kiln_insight::describe;
use kiln_model::{Entropy, MeasureUuid, Slug};
use kiln_store::Tx;
use kiln_store::sql::dimension;
use kiln_store::sql::measure::{self, Measure, NewMeasure};

use crate::Denied;

/// The measures that stock clients show by other names than results do, by their slugs.
const TITLES: [(&str, &str); 6] = [
    ("latency", "Latency"),
    ("throughput", "Throughput"),
    ("build-time", "Build Time"),
    ("file-size", "File Size"),
    ("instructions", "Instructions"),
    ("estimated-cycles", "Estimated Cycles"),
];

/// The measure that results call by this name: found by its slug or name, or made.
pub(super) fn ensure(
    tx: &mut dyn Tx,
    project: i64,
    name: &str,
    ids: &dyn Entropy,
) -> Result<Measure, Denied> {
    if let Some(found) = dimension::find_by_name::<Measure, _>(tx, project, name)? {
        return Ok(found);
    }
    let slug = Slug::suggest(name);
    let known = slug.as_ref().map_or(name, Slug::as_str);
    let title = TITLES.iter().find(|(slug, _)| *slug == known);
    // A unit in a name is read as it is written; a known measure is known in every spelling.
    let info = describe(title.map_or(name, |(slug, _)| slug));
    let new = NewMeasure {
        uuid: MeasureUuid::mint(tx.wall(), ids),
        name: title.map_or(name, |(_, title)| title).to_owned(),
        slug: title.and(slug),
        units: info.units.into_owned(),
        direction: info.direction.map(|direction| direction.to_string()),
    };
    measure::insert(tx, project, &new)?;
    dimension::find_by_name::<Measure, _>(tx, project, &new.name)?
        .ok_or(Denied::NotFound("measure"))
}
