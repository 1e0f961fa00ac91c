//! Measures as they appear in results: known ones have a name, units and a direction.

use kiln_insight::threshold::Direction;
use kiln_model::{Entropy, MeasureUuid, Slug};
use kiln_store::Tx;
use kiln_store::sql::dimension;
use kiln_store::sql::measure::{self, Measure, NewMeasure};

use crate::Denied;

struct Known {
    slug: &'static str,
    name: &'static str,
    units: &'static str,
    direction: Direction,
}

/// The measures that stock clients know by these names.
const KNOWN: [Known; 6] = [
    known(
        "latency",
        "Latency",
        "nanoseconds (ns)",
        Direction::SmallerIsBetter,
    ),
    known(
        "throughput",
        "Throughput",
        "operations / second (ops/s)",
        Direction::LargerIsBetter,
    ),
    known(
        "build-time",
        "Build Time",
        "seconds (s)",
        Direction::SmallerIsBetter,
    ),
    known(
        "file-size",
        "File Size",
        "bytes (B)",
        Direction::SmallerIsBetter,
    ),
    known(
        "instructions",
        "Instructions",
        "instructions",
        Direction::SmallerIsBetter,
    ),
    known(
        "estimated-cycles",
        "Estimated Cycles",
        "estimated cycles",
        Direction::SmallerIsBetter,
    ),
];

/// What a measure that nobody described is counted in.
const UNKNOWN_UNITS: &str = "units";

const fn known(
    slug: &'static str,
    name: &'static str,
    units: &'static str,
    direction: Direction,
) -> Known {
    Known {
        slug,
        name,
        units,
        direction,
    }
}

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
    let known = slug
        .as_ref()
        .and_then(|slug| KNOWN.iter().find(|known| known.slug == slug.as_str()));
    let new = NewMeasure {
        uuid: MeasureUuid::mint(tx.wall(), ids),
        name: known.map_or(name, |known| known.name).to_owned(),
        slug: known.and(slug),
        units: known.map_or(UNKNOWN_UNITS, |known| known.units).to_owned(),
        direction: known.map(|known| known.direction.to_string()),
    };
    measure::insert(tx, project, &new)?;
    dimension::find_by_name::<Measure, _>(tx, project, &new.name)?
        .ok_or(Denied::NotFound("measure"))
}
