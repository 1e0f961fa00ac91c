//! The operations on a real store: a database file and a directory of objects.

mod blobs;
mod collect;
mod fixture;
mod listings;
mod manifests;
mod postgres;
mod quota;
mod uploads;
mod verify;
