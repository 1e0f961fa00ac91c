//! What is particular to benchmarks: how a run becomes a report and a job, and how output becomes a report's numbers.

mod branches;
mod compare;
mod forget;
mod history;
mod ids;
mod judges;
mod measures;
mod models;
mod perf;
mod plots;
mod process;
mod record;
mod report;
mod settings;
mod submit;
mod thresholds;

pub use branches::{begin, create_branch, start_branch};
pub use compare::{Compared, ComparedLine, compare_reports};
pub(crate) use forget::forget;
pub use ids::Ids;
pub use models::{check_model, given};
pub use perf::{Line, PerfQuery, Point, perf_lines};
pub use plots::{create_plot, place_plot};
pub(crate) use process::output_key;
pub use process::{Parsed, keep, parse};
pub use record::record;
pub use report::{NewResults, submit_report};
pub use settings::{BenchSettings, RunSettings};
pub use submit::{ResolveImage, Submission, Submitted, submit_run};
pub use thresholds::{apply_thresholds, create_threshold, update_threshold};
