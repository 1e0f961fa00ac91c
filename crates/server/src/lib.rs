#![doc = include_str!("../README.md")]

#[cfg(test)]
mod answer;
mod app;
mod billing;
mod body;
mod channel;
mod error;
mod first_start;
mod identity;
mod keeper;
mod key;
mod layers;
mod limits;
mod metrics;
mod openapi;
pub mod operator;
mod otlp;
mod range;
pub mod recording;
mod resting;
mod server;
mod source_address;
mod token;
mod v0;
mod v2;
mod view;
mod worker;

pub use billing::{Billing, Stripe};
pub use channel::Releases;
pub use otlp::Otlp;
pub use server::{JobTimes, Server, ServerConfig, StartError, make_admin_key};
