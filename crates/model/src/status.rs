//! A job's status, and the one table of how it may change.
//!
//! ```text
//! pending ─▶ claimed ─▶ running ─▶ completed ─▶ processed
//!    │          │          │ ╲         ▲  ╲
//!    │          │          │  ╲        │   ╰─▶ failed (runtime: hand-off refused)
//!    │          ├──────────┴───╲─▶ failed (late result: back to completed)
//!    ├──────────┴──────────┴────▶ canceled
//!    ╰── action only: ─▶ abandoned;  failed | abandoned ─▶ pending (retry)
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a job is in its life. The numbers are stored; they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Status {
    Pending = 0,
    Claimed = 1,
    Running = 2,
    Completed = 3,
    Processed = 4,
    Failed = 5,
    Canceled = 6,
    Abandoned = 7,
}

impl Status {
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Claimed,
        Self::Running,
        Self::Completed,
        Self::Processed,
        Self::Failed,
        Self::Canceled,
        Self::Abandoned,
    ];

    pub const fn code(self) -> i64 {
        self as i64
    }

    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Processed => "processed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Abandoned => "abandoned",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// A runner holds it.
    pub const fn is_in_flight(self) -> bool {
        matches!(self, Self::Claimed | Self::Running)
    }

    /// Execution is over, one way or another.
    pub const fn is_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Claimed | Self::Running)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which door a job came through. The numbers are stored; they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    Bench = 0,
    Action = 1,
    Runtime = 2,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Bench, Self::Action, Self::Runtime];

    pub const fn code(self) -> i64 {
        self as i64
    }

    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Bench => "bench",
            Self::Action => "action",
            Self::Runtime => "runtime",
        }
    }
}

/// What moves a job. The numbers are stored in events; they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Trigger {
    /// A runner took the lease.
    Claim = 1,
    /// The runner says that set-up is done.
    Start = 2,
    /// The runner delivered a result.
    Complete = 3,
    /// The runner says that it failed.
    Fail = 4,
    /// The runner says that it stopped.
    RunnerCancel = 5,
    /// Somebody with the right to do so canceled it.
    UserCancel = 6,
    /// The lease ran out.
    LostContact = 7,
    /// The runner runs the job and says it is idle: it has forgotten the job.
    Forgotten = 8,
    /// Claimed, alive, and never running.
    SetUpDeadline = 9,
    /// Ran longer than its timeout and grace.
    HardTimeout = 10,
    /// Waited longer than it may.
    PendingExpiry = 11,
    /// The result was put to use: parsed, retired, or acknowledged by ingest.
    Process = 12,
    /// Ingest refused the result for good.
    HandOffRefused = 13,
    /// The real result of a job that had been given up for lost.
    LateResult = 14,
    /// The compute session ends before its work does.
    SessionAbandon = 15,
    /// The retry policy, or a person, sends it back to the queue.
    Retry = 16,
}

impl Trigger {
    pub const ALL: [Self; 16] = [
        Self::Claim,
        Self::Start,
        Self::Complete,
        Self::Fail,
        Self::RunnerCancel,
        Self::UserCancel,
        Self::LostContact,
        Self::Forgotten,
        Self::SetUpDeadline,
        Self::HardTimeout,
        Self::PendingExpiry,
        Self::Process,
        Self::HandOffRefused,
        Self::LateResult,
        Self::SessionAbandon,
        Self::Retry,
    ];

    pub const fn code(self) -> i64 {
        self as i64
    }

    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.code() == code)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Start => "start",
            Self::Complete => "complete",
            Self::Fail => "fail",
            Self::RunnerCancel => "runner_cancel",
            Self::UserCancel => "user_cancel",
            Self::LostContact => "lost_contact",
            Self::Forgotten => "forgotten",
            Self::SetUpDeadline => "set_up_deadline",
            Self::HardTimeout => "hard_timeout",
            Self::PendingExpiry => "pending_expiry",
            Self::Process => "process",
            Self::HandOffRefused => "hand_off_refused",
            Self::LateResult => "late_result",
            Self::SessionAbandon => "session_abandon",
            Self::Retry => "retry",
        }
    }

    /// A failure of this cause may still be overridden by the runner's real result (I3).
    pub const fn is_lost_contact(self) -> bool {
        matches!(self, Self::LostContact | Self::Forgotten)
    }
}
