//! Thresholds: from the history of a benchmark to the boundary that its next metric must not cross.

mod boundary;
mod direction;
mod discovery;
mod ending;
mod judge;
mod model;
mod pattern;
mod test;

pub use boundary::Boundary;
pub use direction::{Direction, UnknownDirection};
pub use discovery::discoveries;
pub use ending::without_ending;
pub use judge::{Crossing, Judged, Limit, judge};
pub use model::{InvalidModel, Model, Rules};
pub use pattern::{InvalidPattern, Pattern};
pub use test::{Test, UnknownTest};
