//! The token endpoint: a person's key in, a short-lived token for one repository out.

use axum::extract::{Form, State};
use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, extract::rejection::FormRejection};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kiln_model::v0::DateTime;
use serde_json::json;

use super::access;
use super::error::{OciError, OciResult};
use super::parameters::Parameters;
use crate::app::Shared;
use crate::identity;
use crate::token::{Action, Audience, OciScope};

/// How long a token is good for. Clients fetch another when a push takes longer.
const SECONDS: i64 = 300;
const ANONYMOUS: &str = "anonymous";

/// As docker, podman, skopeo and the like ask: the key as the password of Basic authentication.
pub(super) async fn get_token(
    State(app): State<Shared>,
    headers: HeaderMap,
    uri: Uri,
) -> OciResult<Response> {
    let parameters = Parameters::of(&uri);
    let scope = Scope::choose(parameters.all("scope"));
    let password = basic_password(&headers).map_err(|Malformed| refused(&app))?;
    let subject = subject(&app, password.as_deref()).await?;
    let (token, _) = sign(&app, subject, scope);
    let issued_at = DateTime(app.wall());
    Ok(
        Json(json!({ "token": token, "expires_in": SECONDS, "issued_at": issued_at }))
            .into_response(),
    )
}

/// As containerd and newer versions of docker ask: a form of OAuth 2.0.
pub(super) async fn post_token(
    State(app): State<Shared>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> OciResult<Response> {
    let Ok(Form(pairs)) = form else {
        return Ok(oauth_error(
            "invalid_request",
            "send the parameters as a form",
        ));
    };
    let parameters = Parameters(pairs);
    match parameters.get("grant_type") {
        Some("password") => {}
        Some(_) => {
            return Ok(oauth_error(
                "unsupported_grant_type",
                "the grant type here is `password`",
            ));
        }
        None => return Ok(oauth_error("invalid_request", "`grant_type` is missing")),
    }
    let scopes = parameters.all("scope").flat_map(|list| list.split(' '));
    let scope = Scope::choose(scopes);
    let subject = subject(&app, parameters.get("password")).await?;
    let (access_token, granted) = sign(&app, subject, scope);
    let issued_at = DateTime(app.wall());
    Ok(Json(json!({
        "access_token": access_token,
        "expires_in": SECONDS,
        "scope": granted,
        "issued_at": issued_at,
    }))
    .into_response())
}

/// What a client asks to do with one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scope {
    repository: String,
    actions: Vec<Action>,
}

impl Scope {
    /// A token speaks for one repository. Clients that ask for several want to push to one and look into the others,
    /// and can do without looking.
    fn choose<'a>(asked: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut scopes: Vec<Self> = asked.filter_map(Self::parse).collect();
        let chosen = scopes
            .iter()
            .position(|scope| scope.actions.contains(&Action::Push))
            .unwrap_or(0);
        (!scopes.is_empty()).then(|| scopes.swap_remove(chosen))
    }

    /// `repository:<name>:<action>,<action>`
    fn parse(text: &str) -> Option<Self> {
        let (repository, actions) = text.strip_prefix("repository:")?.rsplit_once(':')?;
        repository.parse::<kiln_registry::Name>().ok()?;
        let asks = |names: [&str; 3]| actions.split(',').any(|action| names.contains(&action));
        let mut granted = Vec::new();
        if asks(["pull", "*", "*"]) {
            granted.push(Action::Pull);
        }
        if asks(["push", "delete", "*"]) {
            granted.push(Action::Push);
        }
        Some(Self {
            repository: repository.to_owned(),
            actions: granted,
        })
    }
}

/// Whom the token speaks for. A wrong password is refused; none at all makes somebody nobody knows.
async fn subject(app: &Shared, password: Option<&str>) -> OciResult<String> {
    let Some(password) = password.filter(|password| !password.is_empty()) else {
        return Ok(ANONYMOUS.to_owned());
    };
    let account = identity::account_of(app, password).await?;
    Ok(account.ok_or_else(|| refused(app))?.uuid.to_string())
}

/// The token, and what it grants in the words it was asked for with.
fn sign(app: &Shared, subject: String, scope: Option<Scope>) -> (String, String) {
    // Nobody has rights of their own: such a token answers the ping and opens nothing.
    let scope = scope.filter(|_| subject != ANONYMOUS);
    let granted = scope.as_ref().map(|scope| {
        let names = scope.actions.iter().map(|action| match action {
            Action::Pull => "pull",
            Action::Push => "push",
        });
        format!(
            "repository:{}:{}",
            scope.repository,
            names.collect::<Vec<_>>().join(",")
        )
    });
    let oci = match scope {
        Some(Scope {
            repository,
            actions,
        }) => OciScope {
            repository: Some(repository),
            actions,
        },
        None => OciScope {
            repository: None,
            actions: Vec::new(),
        },
    };
    let token = app
        .tokens
        .sign(Audience::OciAuth, subject, Some(oci), app.wall(), SECONDS);
    (token, granted.unwrap_or_default())
}

struct Malformed;

fn basic_password(headers: &HeaderMap) -> Result<Option<String>, Malformed> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let password = || {
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        let decoded = scheme
            .eq_ignore_ascii_case("basic")
            .then(|| STANDARD.decode(encoded.trim()).ok())??;
        let text = String::from_utf8(decoded).ok()?;
        text.split_once(':')
            .map(|(_, password)| password.to_owned())
    };
    password().map(Some).ok_or(Malformed)
}

fn refused(app: &Shared) -> OciError {
    OciError::unauthorized(&access::challenge(app, None))
}

fn oauth_error(error: &str, description: &str) -> Response {
    let body = json!({ "error": error, "error_description": description });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &[&str], expected: Option<(&str, &[Action])>) {
        let chosen = Scope::choose(asked.iter().copied());
        let expected = expected.map(|(repository, actions)| Scope {
            repository: repository.to_owned(),
            actions: actions.to_vec(),
        });
        assert_eq!(chosen, expected, "{asked:?}");
    }

    #[test]
    fn a_scope_names_a_repository_and_actions() {
        check(&[], None);
        check(&["repository:p:pull"], Some(("p", &[Action::Pull])));
        check(
            &["repository:p/a:push,pull"],
            Some(("p/a", &[Action::Pull, Action::Push])),
        );
        check(
            &["repository:p:*"],
            Some(("p", &[Action::Pull, Action::Push])),
        );
        check(&["repository:p:delete"], Some(("p", &[Action::Push])));
        check(&["repository:p:fly"], Some(("p", &[])));
    }

    #[test]
    fn what_is_no_scope_is_overlooked() {
        check(
            &[
                "",
                "registry:catalog:*",
                "repository:P:pull",
                "repository:p",
            ],
            None,
        );
    }

    #[test]
    fn of_several_the_one_to_push_to_is_taken() {
        let both = ["repository:from:pull", "repository:to:pull,push"];
        check(&both, Some(("to", &[Action::Pull, Action::Push])));
        check(
            &["repository:a:pull", "repository:b:pull"],
            Some(("a", &[Action::Pull])),
        );
    }
}
