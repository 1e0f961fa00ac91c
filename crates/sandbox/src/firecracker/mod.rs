//! The `firecracker` back end: the same guest as QEMU's, driven over Firecracker's API socket.
//!
//! ```text
//! first machine of a shape:   boot ──Up──▶ hang up ──▶ pause ──▶ snapshot ──▶ end
//! each run:                   load the snapshot ──▶ resume ──▶ connect      (else boot ──▶ connect)
//! ```
//!
//! Every path that Firecracker is told is a name in its own directory. So a snapshot finds its files again in the
//! directory of another machine, and a jail needs no other names than the bare program.

mod api;
mod backend;
mod boot;
mod config;
mod jail;
mod launch;
mod machine;
mod place;
mod snapshot;
mod version;
mod vsock;

pub(crate) use backend::Firecracker;
pub use config::FirecrackerConfig;
