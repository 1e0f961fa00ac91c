#![doc = include_str!("../README.md")]

pub mod kv;
mod status;

pub use kv::{Dbi, Kv, KvTx};
pub use status::{Status, WireError};
