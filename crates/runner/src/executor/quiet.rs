//! A host that is kept still, and the receipt that says how still it was.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kiln_model::v0::{CoreSplit, IterationUsage, Knob, KnobState, NoiseProbe, NoiseReceipt};
use kiln_sandbox::ChamberSpec;
use kiln_sandbox::quiet::{
    Lifted, PARTITION, ProbeLength, Tuning, pin_this_thread, probe, usable_cores, warnings,
};

/// This host as its jobs find it.
#[derive(Clone, Debug)]
pub struct QuietHost {
    receipt: Arc<NoiseReceipt>,
    /// The control group that has the benchmark cores to itself, where there is one.
    partition: Option<PathBuf>,
    /// Kept until the last job is done.
    tuning: Option<Arc<Tuning>>,
}

/// Where a job runs: anywhere, unless told otherwise.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Which cores are the system's and which are the job's; none where nobody keeps to any.
    cores: Option<CoreSplit>,
    partition: Option<PathBuf>,
    /// What about this place disturbs the job.
    trouble: Vec<String>,
    /// Kept until the job is done.
    lifted: Option<Lifted>,
}

impl QuietHost {
    /// A host that is left as it is; jobs are told how noisy it was.
    pub fn untouched() -> Self {
        Self {
            receipt: Arc::new(NoiseReceipt {
                warnings: warnings(None),
                ..NoiseReceipt::default()
            }),
            partition: None,
            tuning: None,
        }
    }

    /// A host whose settings are left, while this process keeps to the housekeeping cores and jobs to the others.
    pub fn pinned(cores: CoreSplit) -> Self {
        Self {
            receipt: Arc::new(NoiseReceipt {
                warnings: warnings(Some(&cores)),
                cores: Some(cores),
                ..NoiseReceipt::default()
            }),
            partition: None,
            tuning: None,
        }
    }

    /// A tuned host, whose cores are split between the system and jobs.
    pub fn tuned(tuning: Arc<Tuning>) -> Self {
        Self {
            receipt: Arc::new(NoiseReceipt {
                knobs: tuning.knobs().to_vec(),
                cores: tuning.cores().cloned(),
                warnings: warnings(tuning.cores()),
                ..NoiseReceipt::default()
            }),
            partition: tuning.partition(),
            tuning: Some(tuning),
        }
    }

    pub fn cores(&self) -> Option<&CoreSplit> {
        self.receipt.cores.as_ref()
    }

    /// A place for a job of so many CPUs: the benchmark cores, or every core when those are too few. Nobody gets less than was
    /// promised.
    pub(super) fn place(&self, cpus: u32) -> io::Result<Place> {
        let Some(cores) = self.cores() else {
            return Ok(Place::default());
        };
        if cores.benchmark.len() >= usize::try_from(cpus).unwrap_or(usize::MAX) {
            return Ok(Place {
                cores: Some(cores.clone()),
                partition: self.partition.clone(),
                ..Place::default()
            });
        }
        let lifted = self.tuning.as_ref().map(Tuning::lift_partition);
        let few = cores.benchmark.len();
        Ok(Place {
            cores: Some(CoreSplit {
                housekeeping: cores.housekeeping.clone(),
                benchmark: every(cores),
            }),
            partition: None,
            trouble: vec![format!(
                "the job has {cpus} CPUs and this host {few} benchmark cores: it runs on every core, beside the system"
            )],
            lifted: lifted.transpose()?,
        })
    }

    /// The receipt so far, with a look at the host before the job.
    pub(super) fn look_before(&self, place: &Place) -> NoiseReceipt {
        let mut receipt = NoiseReceipt::clone(&self.receipt);
        let changed = self.read_knobs(&mut receipt);
        // Not what we have lifted ourselves, for this job.
        let changed = changed.filter(|knob| place.lifted.is_none() || knob.name != PARTITION);
        let before = changed.map(|knob| format!("{} before the job: {}", knob.name, knob.detail));
        receipt.interference = before.collect();
        receipt.cores.clone_from(&place.cores);
        receipt.warnings.extend(place.trouble.iter().cloned());
        receipt.before = Some(place.probe());
        receipt
    }

    /// Completes the receipt after the job, with what its iterations tell.
    pub(super) fn look_after(
        &self,
        place: &Place,
        iterations: &[IterationUsage],
        receipt: &mut NoiseReceipt,
    ) {
        receipt.after = Some(place.probe());
        let changed = self.read_knobs(receipt);
        let meanwhile = changed.map(|knob| format!("{} meanwhile: {}", knob.name, knob.detail));
        let meanwhile: Vec<String> = meanwhile.collect();
        receipt.interference.extend(meanwhile);
        let stolen: u64 = iterations.iter().filter_map(|usage| usage.steal_us).sum();
        if stolen > 0 {
            let stolen = format!("a hypervisor took {stolen} us from this host's cores meanwhile");
            receipt.interference.push(stolen);
        }
    }

    /// Reads the knobs again. Those that were in effect and are not any more.
    fn read_knobs(&self, receipt: &mut NoiseReceipt) -> impl Iterator<Item = Knob> + use<> {
        let now = self.tuning.as_ref().map(|tuning| tuning.look());
        let before = std::mem::take(&mut receipt.knobs);
        let mut changed = Vec::new();
        receipt.knobs = match now {
            None => before,
            Some(now) => before
                .into_iter()
                .zip(now)
                .map(|(before, now)| {
                    if before.state != KnobState::InEffect {
                        return before;
                    }
                    if now.state != KnobState::InEffect {
                        changed.push(now.clone());
                    }
                    now
                })
                .collect(),
        };
        changed.into_iter()
    }

    /// Does what no job is measured beside, such as unpacking an image, on every core.
    pub(super) fn on_every_core<T>(&self, act: impl FnOnce() -> T) -> T {
        let Some(cores) = self.cores() else {
            return act();
        };
        let before = usable_cores();
        // Without it, it takes longer.
        let _ = pin_this_thread(&every(cores));
        let done = act();
        if let Ok(before) = before {
            let _ = pin_this_thread(&before);
        }
        done
    }
}

impl Place {
    /// Lets a chamber run here. Where the cores are a partition, nobody can be on them without being in its group.
    pub(super) fn settle(&self, chamber: &mut ChamberSpec) {
        chamber.cores = self.job_cores().to_vec();
        chamber.partition.clone_from(&self.partition);
    }

    fn job_cores(&self) -> &[u32] {
        self.cores.as_ref().map_or(&[], |cores| &cores.benchmark)
    }

    fn probe(&self) -> NoiseProbe {
        probe(
            ProbeLength::Short,
            self.job_cores(),
            self.partition.as_deref(),
        )
    }
}

fn every(cores: &CoreSplit) -> Vec<u32> {
    [&cores.housekeeping[..], &cores.benchmark].concat()
}

#[cfg(test)]
impl QuietHost {
    /// A host that is said to have its cores split like this.
    pub(super) fn split(cores: CoreSplit, partition: Option<PathBuf>) -> Self {
        Self {
            partition,
            ..Self::pinned(cores)
        }
    }
}
