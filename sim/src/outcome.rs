//! How a world ended.

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the invariant, as in the module `invariants`.
    pub invariant: &'static str,
    pub detail: String,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, detail: impl Into<String>) -> Self {
        Self {
            invariant,
            detail: detail.into(),
        }
    }
}

/// One seed, run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub seed: u64,
    pub steps: u64,
    pub faults: u64,
    /// Equal for two runs of one seed with one code.
    pub hash: u64,
    pub violation: Option<Violation>,
    /// The last lines of what happened, or all of them when they were asked for.
    pub trace: Vec<String>,
}

impl Outcome {
    /// Everything a person needs to look into a failure.
    pub fn describe(&self) -> Option<String> {
        let violation = self.violation.as_ref()?;
        Some(format!(
            "{}\n\nseed {} breaks {} at step {}: {}\nreplay it: cargo xtask sim --replay {}",
            self.trace.join("\n"),
            self.seed,
            violation.invariant,
            self.steps,
            violation.detail,
            self.seed
        ))
    }
}
