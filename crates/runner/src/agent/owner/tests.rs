//! The agent against a real WebSocket on loopback, with an executor and a clock that the test moves.

mod fixtures;
mod lifecycle;
mod slots;
mod support;
