//! What a sandbox tells about a run, in the words that travel with the result.

use std::time::Duration;

use kiln_model::v0::{Ended, IterationUsage, SealedLayer};
use kiln_sandbox::Outcome;

/// How one iteration ended, and what it used.
pub(super) fn usage(exit: &kiln_sandbox::Exit) -> IterationUsage {
    let usage = &exit.usage;
    let (ended, signal) = match exit.outcome {
        Outcome::Exited(_) => (Ended::Exited, None),
        Outcome::Signaled(signal) => (Ended::Signaled, Some(signal)),
        Outcome::TimedOut => (Ended::TimedOut, None),
        Outcome::Canceled => (Ended::Canceled, None),
        Outcome::OutOfMemory => (Ended::OutOfMemory, None),
        Outcome::DiskFull(_) => (Ended::DiskFull, None),
    };
    IterationUsage {
        ended: Some(ended),
        signal,
        wall_us: micros(usage.elapsed),
        user_us: micros(usage.user),
        system_us: micros(usage.system),
        peak_resident_bytes: usage.peak_resident_bytes,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        peak_memory_bytes: usage.peak_memory_bytes,
        throttled_us: usage.throttled.map(micros),
        oom_kills: usage.oom_kills,
        steal_us: usage.steal.map(micros),
        pressure: usage.pressure,
        frequency: usage.frequency,
        cpu_samples: usage.cpu_samples.clone(),
    }
}

/// How the chamber was sealed.
pub(super) fn layers(exit: &kiln_sandbox::Exit) -> Vec<SealedLayer> {
    let layers = exit.sealed.layers.iter();
    layers
        .map(|layer| SealedLayer {
            name: layer.name.clone(),
            applied: layer.applied,
            detail: layer.detail.clone(),
        })
        .collect()
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
