//! Control groups: limits, and what was used.
//!
//! Hosts differ: all controllers in one v2 tree, each in a v1 tree of its own, or both kinds side by side. Each controller
//! is used where the host has it. One group is made for each run, below the group of this process, and removed after it.

mod check;
mod controller;
mod files;
mod group;
mod hierarchy;
mod name;
mod sweep;
mod usage;

pub use check::check_limits;
pub(crate) use group::{Group, remove_directory};
pub(crate) use hierarchy::Hierarchies;
pub(crate) use name::{fresh_name, owner_is_gone};
pub use sweep::sweep;
pub(crate) use sweep::sweep_below;
pub(crate) use usage::GroupUsage;
