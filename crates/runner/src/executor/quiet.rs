//! A host that is kept still, and the receipt that says how still it was.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_model::v0::{CoreSplit, NoiseProbe, NoiseReceipt};
use kiln_sandbox::quiet::{ProbeLength, Tuning, core_split, probe, warnings};

/// This host as its jobs find it.
#[derive(Clone, Debug)]
pub struct QuietHost {
    receipt: Arc<NoiseReceipt>,
    /// Kept until the last job is done.
    tuning: Option<Arc<Tuning>>,
}

impl QuietHost {
    /// A host that is left as it is; jobs are told how noisy it was.
    pub fn untouched() -> Self {
        Self {
            receipt: Arc::new(NoiseReceipt {
                warnings: warnings(),
                ..NoiseReceipt::default()
            }),
            tuning: None,
        }
    }

    /// A tuned host, whose cores are split between the system and jobs.
    pub fn tuned(tuning: Arc<Tuning>) -> Self {
        Self {
            receipt: Arc::new(NoiseReceipt {
                knobs: tuning.knobs().to_vec(),
                cores: tuning.cores().cloned().or_else(core_split),
                warnings: warnings(),
                ..NoiseReceipt::default()
            }),
            tuning: Some(tuning),
        }
    }

    /// The cores that belong to jobs alone; none if they are not split.
    pub fn benchmark_cores(&self) -> Vec<u32> {
        self.cores()
            .map_or_else(Vec::new, |cores| cores.benchmark.clone())
    }

    /// The control group that has them to itself, where there is one.
    pub fn partition(&self) -> Option<PathBuf> {
        self.tuning.as_ref().and_then(|tuning| tuning.partition())
    }

    pub fn cores(&self) -> Option<&CoreSplit> {
        self.receipt.cores.as_ref()
    }

    /// The receipt so far, with a look at the host before the job.
    pub(super) fn look_before(&self) -> NoiseReceipt {
        NoiseReceipt {
            before: Some(self.probe()),
            ..NoiseReceipt::clone(&self.receipt)
        }
    }

    /// Completes the receipt after the job.
    pub(super) fn look_after(&self, receipt: &mut NoiseReceipt) {
        receipt.after = Some(self.probe());
    }

    fn probe(&self) -> NoiseProbe {
        probe(
            ProbeLength::Short,
            &self.benchmark_cores(),
            self.partition().as_deref(),
        )
    }
}
