//! The registry's door over a real socket, with a client that shows every byte of the answers.

mod access;
mod client;
mod counted;
mod discovery;
mod hostile;
mod pull;
mod push;
mod rights;
mod spec;
