//! What is stored under the keys, apart from frames: small records with a fixed layout, little-endian.

mod dead_letter;
mod dedupe;
mod lease;
mod retry;
mod schema;

pub use dead_letter::DeadLetter;
pub use dedupe::DedupeRecord;
pub use lease::Lease;
pub use retry::RetryCount;
pub use schema::SchemaVersion;

#[cfg(test)]
mod tests;
