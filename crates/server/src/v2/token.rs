//! The token endpoint: a person's or a project's key in, or nothing; a short-lived token for the repositories asked for out.

use axum::extract::{Form, State};
use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, extract::rejection::FormRejection};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kiln_control::Denied;
use kiln_control::access::{self as control, Caller};
use kiln_model::v0::DateTime;
use kiln_store::Query;
use serde_json::json;

use super::challenge::{self, Reason};
use super::error::{OciError, OciResult};
use super::parameters::Parameters;
use super::scope::Scope;
use super::{access, subject};
use crate::app::Shared;
use crate::token::OciScope;
use crate::{identity, key};

/// How long a token is good for. Clients fetch another when a push takes longer.
const SECONDS: i64 = 300;

/// As docker, podman, skopeo and the like ask: the key as the password of Basic authentication.
pub(super) async fn get_token(
    State(app): State<Shared>,
    headers: HeaderMap,
    uri: Uri,
) -> OciResult<Response> {
    let parameters = Parameters::of(&uri);
    let scopes = Scope::read(parameters.all("scope"));
    let password = basic_password(&headers).map_err(|Malformed| refused(&app))?;
    let Issued { token, .. } = issue(&app, password.as_deref(), scopes).await?;
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
    let scopes = Scope::read(parameters.all("scope"));
    let Issued { token, granted } = issue(&app, parameters.get("password"), scopes).await?;
    let granted: Vec<_> = granted
        .iter()
        .filter(|scope| !scope.actions.is_empty())
        .map(Scope::to_string)
        .collect();
    let issued_at = DateTime(app.wall());
    Ok(Json(json!({
        "access_token": token,
        "expires_in": SECONDS,
        "scope": granted.join(" "),
        "issued_at": issued_at,
    }))
    .into_response())
}

struct Issued {
    token: String,
    granted: Vec<Scope>,
}

/// A token for what of the scopes the caller gets. An action is refused when the caller can see the project and may not do
/// that there. Where they see nothing the token speaks of nothing, and the registry says so, whether there is a project or not.
///
/// A scope that is refused stays in the token, with no actions: so the registry can tell a right that was refused from one
/// that was never asked for.
async fn issue(app: &Shared, password: Option<&str>, scopes: Vec<Scope>) -> OciResult<Issued> {
    let password = password.filter(|password| !password.is_empty());
    let caller = caller(app, password).await?;
    let key_hash = password.map(key::hash);
    let decide = move |query: &mut dyn Query| {
        let granted = scopes.iter().map(|scope| granted(query, &caller, scope));
        let granted = granted.collect::<Result<Vec<_>, Denied>>()?;
        Ok((granted, subject::name(query, &caller, key_hash.as_deref())?))
    };
    let decided: Result<_, Denied> = app.store.reader.read(decide).await;
    let (granted, subject) = decided?;
    let (audience, subject) = subject.ok_or_else(|| refused(app))?;
    let scopes = granted.iter().map(|scope| OciScope {
        repository: Some(scope.repository.to_string()),
        actions: scope.actions.clone(),
    });
    let (scopes, wall) = (scopes.collect(), app.wall());
    let token = app
        .tokens
        .sign_all(audience, subject, scopes, wall, SECONDS);
    Ok(Issued { token, granted })
}

/// Who asks. A wrong password is refused; none at all makes somebody nobody knows. The user's name is not looked at: a key
/// says whose it is.
async fn caller(app: &Shared, password: Option<&str>) -> OciResult<Caller> {
    let Some(password) = password else {
        return Ok(Caller::Anonymous);
    };
    let caller = identity::caller_of(app, password).await?;
    caller.ok_or_else(|| refused(app))
}

fn granted(query: &mut dyn Query, caller: &Caller, asked: &Scope) -> Result<Scope, Denied> {
    let mut actions = Vec::new();
    for action in &asked.actions {
        let (project, permission) = (asked.repository.project(), access::permission(*action));
        match control::project(query, caller, project, permission) {
            Ok(_) | Err(Denied::NotFound(_)) => actions.push(*action),
            Err(Denied::Forbidden | Denied::Unauthorized) => {}
            Err(denied) => return Err(denied),
        }
    }
    Ok(Scope {
        repository: asked.repository.clone(),
        actions,
    })
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
    challenge::refuse(app, Reason::Invalid, &[])
}

fn oauth_error(error: &str, description: &str) -> Response {
    let body = json!({ "error": error, "error_description": description });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}
