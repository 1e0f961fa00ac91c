//! What is particular to benchmarks: how a run becomes a report and a job, and how output becomes a report's numbers.

mod process;
mod settings;
mod submit;

pub(crate) use process::output_key;
pub use process::{Parsed, keep, parse};
pub use settings::{BenchSettings, RunSettings};
pub use submit::{ResolveImage, Submission, Submitted, submit_run};
