//! The `firecracker` back end: the same guest as QEMU's, driven over Firecracker's API socket.

mod api;
mod backend;
mod boot;
mod machine;
mod place;
mod version;
mod vsock;

pub use backend::{Firecracker, FirecrackerConfig};
