//! Watching a run from outside: what it uses over time, and what goes on around it.

use std::time::Duration;

use kiln_model::Millis;
use kiln_model::v0::{CpuSample, Frequency, Pressure};

use crate::cgroup::Group;
use crate::surroundings::{HostFiles, PressureFiles, Waited, cpu_of_tree};

/// How often CPU time is sampled at first.
const INTERVAL: Duration = Duration::from_secs(5);

/// With more, every second one goes and the interval doubles: a long run costs no more than a short one.
const MAX_SAMPLES: usize = 1_000;

/// What is known about the surroundings of a run. A figure is `None` where this host does not tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) steal: Option<Duration>,
    pub(crate) pressure: Option<Pressure>,
    pub(crate) frequency: Option<Frequency>,
    pub(crate) cpu_samples: Vec<CpuSample>,
}

/// Watches one run.
pub(crate) struct Watch<'a> {
    group: &'a Group,
    host: &'static HostFiles,
    state: State,
    surroundings: Surroundings,
}

enum State {
    Waiting,
    Running {
        since: Millis,
        /// From which all others of the chamber came.
        process: Option<u32>,
        samples: Samples,
        stolen: Option<Duration>,
        waited: Option<Waited>,
        /// Where the group tells what was waited for. Otherwise the host does.
        pressure_of_group: Option<PressureFiles>,
    },
    Ended,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(group: &'a Group) -> Self {
        Self {
            group,
            host: HostFiles::open_once(),
            state: State::Waiting,
            surroundings: Surroundings::default(),
        }
    }

    /// Opens what is looked at again at the end, when everybody waits for it.
    pub(crate) fn started(&mut self, now: Millis, process: Option<u32>) {
        let of_group = self.group.pressure();
        let of_group = of_group.and_then(|files| Some((files.so_far()?, files)));
        let (waited, pressure_of_group) = match of_group {
            Some((waited, files)) => (Some(waited), Some(files)),
            None => (self.host.waited(), None),
        };
        self.state = State::Running {
            since: now,
            process,
            samples: Samples::new(now),
            stolen: self.host.stolen(),
            waited,
            pressure_of_group,
        };
    }

    /// When [`Self::check`] has something to do.
    pub(crate) fn next_sample(&self) -> Option<Millis> {
        match &self.state {
            State::Running { samples, .. } => Some(samples.next),
            State::Waiting | State::Ended => None,
        }
    }

    /// Takes a sample if it is due.
    pub(crate) fn check(&mut self, now: Millis) {
        if let State::Running {
            since,
            process,
            samples,
            ..
        } = &mut self.state
            && now >= samples.next
        {
            let of_group = self.group.usage().cpu;
            match of_group.or_else(|| cpu_of_tree((*process)?)) {
                Some(cpu) => samples.take(now, now.since(*since), cpu),
                // No sample is better than one that says that nothing was used.
                None => samples.leave_out(now),
            }
        }
    }

    /// The command is gone: from here on only cleaning up goes on.
    pub(crate) fn ended(&mut self) {
        if let State::Running {
            samples,
            stolen,
            waited,
            pressure_of_group,
            ..
        } = std::mem::replace(&mut self.state, State::Ended)
        {
            let waited_until_now = match &pressure_of_group {
                Some(files) => files.so_far(),
                None => self.host.waited(),
            };
            self.surroundings = Surroundings {
                steal: stolen.and_then(|before| self.host.stolen()?.checked_sub(before)),
                pressure: waited.and_then(|before| Some(waited_until_now?.since(before))),
                frequency: self.host.frequency(),
                cpu_samples: samples.taken,
            };
        }
    }

    /// What was found out, also about a run that was cut short.
    pub(crate) fn end(mut self) -> Surroundings {
        self.ended();
        self.surroundings
    }
}

/// CPU time over time, bounded.
struct Samples {
    taken: Vec<CpuSample>,
    interval: Duration,
    next: Millis,
}

impl Samples {
    fn new(now: Millis) -> Self {
        Self {
            taken: Vec::new(),
            interval: INTERVAL,
            next: now + INTERVAL,
        }
    }

    fn take(&mut self, now: Millis, at: Duration, cpu: Duration) {
        if self.taken.len() == MAX_SAMPLES {
            let mut index = 0;
            self.taken.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.interval *= 2;
        }
        self.taken.push(CpuSample {
            at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            cpu_us: u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX),
        });
        self.leave_out(now);
    }

    fn leave_out(&mut self, now: Millis) {
        self.next = now + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::Hierarchies;
    use crate::{ChamberSpec, Missing};

    #[test]
    fn a_host_that_does_not_tell_gives_no_samples_rather_than_zeros() {
        let accepting = ChamberSpec {
            missing_limits: Missing::Accept,
            ..ChamberSpec::default()
        };
        let group = Group::create(&Hierarchies::default(), &accepting).unwrap();
        let mut watch = Watch::new(&group);
        watch.started(Millis(1_000), None);
        watch.check(Millis(6_000));
        assert_eq!(watch.next_sample(), Some(Millis(11_000)));
        assert_eq!(watch.end().cpu_samples, []);
    }

    #[test]
    fn samples_come_every_five_seconds() {
        let mut samples = Samples::new(Millis(1_000));
        assert_eq!(samples.next, Millis(6_000));
        samples.take(
            Millis(6_002),
            Duration::from_millis(5_002),
            Duration::from_secs(4),
        );
        assert_eq!(samples.next, Millis(11_002));
        assert_eq!(
            samples.taken,
            [CpuSample {
                at_ms: 5_002,
                cpu_us: 4_000_000
            }]
        );
    }

    #[test]
    fn a_run_of_any_length_has_a_bounded_number_of_samples() {
        let mut samples = Samples::new(Millis(0));
        for _ in 0..10 * MAX_SAMPLES {
            let now = samples.next;
            samples.take(now, now.since(Millis(0)), Duration::ZERO);
        }
        assert!(samples.taken.len() <= MAX_SAMPLES);
        assert!(samples.taken.is_sorted_by_key(|sample| sample.at_ms));
        assert!(samples.interval > INTERVAL);
    }
}
