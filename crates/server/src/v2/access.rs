//! Who may do what at the registry. What a token opens is no more than what its holder may; that is decided where it is
//! decided for every door, at the moment of the request.

use std::iter;

use axum::http::request::Parts;
use kiln_control::Denied;
use kiln_control::access::{self, Caller as Known};
use kiln_control::limits::{Limited, Who};
use kiln_model::Digest;
use kiln_model::v0::Permission;
use kiln_registry::{Name, Repository};
use kiln_store::Query;
use kiln_store::sql::project::{self, Project};
use kiln_store::sql::registry::blob;

use super::challenge::{self, Reason};
use super::error::OciResult;
use super::subject;
use crate::app::Shared;
use crate::identity;
use crate::key::KeyKind;
use crate::limits::{self, Source};
use crate::token::{Action, Audience, Claims};

/// Who asks, as far as it matters for what they may.
#[derive(Clone, Debug)]
pub(super) enum Caller {
    /// Holds a key, whose rights are not bound to one repository.
    KeyHolder(Known),
    /// Holds a token for the repositories that it names.
    TokenHolder(Known, Claims),
    /// Pulls what one job needs.
    Runner(Claims),
}

/// Whether a token speaks of a repository that the request does not go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    Open,
    /// A token with this right was asked for, and there is none.
    Closed,
    /// The token does not speak of it: another one might.
    NotAsked,
}

/// A caller who was let in, and where to. There is no repository when nobody made its project yet, or when it is hidden
/// from the caller.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) caller: Caller,
    pub(super) repository: Option<Repository>,
}

impl Caller {
    pub(super) fn may_take_from(&self, name: &Name) -> Taking {
        match self {
            Self::KeyHolder(_) => Taking::Open,
            Self::Runner(_) => Taking::Closed,
            Self::TokenHolder(_, claims) => match claims.actions_in(name.as_str()) {
                Some(actions) if actions.contains(&Action::Pull) => Taking::Open,
                Some(_) => Taking::Closed,
                None => Taking::NotAsked,
            },
        }
    }

    /// Whether what they hold opens some repository of the project, as far as that is for it to say.
    fn names(&self, project: &Project) -> bool {
        match self {
            Self::KeyHolder(_) => true,
            Self::Runner(_) => false,
            Self::TokenHolder(_, claims) => claims.opened_for(Action::Pull).any(|name| {
                let reference = name.split('/').next().unwrap_or(name);
                reference == project.slug.as_str() || reference == project.uuid.to_string()
            }),
        }
    }

    /// As the other doors know them; a runner is nobody there.
    pub(super) fn known(&self) -> Option<&Known> {
        match self {
            Self::KeyHolder(known) | Self::TokenHolder(known, _) => Some(known),
            Self::Runner(_) => None,
        }
    }

    /// To the letter: a token for a slug does not open the same project by its UUID, nor a path below it.
    fn is_let_into(&self, name: &Name, action: Action) -> bool {
        let says = |claims: &Claims| {
            let actions = claims.actions_in(name.as_str());
            actions.is_some_and(|actions| actions.contains(&action))
        };
        match self {
            Self::KeyHolder(_) => true,
            Self::TokenHolder(_, claims) => says(claims),
            Self::Runner(claims) => action == Action::Pull && says(claims),
        }
    }
}

/// Checks that the bearer may act on the repository, and finds it. Who may not is told of `from` as well, if something is to
/// be taken from there: one token is enough then.
pub(super) async fn authorize(
    app: &Shared,
    parts: &Parts,
    name: &Name,
    action: Action,
    from: Option<&Name>,
) -> OciResult<Admitted> {
    let taking = from.map(|from| (from, Action::Pull));
    let scopes: Vec<_> = iter::once((name, action)).chain(taking).collect();
    let refused = |reason| challenge::refuse(app, reason, &scopes);
    let credential = identity::bearer(parts).ok_or_else(|| refused(Reason::Nobody))?;
    let caller = identify(app, parts, credential).await?;
    let caller = caller.ok_or_else(|| refused(Reason::Invalid))?;
    let is_stranger = |known: &Known| app.bench.admits(known).is_err();
    let is_kept_out = action == Action::Push && caller.known().is_some_and(is_stranger);
    if is_kept_out || !caller.is_let_into(name, action) {
        return Err(refused(Reason::Insufficient));
    }
    match find(app, &caller, name, permission(action)).await {
        Ok(repository) => Ok(Admitted { caller, repository }),
        Err(Denied::Unauthorized) => Err(refused(Reason::Insufficient)),
        Err(denied) => Err(denied.into()),
    }
}

/// Checks that the bearer has something to show at all.
pub(super) async fn authenticate(app: &Shared, parts: &Parts) -> OciResult<()> {
    let refused = |reason| challenge::refuse(app, reason, &[]);
    let credential = identity::bearer(parts).ok_or_else(|| refused(Reason::Nobody))?;
    match identify(app, parts, credential).await? {
        Some(Caller::KeyHolder(_) | Caller::TokenHolder(..)) => Ok(()),
        Some(Caller::Runner(_)) | None => Err(refused(Reason::Invalid)),
    }
}

