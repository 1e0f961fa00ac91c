#![doc = include_str!("../README.md")]

mod backup;
mod bell;
mod bells;
mod clock;
mod config;
mod engine;
mod error;
#[cfg(test)]
mod faults;
mod kernel_time;
mod ledger;
mod location;
mod migrate;
mod migrations;
mod objects;
mod owner;
mod reader;
pub mod sql;
mod store;
pub mod tape;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tx;
mod value;

pub use backup::back_up;
pub use bell::Bell;
pub use bells::{Bells, Listener};
pub use clock::{SystemClock, SystemEntropy};
pub use config::StoreConfig;
pub use error::{DatabaseErrorKind, Error, ObjectErrorKind};
pub use ledger::{Fatal, Ledger, Pending};
pub use objects::{Entry, NotAKey, ObjectKey, ObjectReader, ObjectWriter, Objects, Stored};
pub use owner::Owner;
pub use reader::Reader;
pub use store::Store;
pub use tx::{Engine, Query, Tx};
pub use value::{FromValue, Row, Value};
