//! Keys of people and of projects. The key itself is in one answer only: the one that made it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::DateTime;
use crate::{KeyUuid, ProjectUuid, ResourceName, UserUuid};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewKey {
    pub name: ResourceName,
    /// Seconds; as long as can be when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateKey {
    pub name: ResourceName,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserKey {
    pub uuid: KeyUuid,
    pub user: UserUuid,
    pub name: ResourceName,
    pub creation: DateTime,
    pub expiration: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<DateTime>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedUserKey {
    pub uuid: KeyUuid,
    pub user: UserUuid,
    pub name: ResourceName,
    pub key: String,
    pub creation: DateTime,
    pub expiration: DateTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectKey {
    pub uuid: KeyUuid,
    pub project: ProjectUuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<UserUuid>,
    pub name: ResourceName,
    pub creation: DateTime,
    pub expiration: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<DateTime>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedProjectKey {
    pub uuid: KeyUuid,
    pub project: ProjectUuid,
    pub name: ResourceName,
    pub key: String,
    pub creation: DateTime,
    pub expiration: DateTime,
}

impl fmt::Debug for CreatedUserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedUserKey")
            .field("uuid", &self.uuid)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CreatedProjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedProjectKey")
            .field("uuid", &self.uuid)
            .finish_non_exhaustive()
    }
}
