//! The operations on a real store: a database file and a directory of objects.

mod blobs;
mod fixture;
mod listings;
mod manifests;
mod postgres;
mod uploads;
