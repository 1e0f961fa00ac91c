//! Making a host quiet, and putting it back as it was.

mod lifted;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kiln_model::v0::{CoreSplit, Knob, KnobState};
use rustix::fs::{FlockOperation, flock};

use super::cores::core_split;
use super::files::{HostFiles, chosen, exists};
use super::interrupts::{Steering, list, steering};
use super::journal::{self, Journal};
use super::knobs::{KNOBS, KnobFile, Place};
use super::latency::hold_awake;
use super::partition::{ORDINARY, Partition, kinds_from};
use super::plan::{INTERRUPTS, LATENCY, PARTITION, TuningPlan};
use super::watched::{Same, Watched, same_choice};

pub use lifted::Lifted;

/// Two processes that tune one host would each take the other's settings for the original ones.
const LOCK: &str = "/run/kiln-tuning.lock";

/// One for the host, wherever its runners have their data: the next one finds it. Like the settings it does not survive a boot.
const JOURNAL: &str = "/run/kiln-tuning.journal";

/// Where earlier versions had it, in a runner's own directory.
const EARLIER_JOURNAL: &str = "tuning.journal";

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuningError {
    #[error("another process tunes this host")]
    InUse,
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// A tuned host. Dropping it puts everything back.
#[derive(Debug)]
pub struct Tuning {
    files: HostFiles,
    knobs: Vec<Knob>,
    /// What is in effect, to be read again.
    watched: Vec<Watched>,
    cores: Option<CoreSplit>,
    partition: Option<Partition>,
    /// How many jobs need more cores than the partition has.
    lifted: Mutex<u32>,
    /// Nothing once everything is put back.
    held: Mutex<Option<Held>>,
}

/// What a tuned host is put back with.
#[derive(Debug)]
struct Held {
    journal: Journal,
    /// Closing it lets CPUs sleep again.
    awake: Option<File>,
    /// Closed last: from then on another process may tune this host.
    _lock: File,
}

/// Puts back what a killed process of ours left changed, as the host's journal tells, or that of an earlier version in this
/// directory. Returns how many settings that were. What a living process has changed is [`TuningError::InUse`] and stays.
pub fn undo(directory: &Path) -> Result<usize, TuningError> {
    undo_on(&HostFiles::new("/"), directory)
}

fn undo_on(files: &HostFiles, directory: &Path) -> Result<usize, TuningError> {
    if !journals(files, directory).iter().any(|path| exists(path)) {
        return Ok(0);
    }
    // Whoever tunes holds it as long as the journal is of use.
    let _lock = lock(&files.path(LOCK))?;
    undo_journals(files, directory)
}

/// The latest first: what it tells was made over what the other does.
fn journals(files: &HostFiles, directory: &Path) -> [PathBuf; 2] {
    [files.path(JOURNAL), directory.join(EARLIER_JOURNAL)]
}

/// For who holds the lock.
fn undo_journals(files: &HostFiles, directory: &Path) -> Result<usize, TuningError> {
    let mut undone = 0;
    for path in journals(files, directory) {
        undone += journal::undo(&path, files).map_err(|source| TuningError::Io {
            action: "undo the changes in",
            path,
            source,
        })?;
    }
    Ok(undone)
}

impl Tuning {
    /// Makes this host quiet. What an earlier process left changed is put back first, also one of an earlier version with its
    /// journal in `directory`. The cores that are split are those that this thread may use.
    pub fn apply(plan: &TuningPlan, directory: &Path) -> Result<Self, TuningError> {
        Self::apply_to(HostFiles::new("/"), plan, directory, core_split)
    }

    pub(super) fn apply_to(
        files: HostFiles,
        plan: &TuningPlan,
        directory: &Path,
        split: impl FnOnce() -> Option<CoreSplit>,
    ) -> Result<Self, TuningError> {
        let lock = lock(&files.path(LOCK))?;
        undo_journals(&files, directory)?;
        let path = files.path(JOURNAL);
        let journal = Journal::begin(&path, &files).map_err(|source| TuningError::Io {
            action: "begin the journal",
            path,
            source,
        })?;
        let mut tuning = Self {
            files,
            knobs: Vec::new(),
            watched: Vec::new(),
            cores: None,
            partition: None,
            lifted: Mutex::new(0),
            held: Mutex::new(Some(Held {
                journal,
                awake: None,
                _lock: lock,
            })),
        };
        for knob in KNOBS {
            tuning.turn(knob, plan);
        }
        // Only now is it known which CPUs are there. Some of them may be others' alone.
        tuning.cores = split();
        tuning.steer(plan);
        tuning.set_apart(plan);
        tuning.stay_awake(plan);
        Ok(tuning)
    }

    /// Each setting, and whether it was in effect when it was made.
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// Each setting, and whether it is in effect now: others of this host can change them too.
    pub fn look(&self) -> Vec<Knob> {
        let mut knobs = self.knobs.clone();
        for knob in &mut knobs {
            let mut of_it = self.watched.iter().filter(|file| file.knob == knob.name);
            if let Some(trouble) = of_it.find_map(|file| file.trouble(&self.files)) {
                knob.state = KnobState::Refused;
                knob.detail = trouble;
            }
        }
        knobs
    }

    pub fn cores(&self) -> Option<&CoreSplit> {
        self.cores.as_ref()
    }

    /// The control group that has the benchmark cores to itself, if one has.
    pub fn partition(&self) -> Option<PathBuf> {
        self.partition
            .as_ref()
            .map(|partition| self.files.path(partition.group()))
    }

    /// Puts everything back. Returns how many settings that were; none the second time.
    pub fn restore(&self) -> Result<usize, TuningError> {
        let held = self.held.lock();
        let held = held.unwrap_or_else(PoisonError::into_inner).take();
        held.map_or(Ok(0), |held| self.put_back(held))
    }

    /// As long as the host is being tuned.
    fn held(&mut self) -> &mut Held {
        let held = self.held.get_mut();
        held.unwrap_or_else(PoisonError::into_inner)
            .as_mut()
            .expect("nothing is put back before everything is made")
    }

    fn turn(&mut self, knob: &KnobFile, plan: &TuningPlan) {
        let Some(wanted) = plan.value(knob.name, knob.wanted) else {
            return;
        };
        match knob.place {
            Place::File(file) => {
                let result = self.set(knob.name, file, wanted, same_choice);
                self.knobs.extend(result);
            }
            Place::EachCpu(file) => {
                const CPUS: &str = "/sys/devices/system/cpu";
                let cpus = self.files.numbered(CPUS, "cpu").into_iter();
                let results: Vec<Knob> = cpus
                    .filter_map(|cpu| {
                        let file = format!("{CPUS}/cpu{cpu}/{file}");
                        self.set(knob.name, &file, wanted, same_choice)
                    })
                    .collect();
                // One line is enough where all are alike; the first that is not speaks for them.
                let worst = results
                    .iter()
                    .find(|knob| knob.state == KnobState::Refused)
                    .or_else(|| results.first());
                self.knobs.push(worst.cloned().unwrap_or_else(|| Knob {
                    name: knob.name.to_owned(),
                    wanted: wanted.to_owned(),
                    ..Knob::default()
                }));
            }
        }
    }

    /// Journals the old value, writes the new one and reads it back. `None` where the host has no such file, for a
    /// setting that has another place as well.
    fn set(&mut self, name: &str, file: &str, wanted: &str, same: Same) -> Option<Knob> {
        let mut knob = Knob {
            name: name.to_owned(),
            wanted: wanted.to_owned(),
            ..Knob::default()
        };
        if !exists(&self.files.path(file)) {
            let has_other_place = KNOBS.iter().filter(|knob| knob.name == name).count() > 1;
            return (!has_other_place).then_some(knob);
        }
        let outcome = self.change(file, wanted, &mut knob, same);
        if let Err(error) = outcome {
            knob.state = KnobState::Refused;
            knob.detail = error.to_string();
        }
        Some(knob)
    }

    fn change(&mut self, file: &str, wanted: &str, knob: &mut Knob, same: Same) -> io::Result<()> {
        let before = self.files.read(file)?;
        if before == "notsupported" || before == "notimplemented" {
            return Ok(());
        }
        knob.before = Some(chosen(&before).to_owned());
        if !same(&before, wanted) {
            self.held().journal.record(file, chosen(&before))?;
            self.files.write(file, wanted)?;
        }
        let now = self.files.read(file)?;
        if same(&now, wanted) {
            knob.state = KnobState::InEffect;
            self.watch(&knob.name, file, wanted, same);
            Ok(())
        } else {
            Err(io::Error::other(format!("it still reads {now}")))
        }
    }

    fn watch(&mut self, knob: &str, file: &str, value: &str, same: Same) {
        self.watched.push(Watched {
            knob: knob.to_owned(),
            file: file.to_owned(),
            value: value.to_owned(),
            same,
        });
    }

    fn steer(&mut self, plan: &TuningPlan) {
        let Some(split) = self.cores.clone() else {
            return;
        };
        if plan.value(INTERRUPTS, "housekeeping").is_none() {
            return;
        }
        let (mut moved, mut stuck, mut refused) = (0_u32, 0_u32, None);
        for Steering {
            file,
            value,
            may_refuse,
            same,
        } in steering(&self.files, &split.housekeeping)
        {
            match self.set(INTERRUPTS, &file, &value, same) {
                Some(knob) if knob.state == KnobState::InEffect => moved += 1,
                Some(knob) if knob.state == KnobState::Refused && !may_refuse => {
                    refused = Some(format!("{file}: {}", knob.detail));
                }
                Some(knob) if knob.state == KnobState::Refused => stuck += 1,
                Some(_) | None => {}
            }
        }
        let state = match (&refused, moved) {
            (Some(_), _) => KnobState::Refused,
            (None, 0) => KnobState::Absent,
            (None, _) => KnobState::InEffect,
        };
        self.knobs.push(Knob {
            name: INTERRUPTS.to_owned(),
            wanted: "housekeeping".to_owned(),
            state,
            before: None,
            detail: refused.unwrap_or_else(|| format!("{moved} steered, {stuck} cannot be")),
        });
    }

    fn set_apart(&mut self, plan: &TuningPlan) {
        let Some(split) = self.cores.clone() else {
            return;
        };
        let Some(wanted) = plan.value(PARTITION, "isolated") else {
            return;
        };
        let mut knob = Knob {
            name: PARTITION.to_owned(),
            wanted: wanted.to_owned(),
            ..Knob::default()
        };
        match Partition::prepare(&self.files) {
            Ok(None) => {}
            Err(error) => {
                knob.state = KnobState::Refused;
                knob.detail = error.to_string();
            }
            Ok(Some(partition)) => {
                let mut refusals = Vec::new();
                self.partition = self.make_partition(partition, &split, wanted, &mut refusals);
                if let Some(partition) = &self.partition
                    && partition.kind() == wanted
                {
                    let file = partition.kind_file();
                    self.watch(PARTITION, &file, wanted, same_choice);
                }
                let made = self.partition.as_ref().map(Partition::kind);
                knob.before = made.map(|_| ORDINARY.to_owned());
                knob.state = if made == Some(wanted) {
                    KnobState::InEffect
                } else {
                    KnobState::Refused
                };
                let cores = list(&split.benchmark);
                let made = made.map(|kind| format!("{kind} with cores {cores}"));
                let told: Vec<String> = made.into_iter().chain(refusals).collect();
                knob.detail = told.join("; ");
            }
        }
        self.knobs.push(knob);
    }

    /// The strongest kind of partition that this host gives, from the wanted one on. What a kind was refused for is told.
    fn make_partition(
        &mut self,
        mut partition: Partition,
        split: &CoreSplit,
        wanted: &str,
        refusals: &mut Vec<String>,
    ) -> Option<Partition> {
        let files = self.files.clone();
        let journal = &mut self.held().journal;
        let mut made = partition.give_cores(&files, &split.benchmark);
        // Whatever it becomes, it is nobody's own in the end.
        made = made.and_then(|()| journal.record(&partition.kind_file(), ORDINARY));
        if let Err(error) = made {
            refusals.push(error.to_string());
        } else {
            for kind in kinds_from(wanted) {
                match partition.become_kind(&files, kind) {
                    Ok(()) => return Some(partition),
                    Err(error) => refusals.push(format!("not {kind}: {error}")),
                }
            }
        }
        // It is empty, and of no use.
        if let Err(error) = partition.remove(&files) {
            refusals.push(error.to_string());
        }
        None
    }

    fn stay_awake(&mut self, plan: &TuningPlan) {
        if plan.value(LATENCY, "0").is_none() {
            return;
        }
        let mut knob = Knob {
            name: LATENCY.to_owned(),
            wanted: "0 us".to_owned(),
            ..Knob::default()
        };
        match hold_awake(&self.files) {
            Ok(device) => {
                self.held().awake = Some(device);
                knob.state = KnobState::InEffect;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                knob.state = KnobState::Refused;
                knob.detail = error.to_string();
            }
        }
        self.knobs.push(knob);
    }

    fn put_back(&self, held: Held) -> Result<usize, TuningError> {
        let Held {
            journal,
            awake,
            _lock,
        } = held;
        drop(awake);
        let path = journal.path().to_owned();
        let undone = journal.undo(&self.files).map_err(|source| TuningError::Io {
            action: "undo the changes in",
            path,
            source,
        });
        if let Some(partition) = &self.partition {
            partition
                .remove(&self.files)
                .map_err(|source| TuningError::Io {
                    action: "remove the group",
                    path: self.files.path(partition.group()),
                    source,
                })?;
        }
        undone
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a setting of this host could not be put back"
            );
        }
    }
}

fn lock(path: &Path) -> Result<File, TuningError> {
    let failed = |source| TuningError::Io {
        action: "take the lock",
        path: path.to_owned(),
        source,
    };
    let ours = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    // Who may not write it can still see whether somebody holds it.
    let file = match ours {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            File::open(path).map_err(|_| error)
        }
        ours => ours,
    }
    .map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(TuningError::InUse),
        Err(errno) => Err(failed(errno.into())),
    }
}

#[cfg(test)]
mod tests;
