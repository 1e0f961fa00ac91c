//! The distribution specification 1.1, section by section. What the specification only allows, and we do, is here too.

mod callers;
mod content;
mod content_discovery;
mod content_management;
mod pulling;
mod pushing_blobs;
mod pushing_manifests;
