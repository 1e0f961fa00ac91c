//! A host that is kept still, and the receipt that says how still it was.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_model::v0::{CoreSplit, NoiseProbe, NoiseReceipt};
use kiln_sandbox::ChamberSpec;
use kiln_sandbox::quiet::{ProbeLength, Tuning, core_split, probe, warnings};

/// This host as its jobs find it.
#[derive(Clone, Debug)]
pub struct QuietHost {
    receipt: Arc<NoiseReceipt>,
    /// The control group that has the benchmark cores to itself, where there is one.
    partition: Option<PathBuf>,
    /// Kept until the last job is done.
    _tuning: Option<Arc<Tuning>>,
}

impl QuietHost {
    /// A host that is left as it is; jobs are told how noisy it was.
    pub fn untouched() -> Self {
        Self {
            receipt: Arc::new(NoiseReceipt {
                warnings: warnings(),
                ..NoiseReceipt::default()
            }),
            partition: None,
            _tuning: None,
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
            partition: tuning.partition(),
            _tuning: Some(tuning),
        }
    }

    /// Lets a chamber run on the cores of jobs. Where those are a partition, nobody can be on them without being in its group.
    pub(super) fn place(&self, chamber: &mut ChamberSpec) {
        chamber.cores = self.benchmark_cores();
        chamber.partition.clone_from(&self.partition);
    }

    /// The cores that belong to jobs alone; none if they are not split.
    fn benchmark_cores(&self) -> Vec<u32> {
        self.cores()
            .map_or_else(Vec::new, |cores| cores.benchmark.clone())
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
            self.partition.as_deref(),
        )
    }
}

#[cfg(test)]
impl QuietHost {
    /// A host that is said to have its cores split like this.
    pub(super) fn split(cores: CoreSplit, partition: Option<PathBuf>) -> Self {
        let receipt = NoiseReceipt {
            cores: Some(cores),
            ..NoiseReceipt::default()
        };
        Self {
            receipt: Arc::new(receipt),
            partition,
            _tuning: None,
        }
    }
}
