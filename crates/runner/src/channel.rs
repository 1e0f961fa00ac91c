//! The one WebSocket between a runner and its server.

mod connection;
mod target;

pub(crate) use connection::{Connection, Greeting, Heard};
pub(crate) use target::Target;
