//! People, their keys, and the organizations they belong to.

mod accounts;
mod claim;
mod keys;
mod members;
mod organizations;

pub use accounts::{NewAccount, create_account, create_first_admin, home_of, update_account};
pub use claim::claim_organization;
pub(crate) use claim::claim_with_run;
pub(crate) use keys::expiry;
pub use keys::{NewKeyParts, create_key, operator_key, rename_key, revoke_key};
pub use members::{invite, remove_member, update_member};
pub use organizations::{create_organization, delete_organization, set_plan, update_organization};

/// How long a key lives that asks for nothing: as long as stock servers can count.
pub(crate) const LONGEST_TTL: u32 = u32::MAX;
