//! Results that the runner measures itself: how long the command took, and how large its files are.
//!
//! They come as one Bencher Metric Format document in place of the files, under a key that no path can have.

use kiln_sandbox::{CollectedFile, Exit, FileOutcome};
use serde_json::{Map, Value, json};

use super::task::Task;

/// Where stock servers look for the document.
pub(super) const KEY: &str = "\0bencher";

/// The document of one iteration, if the job asks for one.
pub(super) fn document(task: &Task, exit: &Exit) -> Option<String> {
    if task.build_time.is_none() && !task.file_size {
        return None;
    }
    let mut benchmarks = Map::new();
    if let Some(name) = &task.build_time {
        let seconds = exit.usage.elapsed.as_secs_f64();
        benchmarks.insert(name.clone(), json!({"build-time": {"value": seconds}}));
    }
    if task.file_size {
        for file in &exit.files {
            if let Some(size) = size(file) {
                benchmarks.insert(file.path.clone(), json!({"file-size": {"value": size}}));
            }
        }
    }
    Some(Value::Object(benchmarks).to_string())
}

fn size(file: &CollectedFile) -> Option<u64> {
    match &file.outcome {
        FileOutcome::Whole => Some(file.bytes.len() as u64),
        FileOutcome::Truncated { size } => Some(*size),
        FileOutcome::Missing | FileOutcome::Refused { .. } => None,
    }
}
