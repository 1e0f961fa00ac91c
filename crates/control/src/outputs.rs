//! Output that does not fit into one message: uploaded in pieces while the job is still its runner's, and named by the
//! result (I5: the bytes are durable and their digest was found right before a result that names them is accepted).

mod accept;
mod receive;
mod rest;
mod sweep;

pub use accept::Large;
pub(crate) use accept::accept;
pub use receive::{Chunk, Holding, append, begin, discard, find, finished, is_new, progress};
pub use rest::{Resting, rested, resting};
pub use sweep::{IDLE, forget_pieces, gone, leaving, with_spare_pieces};

#[cfg(test)]
mod tests;
