//! People, organizations, and who belongs to which.

use serde::{Deserialize, Serialize};

use super::DateTime;
use crate::{Email, OrganizationUuid, ResourceName, Slug, UserUuid};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub uuid: UserUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub email: Email,
    pub admin: bool,
    pub locked: bool,
    pub created: DateTime,
}

/// `POST /v0/users`, which stock servers do not have: there people sign up by mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewUser {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    pub email: Email,
    #[serde(default)]
    pub admin: bool,
}

/// Only an administrator may change the last three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateUser {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Organization {
    pub uuid: OrganizationUuid,
    pub name: ResourceName,
    pub slug: Slug,
    /// Stock servers sell licences; ours are free, so this is always null.
    pub license: Option<String>,
    pub created: DateTime,
    pub modified: DateTime,
    /// Since when it has members.
    pub claimed: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOrganization {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateOrganization {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

/// What an organization is entitled to, when the server counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanLevel {
    Free,
    /// Counts as team.
    Pro,
    Team,
    Enterprise,
}

impl PlanLevel {
    pub const ALL: [Self; 4] = [Self::Free, Self::Pro, Self::Team, Self::Enterprise];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Team => "team",
            Self::Enterprise => "enterprise",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub organization: OrganizationUuid,
    pub level: PlanLevel,
    /// Ours: what the payment provider calls the organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
}

/// `PATCH …/plan`: for administrators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatePlan {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<PlanLevel>,
    /// Empty is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
}

/// `GET …/usage`: what an organization used from one time to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub organization: OrganizationUuid,
    pub kind: UsageKind,
    pub plan: Plan,
    pub start_time: DateTime,
    pub end_time: DateTime,
    /// Begun minutes of jobs.
    pub runner_minutes: u64,
    /// Numbers of reports.
    pub metrics: u64,
    /// How many combinations of testbed, benchmark and measure they are of.
    pub active_series: u64,
}

/// How an organization is served, as stock clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageKind {
    SelfHostedFree,
    SelfHostedLicensed,
}

/// What a member may do in an organization and its projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Ours: sees everything, submits and edits, but neither deletes nor manages.
    Member,
    /// Everything.
    Leader,
}

impl Role {
    pub const ALL: [Self; 2] = [Self::Member, Self::Leader];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Leader => "leader",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub uuid: UserUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub email: Email,
    pub role: Role,
}

/// An invitation. Nobody needs to accept it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMember {
    pub email: Email,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    pub role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invited {
    pub email: Email,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateMember {
    pub role: Role,
}

/// What one may do, in the words of stock clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    View,
    Create,
    Edit,
    Delete,
    Manage,
    ViewRole,
    CreateRole,
    EditRole,
    DeleteRole,
}

/// `GET …/allowed/{permission}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    pub allowed: bool,
}
