//! The one place where real clocks are read.

use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Wall time since it was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    started: Instant,
}

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "a measurement reads the real clock"
    )]
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Blocks this thread until the watch shows `moment`, or a little later.
    pub(crate) fn wait_until(&self, moment: Duration) {
        while let Some(rest) = moment.checked_sub(self.elapsed())
            && !rest.is_zero()
        {
            thread::park_timeout(rest);
        }
    }
}

/// User and system time of all threads of this process so far.
pub(crate) fn process_cpu() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(tv_sec).expect("a process has used no negative time");
    let nanoseconds = u32::try_from(tv_nsec).expect("the rest of a second fits");
    Duration::new(seconds, nanoseconds)
}
