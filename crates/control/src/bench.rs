//! What is particular to benchmarks: how a run becomes a report and a job, and how output becomes a report's numbers.

mod image;
mod process;
mod retry;
mod settings;
mod submit;
mod tier;
mod work;

pub use image::{ImageReference, ImageVersion};
pub(crate) use process::output_key;
pub use process::{Parsed, keep, parse};
pub use retry::{RetryRun, retry_run};
pub use settings::{BenchSettings, RunSettings};
pub use submit::{ResolveImage, Submission, Submitted, submit_run};
pub use tier::Tier;
pub use work::Work;
