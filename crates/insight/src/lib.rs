#![doc = include_str!("../README.md")]

mod adapters;
mod change_points;
mod compare;
mod fold;
mod iterations;
pub mod limits;
mod measure;
mod metric;
mod name;
mod paired;
mod parse;
pub mod plot;
mod reader;
mod results;
mod statistics;
pub mod threshold;
mod verdict;

pub use change_points::{ChangePoint, ChangeSettings, Settled, change_points, grow_change_points};
pub use compare::{CompareSettings, Comparison, compare};
pub use fold::{Fold, UnknownFold, fold};
pub use iterations::{UnreadableResult, read_all, result_texts};
pub use kiln_model::v0::{Adapter, UnknownAdapter};
pub use measure::{MeasureInfo, describe};
pub use metric::{Metric, NotFinite};
pub use name::{BenchmarkName, InvalidBenchmarkName};
pub use paired::{
    Line, LineReport, NotPositive, Paired, PairedReport, PairedSettings, Side, TURNS_OF_A_BLOCK,
    Turns, TurnsSettings, self_check, side_of_turn,
};
pub use parse::{Attempt, Average, ParseError, Settings, UnknownAverage, parse, parse_bytes};
pub use results::{Measures, Refused, Results};
pub use verdict::Verdict;
