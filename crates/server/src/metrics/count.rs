//! Things that are counted, and what stock servers call them.

use kiln_control::limits::Limited;
use kiln_model::{Status, Trigger};

use super::Attribute;

const STATUS: &str = "job.status";
const CHANNEL: &str = "update.channel";
const REASON: &str = "reason";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Count {
    ServerStartup,
    OrganizationCreate,
    OrganizationDelete,
    /// A person was made known to the server.
    UserCreate,
    /// A person was made a member of an organization.
    UserInvite,
    /// A person took over what nobody had claimed.
    UserClaim,
    ProjectCreate,
    ProjectDelete,
    /// A project's key that nobody has, or not any more.
    ProjectKeyRefused,
    RunCreate,
    ReportCreate,
    ReportDelete,
    /// Numbers that became a report's.
    MetricsCreate,
    /// Of a project, by hand: a branch, a testbed, a benchmark, a measure, a threshold, a plot.
    ResourceCreate,
    /// Refused, because there were too many.
    RequestMax,
    RunClaimedMax,
    RunUnclaimedMax,
    RunnerRequestMax,
    BandwidthMax,
    BlobPush,
    BlobPull,
    ManifestPush,
    ManifestPull,
    TagsList,
    RunnerCreate,
    RunnerUpdate,
    RunnerKeyRotate,
    Connect,
    Disconnect,
    /// A runner was offered a newer program.
    UpdateSent(Channel),
    /// Whether there is a newer program could not be found out.
    UpdateCheckFailed,
    JobClaim,
    /// A runner moved a job to this status.
    JobUpdate(Status),
    JobTimeout,
    HeartbeatTimeout,
    MinutesBilled,
    MinutesBilledFailed,
}

/// Which programs a runner follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Channel {
    Stable,
    Canary,
}

impl Count {
    /// What a refusal counts as.
    pub(crate) const fn refused(limited: Limited) -> Self {
        match limited {
            Limited::AddressRequests
            | Limited::AddressAttempts
            | Limited::UserRequests
            | Limited::ProjectRequests => Self::RequestMax,
            Limited::AddressRuns => Self::RunUnclaimedMax,
            Limited::UserRuns | Limited::ProjectRuns | Limited::OrganizationRuns => {
                Self::RunClaimedMax
            }
            Limited::RunnerConnects => Self::RunnerRequestMax,
            Limited::RegistryBytes => Self::BandwidthMax,
        }
    }

    /// What a deadline that passed counts as. A job that no runner took has no runner whose time it could be.
    pub(crate) const fn passed(trigger: Trigger) -> Option<Self> {
        match trigger {
            Trigger::LostContact => Some(Self::HeartbeatTimeout),
            Trigger::HardTimeout | Trigger::SetUpDeadline => Some(Self::JobTimeout),
            Trigger::PendingExpiry
            | Trigger::Claim
            | Trigger::Start
            | Trigger::Complete
            | Trigger::Fail
            | Trigger::RunnerCancel
            | Trigger::UserCancel
            | Trigger::Forgotten
            | Trigger::Process
            | Trigger::HandOffRefused
            | Trigger::LateResult
            | Trigger::SessionAbandon
            | Trigger::Retry => None,
        }
    }

    pub(super) fn name(self) -> (&'static str, Attribute) {
        let name = match self {
            Self::ServerStartup => "server.startup",
            Self::OrganizationCreate => "organization.create",
            Self::OrganizationDelete => "organization.delete",
            Self::UserCreate => "user.create",
            Self::UserInvite => "user.invite",
            Self::UserClaim => "user.claim",
            Self::ProjectCreate => "project.create",
            Self::ProjectDelete => "project.delete",
            Self::ProjectKeyRefused => {
                // Whether it was revoked, has expired or never was looks alike.
                let reason = Some((REASON, "unknown".to_owned()));
                return ("project.key.auth.failed", reason);
            }
            Self::RunCreate => "run.create",
            Self::ReportCreate => "report.create",
            Self::ReportDelete => "report.delete",
            Self::MetricsCreate => "metrics.create",
            Self::ResourceCreate => "resource.create",
            Self::RequestMax => "request.max",
            Self::RunClaimedMax => "run.claimed.max",
            Self::RunUnclaimedMax => "run.unclaimed.max",
            Self::RunnerRequestMax => "runner.request.max",
            Self::BandwidthMax => "oci.bandwidth.max",
            Self::BlobPush => "oci.blob.push",
            Self::BlobPull => "oci.blob.pull",
            Self::ManifestPush => "oci.manifest.push",
            Self::ManifestPull => "oci.manifest.pull",
            Self::TagsList => "oci.tags.list",
            Self::RunnerCreate => "runner.create",
            Self::RunnerUpdate => "runner.update",
            Self::RunnerKeyRotate => "runner.key.rotate",
            Self::Connect => "runner.connect",
            Self::Disconnect => "runner.disconnect",
            Self::UpdateSent(channel) => {
                let channel = match channel {
                    Channel::Stable => "stable",
                    Channel::Canary => "canary",
                };
                return (
                    "runner.self_update.sent",
                    Some((CHANNEL, channel.to_owned())),
                );
            }
            Self::UpdateCheckFailed => "runner.self_update.check.failed",
            Self::JobClaim => "runner.job.claim",
            Self::JobUpdate(status) => {
                let status = Some((STATUS, status.to_string()));
                return ("runner.job.update", status);
            }
            Self::JobTimeout => "runner.job.timeout",
            Self::HeartbeatTimeout => "runner.heartbeat.timeout",
            Self::MinutesBilled => "runner.minutes.billed",
            Self::MinutesBilledFailed => "runner.minutes.billed.failed",
        };
        (name, None)
    }
}
