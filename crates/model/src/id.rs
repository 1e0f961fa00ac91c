//! Ids in the form each door prescribes, minted from a clock and a random source that come in as arguments.

mod lsn;
mod ulid;
mod uuid;

pub use lsn::{Lsn, NotAnLsn};
pub use ulid::{NotAnId, RuntimeJobId, RuntimeLeaseId, WorkerId};
pub use uuid::{
    AlertUuid, BenchmarkUuid, BranchUuid, HeadUuid, JobUuid, KeyUuid, MeasureUuid, MetricUuid,
    ModelUuid, NotAUuid, OrganizationUuid, PlotUuid, ProjectUuid, ReportUuid, RunnerUuid,
    ServerUuid, SpecUuid, TestbedUuid, ThresholdUuid, UserUuid,
};
