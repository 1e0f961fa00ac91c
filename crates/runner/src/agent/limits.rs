//! How long and how often, with the reasons.

use std::time::Duration;

/// The lease wants a sign about once a second.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// How long the server may keep a `ready` without a job.
pub(super) const POLL_SECONDS: u32 = 55;

/// A server that answers `no_job` at once does not make us spin.
pub(super) const READY_INTERVAL: Duration = Duration::from_secs(1);

/// Beyond the poll itself: how late `job` or `no_job` may be.
pub(super) const POLL_PATIENCE: Duration = Duration::from_secs(30);

/// Without an answer to heartbeats for so long, the channel is dead even if no error says so. The lease lasts
/// longer, so a new channel keeps the job.
pub(super) const HEARTBEAT_PATIENCE: Duration = Duration::from_secs(30);

/// A result may have to squeeze through a slow line before it can be acknowledged.
pub(super) const DELIVERY_PATIENCE: Duration = Duration::from_mins(1);

/// Name resolution, connection, TLS and upgrade together.
pub(super) const DIAL_PATIENCE: Duration = Duration::from_secs(30);

/// Between two attempts to reach the server.
pub(super) const CONNECT_LONGEST: Duration = Duration::from_secs(30);

/// Between two attempts to fetch a program: nothing runs here meanwhile.
pub(super) const UPDATE_LONGEST: Duration = Duration::from_hours(1);

/// How long a program that does not work here keeps the next one from being offered.
pub(super) const OFFER_INTERVAL: Duration = Duration::from_hours(1);

/// For the rest of an orderly close.
pub(super) const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// A full disk may have room again a little later.
pub(super) const SPOOL_INTERVAL: Duration = Duration::from_secs(1);

/// For stopping a job, its grace included, and reporting that.
pub(super) const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// Output beside a message is held in memory until it is on disk; a server may take more than this host can spare.
pub(super) const MAX_BESIDE: usize = 256 << 20;
