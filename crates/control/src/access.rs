//! Who may do what. Every door asks here, and nowhere else is a right decided.
//!
//! | who | sees | submits and edits | deletes and manages |
//! |---|---|---|---|
//! | anybody | public projects | projects of unclaimed organizations (submits only) | nothing |
//! | a project's key | its project | its project | nothing |
//! | member | what is their organization's | what is their organization's | nothing |
//! | leader | what is their organization's | what is their organization's | what is their organization's |
//! | administrator | everything | everything | everything |
//!
//! What the caller may not see does not exist for them.

use kiln_model::v0::{Permission, Role, Visibility};
use kiln_store::Query;
use kiln_store::sql::account::Account;
use kiln_store::sql::organization::{self, Organization};
use kiln_store::sql::project::{self, Project, Viewer};
use kiln_store::sql::project_key::ProjectKey;
use kiln_store::sql::{account, member};

use crate::Denied;

/// Who asks, as far as their credentials show.
#[derive(Clone, Debug)]
pub enum Caller {
    Anonymous,
    Account(Account),
    ProjectKey(ProjectKey),
}

impl Caller {
    /// How the caller stands in events and in the audit log.
    pub fn actor(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".to_owned(),
            Self::Account(account) => format!("user:{}", account.uuid),
            Self::ProjectKey(key) => format!("project_key:{}", key.uuid),
        }
    }

    pub const fn account(&self) -> Option<&Account> {
        match self {
            Self::Account(account) => Some(account),
            Self::Anonymous | Self::ProjectKey(_) => None,
        }
    }

    pub const fn is_anonymous(&self) -> bool {
        matches!(self, Self::Anonymous)
    }

    pub fn is_administrator(&self) -> bool {
        self.account().is_some_and(|account| account.admin)
    }

    /// Whose projects the caller may list.
    pub fn viewer(&self) -> Viewer {
        match self.account() {
            Some(account) if account.admin => Viewer::Administrator,
            Some(account) => Viewer::Account(account.id),
            None => Viewer::Anybody,
        }
    }
}

/// The project of that UUID or slug, if the caller may do this with it.
pub fn project<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    reference: &str,
    permission: Permission,
) -> Result<Project, Denied> {
    let found = project::find_by_ref(query, reference)?.ok_or(Denied::NotFound("project"))?;
    found_project(query, caller, found, permission)
}

/// The same for one that was found already.
pub(crate) fn found_project<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    found: Project,
    permission: Permission,
) -> Result<Project, Denied> {
    if may_in_project(query, caller, &found, permission)? {
        Ok(found)
    } else if may_in_project(query, caller, &found, Permission::View)? {
        Err(refused(caller))
    } else {
        Err(Denied::NotFound("project"))
    }
}

/// The organization of that UUID or slug, if the caller may do this with it.
pub fn organization<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    reference: &str,
    permission: Permission,
) -> Result<Organization, Denied> {
    let found =
        organization::find_by_ref(query, reference)?.ok_or(Denied::NotFound("organization"))?;
    if may_in_organization(query, caller, found.id, permission)? {
        Ok(found)
    } else if may_in_organization(query, caller, found.id, Permission::View)? {
        Err(refused(caller))
    } else {
        Err(Denied::NotFound("organization"))
    }
}

/// The person of that UUID or slug, for themselves and for administrators.
pub fn person<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    reference: &str,
) -> Result<Account, Denied> {
    let found = account::find_by_ref(query, reference)?;
    found
        .filter(|found| {
            caller
                .account()
                .is_some_and(|own| own.admin || own.id == found.id)
        })
        .ok_or(Denied::NotFound("user"))
}

/// Refuses everybody but administrators.
pub fn administrator(caller: &Caller) -> Result<(), Denied> {
    if caller.is_administrator() {
        Ok(())
    } else {
        Err(refused(caller))
    }
}

pub fn may_in_project<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    project: &Project,
    permission: Permission,
) -> Result<bool, Denied> {
    if permission == Permission::View && project.visibility == Visibility::Public {
        return Ok(true);
    }
    match caller {
        Caller::ProjectKey(key) => Ok(key.project == project.id && key_grants(permission)),
        Caller::Anonymous | Caller::Account(_)
            if permission == Permission::Create && project.claimed.is_none() =>
        {
            Ok(true)
        }
        Caller::Anonymous | Caller::Account(_) => {
            may_in_organization(query, caller, project.organization_id, permission)
        }
    }
}

pub fn may_in_organization<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    organization: i64,
    permission: Permission,
) -> Result<bool, Denied> {
    let Some(account) = caller.account() else {
        return Ok(false);
    };
    if account.admin {
        return Ok(true);
    }
    let role = member::role(query, organization, account.id)?;
    Ok(role.is_some_and(|role| role_grants(role, permission)))
}

const fn role_grants(role: Role, permission: Permission) -> bool {
    match (role, permission) {
        (Role::Leader, _)
        | (
            Role::Member,
            Permission::View | Permission::Create | Permission::Edit | Permission::ViewRole,
        ) => true,
        (
            Role::Member,
            Permission::Delete
            | Permission::Manage
            | Permission::CreateRole
            | Permission::EditRole
            | Permission::DeleteRole,
        ) => false,
    }
}

const fn key_grants(permission: Permission) -> bool {
    matches!(
        permission,
        Permission::View | Permission::Create | Permission::Edit
    )
}

/// For what the caller can see.
const fn refused(caller: &Caller) -> Denied {
    match caller {
        Caller::Anonymous => Denied::Unauthorized,
        Caller::Account(_) | Caller::ProjectKey(_) => Denied::Forbidden,
    }
}

#[cfg(test)]
mod tests;
