#![doc = include_str!("../README.md")]

mod adapters;
mod fold;
mod iterations;
pub mod limits;
mod measure;
mod metric;
mod name;
mod parse;
mod reader;
mod results;

pub use fold::{Fold, UnknownFold, fold};
pub use iterations::{UnreadableResult, read_all, result_texts};
pub use kiln_model::v0::{Adapter, UnknownAdapter};
pub use measure::{Direction, MeasureInfo, describe};
pub use metric::{Metric, NotFinite};
pub use name::{BenchmarkName, InvalidBenchmarkName};
pub use parse::{Attempt, Average, ParseError, Settings, UnknownAverage, parse, parse_bytes};
pub use results::{Measures, Refused, Results};
