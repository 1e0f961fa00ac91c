//! Booting a machine without a job, to see whether it does.

use std::io::{PipeReader, Read as _, Write};
use std::process::ExitStatus;
use std::time::Duration;

use kiln_model::{Clock, Millis};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::monitor::{Monitor, first_word};
use crate::Error;
use crate::link::Guest as _;

/// What became of a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootReport {
    /// What the monitor says that its version is.
    pub version: Option<String>,
    pub end: BootEnd,
    /// From the monitor's start to the first byte on the serial line.
    pub first_output: Option<Duration>,
    /// From the monitor's start to the end.
    pub total: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootEnd {
    /// Our guest program came up on this kernel. It was ended then.
    Up { kernel: String },
    /// The guest program came up and could not go on.
    Failed { reason: String },
    /// The monitor ended by itself, as it does when the guest turns itself off or crashes.
    MonitorEnded {
        status: ExitStatus,
        /// Its own words, if any.
        complaint: String,
    },
    /// Neither happened in time. It was ended then.
    OutOfTime,
}

/// Watches a machine whose serial line comes out of `serial`, until something has become of it.
pub(crate) fn watch(
    clock: &dyn Clock,
    started: Millis,
    patience: Duration,
    mut monitor: Monitor,
    mut serial: PipeReader,
    copy: &mut dyn Write,
) -> Result<BootReport, Error> {
    let deadline = started + patience;
    let mut first_output = None;
    let mut buffer = vec![0; 4096];
    let mut line_open = true;
    let mut guest_open = true;
    let end = loop {
        let now = clock.monotonic();
        if now >= deadline {
            break BootEnd::OutOfTime;
        }
        if !line_open && let Some(status) = monitor.ended() {
            break BootEnd::MonitorEnded {
                status,
                complaint: monitor.complaint(),
            };
        }
        let (from_line, from_guest) = {
            let link = monitor.link();
            let mut fds = vec![PollFd::from_borrowed_fd(link.socket(), PollFlags::IN)];
            if line_open {
                fds.push(PollFd::new(&serial, PollFlags::IN));
            }
            // A line that has ended says nothing about when its process will.
            let wait = if line_open && guest_open {
                deadline.since(now)
            } else {
                Duration::from_millis(10).min(deadline.since(now))
            };
            let fds = if guest_open {
                &mut fds[..]
            } else {
                &mut fds[1..]
            };
            let _ = poll(fds, Timespec::try_from(wait).ok().as_ref());
            let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
            if guest_open {
                (ready(1), ready(0))
            } else {
                (ready(0), false)
            }
        };
        if from_line {
            match serial.read(&mut buffer) {
                Ok(0) | Err(_) => line_open = false,
                Ok(count) => {
                    first_output.get_or_insert_with(|| clock.monotonic().since(started));
                    // Whoever reads along may stop reading.
                    let _ = copy.write_all(&buffer[..count]);
                }
            }
        }
        if from_guest {
            guest_open = monitor.link().read()?;
            if let Some(message) = monitor.link().next_message()? {
                break match first_word(message) {
                    Ok(kernel) => BootEnd::Up { kernel },
                    Err(error) => BootEnd::Failed {
                        reason: error.to_string(),
                    },
                };
            }
        }
    };
    Ok(BootReport {
        version: None,
        end,
        first_output,
        total: clock.monotonic().since(started),
    })
}
