//! Runners, specs, and which runner serves which spec: the administrator's business.

mod presence;
mod runners;
mod specs;

pub(crate) use presence::is_heard;
pub use presence::state;
pub use runners::{
    create_runner, find_runner, link_spec, rotate_credential, unlink_spec, update_runner,
};
pub use specs::{create_spec, delete_spec, find_spec, update_spec};
