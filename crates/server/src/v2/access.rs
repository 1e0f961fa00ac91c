//! Who may do what at the registry.

use axum::http::header::{AUTHORIZATION, HeaderMap};
use kiln_registry::Name;

use super::error::{OciError, OciResult};
use crate::app::{App, Shared};
use crate::identity;
use crate::key::KeyKind;
use crate::token::{Action, Audience, Claims};

/// Who asks, as far as it matters for what they may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// Holds a key of a person, whose rights are not bound to one repository.
    KeyHolder,
    /// Holds a token for the repositories that it names.
    TokenHolder(Claims),
    /// Pulls what one job needs.
    Runner,
}

/// Whether something may be taken out of a repository that the request does not go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Open,
    /// A token with this right was asked for, and there is none.
    Closed,
    /// The token does not speak of it: another one might.
    NotAsked,
}

impl Caller {
    pub(super) fn may_take_from(&self, name: &Name) -> Source {
        match self {
            Self::KeyHolder => Source::Open,
            Self::Runner => Source::Closed,
            Self::TokenHolder(claims) => match claims.actions_in(name.as_str()) {
                Some(actions) if actions.contains(&Action::Pull) => Source::Open,
                Some(_) => Source::Closed,
                None => Source::NotAsked,
            },
        }
    }
}

/// Checks that the bearer may act on the repository.
pub(super) async fn authorize(
    app: &Shared,
    headers: &HeaderMap,
    name: &Name,
    action: Action,
) -> OciResult<Caller> {
    let refused = || OciError::unauthorized(&challenge(app, &[(name, action)]));
    let credential = bearer(headers).ok_or_else(refused)?;
    if credential.starts_with(KeyKind::User.prefix()) {
        let account = identity::account_of(app, credential).await?;
        return account.map(|_| Caller::KeyHolder).ok_or_else(refused);
    }
    let claims = app
        .tokens
        .check(credential, app.wall())
        .ok_or_else(refused)?;
    allowed(claims, name, action).ok_or_else(refused)
}

/// Checks that the bearer is a person at all.
pub(super) async fn authenticate(app: &Shared, headers: &HeaderMap) -> OciResult<()> {
    let refused = || OciError::unauthorized(&challenge(app, &[]));
    let credential = bearer(headers).ok_or_else(refused)?;
    if credential.starts_with(KeyKind::User.prefix()) {
        let account = identity::account_of(app, credential).await?;
        return account.map(|_| ()).ok_or_else(refused);
    }
    let claims = app
        .tokens
        .check(credential, app.wall())
        .ok_or_else(refused)?;
    if claims.aud == Audience::OciAuth {
        Ok(())
    } else {
        Err(refused())
    }
}

/// Where to get a token, and for what.
pub(super) fn challenge(app: &App, scopes: &[(&Name, Action)]) -> String {
    let realm = format!("{}/v0/auth/oci/token", app.public_url.trim_end_matches('/'));
    let service = service(&app.public_url);
    let mut challenge = format!(r#"Bearer realm="{realm}",service="{service}""#);
    if !scopes.is_empty() {
        let scopes: Vec<String> = scopes
            .iter()
            .map(|(name, action)| format!("repository:{name}:{}", needed(*action)))
            .collect();
        challenge.extend([",scope=\"", &scopes.join(" "), "\""]);
    }
    challenge
}

const fn needed(action: Action) -> &'static str {
    match action {
        Action::Pull => "pull",
        // A push looks first what is there already.
        Action::Push => "pull,push",
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn allowed(claims: Claims, name: &Name, action: Action) -> Option<Caller> {
    // To the letter: a token for a slug does not open the same project by its UUID, nor a path below it.
    if !claims.actions_in(name.as_str())?.contains(&action) {
        return None;
    }
    match (claims.aud, action) {
        (Audience::OciAuth, _) => Some(Caller::TokenHolder(claims)),
        (Audience::OciRunner, Action::Pull) => Some(Caller::Runner),
        (Audience::OciRunner, Action::Push) => None,
    }
}

/// The host a client is talking to, by the name it was told.
fn service(public_url: &str) -> &str {
    let rest = public_url
        .split_once("://")
        .map_or(public_url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    // Without the port, but an IPv6 address has colons of its own.
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::OciScope;

    fn claims(aud: Audience, repository: &str, actions: Vec<Action>) -> Claims {
        let oci = Some(OciScope {
            repository: Some(repository.to_owned()),
            actions,
        });
        Claims {
            aud,
            exp: 0,
            iat: 0,
            iss: String::new(),
            sub: String::new(),
            oci,
            more: Vec::new(),
        }
    }

    fn check(claims: &Claims, name: &str, action: Action, expected: Option<&Caller>) {
        assert_eq!(
            allowed(claims.clone(), &name.parse().unwrap(), action).as_ref(),
            expected,
            "{name} {action:?}"
        );
    }

    #[test]
    fn a_token_opens_the_repository_it_names_and_no_other() {
        let token = claims(Audience::OciAuth, "p/a", vec![Action::Pull]);
        let holder = Caller::TokenHolder(token.clone());
        check(&token, "p/a", Action::Pull, Some(&holder));
        check(&token, "p/a", Action::Push, None);
        for other in ["p", "p/a/b", "p/b", "q/a"] {
            check(&token, other, Action::Pull, None);
        }
    }

    #[test]
    fn what_a_token_was_refused_is_not_what_it_was_never_asked_for() {
        let mut token = claims(Audience::OciAuth, "to", vec![Action::Push]);
        for (name, actions) in [("open", vec![Action::Pull]), ("closed", Vec::new())] {
            token.more.push(OciScope {
                repository: Some(name.to_owned()),
                actions,
            });
        }
        let holder = Caller::TokenHolder(token);
        let from = |name: &str| holder.may_take_from(&name.parse().unwrap());
        assert_eq!(from("open"), Source::Open);
        assert_eq!(from("closed"), Source::Closed);
        assert_eq!(from("to"), Source::Closed);
        assert_eq!(from("other"), Source::NotAsked);
        assert_eq!(
            Caller::Runner.may_take_from(&"open".parse().unwrap()),
            Source::Closed
        );
    }

    #[test]
    fn a_runners_token_never_pushes() {
        let token = claims(Audience::OciRunner, "p", vec![Action::Pull, Action::Push]);
        check(&token, "p", Action::Pull, Some(&Caller::Runner));
        check(&token, "p", Action::Push, None);
    }

    #[test]
    fn the_service_is_the_host_alone() {
        for (url, host) in [
            ("http://127.0.0.1:6610", "127.0.0.1"),
            ("https://kiln.example/base/", "kiln.example"),
            ("http://[::1]:80", "[::1]"),
            ("http://[::1]", "[::1]"),
        ] {
            assert_eq!(service(url), host);
        }
    }
}
