//! The chamber's file systems: an overlay root, `/proc`, `/dev` and `/tmp`, and no way back to the host's.

mod device;
mod proc;
mod root;
mod tree;

pub(crate) use proc::mask as mask_proc;
pub(crate) use root::{enter_new_root, leave_old_root};
