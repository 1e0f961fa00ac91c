#![doc = include_str!("../README.md")]

mod adapter;
mod adapters;
mod fold;
mod iterations;
pub mod limits;
mod metric;
mod name;
mod parse;
mod results;

pub use adapter::{Adapter, UnknownAdapter};
pub use fold::{Fold, UnknownFold, fold};
pub use iterations::{UnreadableResult, read_all, result_texts};
pub use metric::{Metric, NotFinite};
pub use name::{BenchmarkName, InvalidBenchmarkName};
pub use parse::{Attempt, Average, ParseError, Settings, UnknownAverage, parse};
pub use results::{Measures, Refused, Results};
