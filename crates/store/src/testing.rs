//! What tests and the simulator stand on: a clock that is moved by hand, a seeded random source, a database in memory
//! that outlives its ledgers, faults on demand, and a throw-away PostgreSQL.

mod manual;
mod memory;
mod postgres;
#[cfg(any(test, feature = "testing-s3"))]
mod s3;

pub use crate::ledger::{FaultPlan, NoFaults, Verdict};
pub use manual::{ManualClock, SeededEntropy};
pub use memory::MemoryDatabase;
pub use postgres::{admin, postgres_database, postgres_port, postgres_url};
#[cfg(any(test, feature = "testing-s3"))]
pub use s3::S3Server;
