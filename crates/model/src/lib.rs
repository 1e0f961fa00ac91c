#![doc = include_str!("../README.md")]

mod digest;
mod time;

pub use digest::{Algorithm, Digest, NotADigest};
pub use time::{Clock, Entropy, Millis};
