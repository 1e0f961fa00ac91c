#![doc = include_str!("../README.md")]

mod client;
mod error;
mod feed;
mod jobs;
mod operator;
mod page;
mod people;
mod projects;
mod registry;
mod runners;
mod runs;
mod server;
mod specs;

pub use client::Client;
pub use error::{Answer, Error};
pub use feed::EventFeed;
pub use page::Page;
