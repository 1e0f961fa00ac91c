#![doc = include_str!("../README.md")]

mod digest;
mod id;
mod name;
pub mod operator;
mod policy;
mod slot;
mod status;
mod time;
mod transition;
pub mod v0;

pub use digest::{Algorithm, Digest, NotADigest};
pub use id::{
    AlertUuid, BenchmarkUuid, BranchUuid, HeadUuid, JobUuid, KeyUuid, Lsn, MeasureUuid, MetricUuid,
    ModelUuid, NotAUuid, NotAnId, NotAnLsn, OrganizationUuid, PlotUuid, ProjectUuid, ReportUuid,
    RunnerUuid, RuntimeJobId, RuntimeLeaseId, ServerUuid, SpecUuid, TestbedUuid, ThresholdUuid,
    UserUuid, WorkerId,
};
pub use name::{
    BranchName, Email, GitHash, InvalidName, MAX_BRANCH_NAME, MAX_NAME, PoolName, ProjectUrl,
    ResourceName, Slug,
};
pub use policy::{Priority, Retry, RetryDecision, Timeouts};
pub use slot::Slot;
pub use status::{Kind, Status, Trigger};
pub use time::{Clock, Entropy, Millis};
pub use transition::{Source, TRANSITIONS, Transition, next};
