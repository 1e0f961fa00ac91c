//! Projects, and the keys that open one of them.

mod begin;
mod create;
mod delete;
mod keys;
mod update;

pub use begin::find_or_create;
#[cfg(test)]
pub(crate) use create::create_on_the_fly;
pub use create::{OnTheFly, create_project};
pub(crate) use delete::delete;
pub use delete::delete_project;
pub use keys::{create_project_key, rename_project_key, revoke_project_key};
pub use update::update_project;
