//! What the agent has to do, whether there is a channel or not.

use std::collections::VecDeque;

use kiln_model::{JobUuid, Millis};

use crate::Delivery;

#[derive(Debug)]
pub(super) enum Duty {
    /// Nothing held, nothing owed.
    Free {
        /// When the open question was asked.
        asked_at: Option<Millis>,
        /// When it may be asked next.
        ask_at: Millis,
    },
    SettingUp {
        job: JobUuid,
    },
    Executing {
        job: JobUuid,
    },
    /// The work is being stopped; what it reports counts only as evidence.
    Stopping {
        job: JobUuid,
        cause: Cause,
    },
    Spooling {
        delivery: Delivery,
        /// After a failed attempt.
        retry_at: Option<Millis>,
        settled: bool,
    },
    Delivering {
        /// On disk, oldest first, never empty.
        owed: VecDeque<Delivery>,
        /// When the first was sent on this channel.
        sent_at: Option<Millis>,
        /// The server has canceled the job: any acknowledgement ends it.
        settled: bool,
        /// What goes beside the first.
        upload: Upload,
        /// Whether the job of the first was held on this very channel: then heartbeats keep its lease during an upload.
        was_held: bool,
    },
}

/// Where the output is that goes beside a result, as far as this channel knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upload {
    Due,
    UnderWay,
    Done,
}

const STOPPED: &str = "the runner was stopped while it held this job; submit it again";

/// Why work is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// By the server.
    Canceled,
    /// By who runs this runner.
    Stopped,
}

impl Cause {
    /// The last word about a job that was stopped before it ran.
    pub(super) fn report(self, job: JobUuid) -> Delivery {
        match self {
            Self::Canceled => Delivery::canceled(job),
            Self::Stopped => Delivery::failed(job, Vec::new(), STOPPED, None),
        }
    }

    /// The last word about a job that was stopped while it ran, with what came of it until then.
    pub(super) fn report_with(self, delivery: Delivery) -> Delivery {
        match self {
            Self::Canceled => delivery.into_canceled(),
            Self::Stopped => delivery.into_stopped(STOPPED),
        }
    }
}

impl Duty {
    pub(super) const fn free(now: Millis) -> Self {
        Self::Free {
            asked_at: None,
            ask_at: now,
        }
    }

    /// The job whose messages the server acknowledges now.
    pub(super) fn job(&self) -> Option<JobUuid> {
        match self {
            Self::Free { .. } => None,
            Self::SettingUp { job } | Self::Executing { job } | Self::Stopping { job, .. } => {
                Some(*job)
            }
            Self::Spooling { delivery, .. } => Some(delivery.job()),
            Self::Delivering { owed, .. } => owed.front().map(Delivery::job),
        }
    }

    /// Whether heartbeats keep a lease.
    pub(super) const fn is_leased(&self) -> bool {
        matches!(
            self,
            Self::SettingUp { .. }
                | Self::Executing { .. }
                | Self::Delivering {
                    settled: false,
                    upload: Upload::UnderWay,
                    was_held: true,
                    ..
                }
        )
    }

    /// Results that an earlier process has left.
    pub(super) fn recovered(owed: VecDeque<Delivery>) -> Self {
        Self::Delivering {
            owed,
            sent_at: None,
            settled: false,
            upload: Upload::Due,
            was_held: false,
        }
    }

    /// The server has answered the open question, without a job.
    pub(super) const fn answered(&mut self) {
        if let Self::Free { asked_at, .. } = self {
            *asked_at = None;
        }
    }

    pub(super) fn channel_lost(&mut self, now: Millis) {
        match self {
            Self::Free { .. } => *self = Self::free(now),
            Self::Delivering {
                sent_at,
                upload,
                was_held,
                ..
            } => {
                *sent_at = None;
                // Not every server answers heartbeats on a later channel; a result that is late for its lease still counts.
                *was_held = false;
                // The server may have let go of it by the time there is a channel again.
                if *upload == Upload::Done {
                    *upload = Upload::Due;
                }
            }
            Self::SettingUp { .. }
            | Self::Executing { .. }
            | Self::Stopping { .. }
            | Self::Spooling { .. } => {}
        }
    }

    /// When this duty by itself has something to do.
    pub(super) const fn wake(&self) -> Option<Millis> {
        match self {
            Self::Spooling { retry_at, .. } => *retry_at,
            Self::Free { .. }
            | Self::SettingUp { .. }
            | Self::Executing { .. }
            | Self::Stopping { .. }
            | Self::Delivering { .. } => None,
        }
    }
}
