//! A seed is a world of jobs and a world of the kernel.

use crate::outcome::Outcome;
use crate::world::Options;
use crate::{kernel, world};

/// Runs both worlds of a seed, the second only if the first kept its promises.
pub fn run(seed: u64, options: Options) -> Outcome {
    let jobs = world::run(seed, options);
    if jobs.violation.is_some() {
        return jobs;
    }
    let kernel = kernel::run(seed, options);
    let both = |one: Vec<String>, other: Vec<String>| one.into_iter().chain(other).collect();
    Outcome {
        seed,
        steps: jobs.steps + kernel.steps,
        faults: jobs.faults + kernel.faults,
        hash: jobs.hash.rotate_left(1) ^ kernel.hash,
        trace: if options.verbose {
            both(jobs.trace, kernel.trace)
        } else {
            kernel.trace
        },
        violation: kernel.violation,
    }
}
