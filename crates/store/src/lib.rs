#![doc = include_str!("../README.md")]

mod bell;
mod error;
mod tx;
mod value;

pub use bell::Bell;
pub use error::{DatabaseErrorKind, Error, ObjectErrorKind};
pub use tx::{Engine, Query, Tx};
pub use value::{FromValue, Row, Value};
