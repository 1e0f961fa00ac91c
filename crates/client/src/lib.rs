#![doc = include_str!("../README.md")]

mod alerts;
mod client;
mod dimensions;
mod error;
mod feed;
mod http;
mod jobs;
mod operator;
mod page;
mod people;
mod perf;
mod projects;
mod registry;
mod reports;
mod runners;
mod runs;
mod server;
mod specs;
mod thresholds;

pub use client::Client;
pub use dimensions::Dimension;
pub use error::{Answer, Error};
pub use feed::{EventFeed, FeedCursor, FeedItem};
pub use http::http_client;
pub use page::Page;
pub use perf::{PerfQuery, Picture};
pub use reports::{Comparing, ReportFilter};
pub use thresholds::ThresholdFilter;