/// The repository, if its project is there and the caller may do this with it. What is hidden from them is not there.
pub(super) async fn find(
    app: &Shared,
    caller: &Caller,
    name: &Name,
    permission: Permission,
) -> Result<Option<Repository>, Denied> {
    let (known, reference) = (caller.known().cloned(), name.project().to_owned());
    let look = move |query: &mut dyn Query| match &known {
        Some(known) => match access::project(query, known, &reference, permission) {
            Err(Denied::NotFound(_)) => Ok(None),
            found => found.map(Some),
        },
        // The token was made for this project, by its UUID, when the job was handed out.
        None => Ok(project::find_by_ref(query, &reference)?),
    };
    let found = app.store.reader.read(look).await?;
    Ok(found.map(|project| Repository {
        project: project.id,
        path: name.repository().to_owned(),
    }))
}

/// As many holders of a blob are looked at; one that is held by more is everywhere.
const MAX_HOLDERS: u32 = 256;

/// A project that holds the blob and that the caller may take it from, when they do not say which. A key opens what its
/// holder may see; a token the repositories that it names, and no more of them than its holder may see.
pub(super) async fn find_holder(
    app: &Shared,
    caller: &Caller,
    digest: &Digest,
) -> Result<Option<i64>, Denied> {
    let (caller, digest) = (caller.clone(), digest.clone());
    let look = move |query: &mut dyn Query| {
        let Some(known) = caller.known() else {
            return Ok(None);
        };
        for holder in blob::holders(query, &digest, MAX_HOLDERS)? {
            let Some(project) = project::find(query, holder)? else {
                continue;
            };
            if caller.names(&project)
                && access::may_in_project(query, known, &project, Permission::View)?
            {
                return Ok(Some(project.id));
            }
        }
        Ok(None)
    };
    app.store.reader.read(look).await
}

/// What a right at the registry is called elsewhere. Who may push may also delete: a token has no other word for it.
pub(super) const fn permission(action: Action) -> Permission {
    match action {
        Action::Pull => Permission::View,
        Action::Push => Permission::Create,
    }
}

async fn identify(app: &Shared, parts: &Parts, credential: &str) -> OciResult<Option<Caller>> {
    let source = parts.extensions.get::<Source>();
    let is_key = |kind: KeyKind| credential.starts_with(kind.prefix());
    if is_key(KeyKind::User) || is_key(KeyKind::Project) {
        let known = identity::caller_of(app, credential).await?;
        return Ok(known.map(Caller::KeyHolder));
    }
    let Some(claims) = app.tokens.check(credential, app.wall()) else {
        return Ok(None);
    };
    if claims.aud == Audience::Runner {
        return Ok(Some(Caller::Runner(claims)));
    }
    let (holder, wall) = (claims.clone(), app.wall());
    let look = move |query: &mut dyn Query| subject::find(query, &holder, wall);
    let Some(known) = app.store.reader.read(look).await? else {
        return Ok(None);
    };
    match (&known, source) {
        (Known::Anonymous, Some(Source(address))) => {
            let who = Who::Address(*address);
            app.limits.take(Limited::AddressRequests, who, app.wall())?;
        }
        _ => limits::count_request(app, &known)?,
    }
    Ok(Some(Caller::TokenHolder(known, claims)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::OciScope;

    fn claims(aud: Audience, scopes: &[(&str, &[Action])]) -> Claims {
        let mut scopes = scopes.iter().map(|(repository, actions)| OciScope {
            repository: Some((*repository).to_owned()),
            actions: actions.to_vec(),
        });
        Claims {
            aud,
            exp: 0,
            iat: 0,
            iss: String::new(),
            sub: String::new(),
            oci: scopes.next(),
            more: scopes.collect(),
        }
    }

    fn check(caller: &Caller, name: &str, action: Action, expected: bool) {
        let name = name.parse().unwrap();
        assert_eq!(
            caller.is_let_into(&name, action),
            expected,
            "{name} {action:?}"
        );
    }

    #[test]
    fn a_token_opens_the_repository_it_names_and_no_other() {
        let token = claims(Audience::Person, &[("p/a", &[Action::Pull])]);
        let holder = Caller::TokenHolder(Known::Anonymous, token);
        check(&holder, "p/a", Action::Pull, true);
        check(&holder, "p/a", Action::Push, false);
        for other in ["p", "p/a/b", "p/b", "q/a"] {
            check(&holder, other, Action::Pull, false);
        }
    }

    #[test]
    fn what_a_token_was_refused_is_not_what_it_was_never_asked_for() {
        let scopes: [(&str, &[Action]); 3] = [
            ("to", &[Action::Push]),
            ("open", &[Action::Pull]),
            ("closed", &[]),
        ];
        let token = claims(Audience::Person, &scopes);
        let holder = Caller::TokenHolder(Known::Anonymous, token.clone());
        let from = |name: &str| holder.may_take_from(&name.parse().unwrap());
        assert_eq!(from("open"), Taking::Open);
        assert_eq!(from("closed"), Taking::Closed);
        assert_eq!(from("to"), Taking::Closed);
        assert_eq!(from("other"), Taking::NotAsked);
        assert_eq!(
            Caller::Runner(token).may_take_from(&"open".parse().unwrap()),
            Taking::Closed
        );
    }

    #[test]
    fn a_runners_token_never_pushes() {
        let token = claims(Audience::Runner, &[("p", &[Action::Pull, Action::Push])]);
        let runner = Caller::Runner(token);
        check(&runner, "p", Action::Pull, true);
        check(&runner, "p", Action::Push, false);
    }
}
