//! The token endpoint: a person's key in, a short-lived token for the repositories asked for out.

use axum::extract::{Form, State};
use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, extract::rejection::FormRejection};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kiln_model::v0::DateTime;
use kiln_store::sql::account::Account;
use serde_json::json;

use super::access;
use super::error::{OciError, OciResult};
use super::parameters::Parameters;
use super::scope::Scope;
use crate::app::Shared;
use crate::identity;
use crate::token::{Audience, OciScope};

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
    let scopes = Scope::read(parameters.all("scope"));
    let password = basic_password(&headers).map_err(|Malformed| refused(&app))?;
    let subject = subject(&app, password.as_deref()).await?;
    let granted = subject.grant(scopes);
    let token = sign(&app, &subject, &granted);
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
    let subject = subject(&app, parameters.get("password")).await?;
    let granted = subject.grant(Scope::read(parameters.all("scope")));
    let access_token = sign(&app, &subject, &granted);
    let granted: Vec<_> = granted
        .iter()
        .filter(|scope| !scope.actions.is_empty())
        .map(Scope::to_string)
        .collect();
    let issued_at = DateTime(app.wall());
    Ok(Json(json!({
        "access_token": access_token,
        "expires_in": SECONDS,
        "scope": granted.join(" "),
        "issued_at": issued_at,
    }))
    .into_response())
}

/// Whom a token speaks for.
#[derive(Debug)]
enum Subject {
    Nobody,
    Person(Account),
}

impl Subject {
    /// What of the scopes the subject gets. One that is refused stays in the token, with no actions: so the registry can
    /// tell a right that was refused from one that was never asked for.
    fn grant(&self, mut scopes: Vec<Scope>) -> Vec<Scope> {
        match self {
            Self::Person(_) => {}
            // Nobody has rights of their own: such a token answers the ping and opens nothing.
            Self::Nobody => scopes.iter_mut().for_each(|scope| scope.actions.clear()),
        }
        scopes
    }

    fn name(&self) -> String {
        match self {
            Self::Nobody => ANONYMOUS.to_owned(),
            Self::Person(account) => account.uuid.to_string(),
        }
    }
}

/// A wrong password is refused; none at all makes somebody nobody knows.
async fn subject(app: &Shared, password: Option<&str>) -> OciResult<Subject> {
    let Some(password) = password.filter(|password| !password.is_empty()) else {
        return Ok(Subject::Nobody);
    };
    let account = identity::account_of(app, password).await?;
    Ok(Subject::Person(account.ok_or_else(|| refused(app))?))
}

fn sign(app: &Shared, subject: &Subject, granted: &[Scope]) -> String {
    let scopes = granted.iter().map(|scope| OciScope {
        repository: Some(scope.repository.to_string()),
        actions: scope.actions.clone(),
    });
    app.tokens.sign_all(
        Audience::OciAuth,
        subject.name(),
        scopes.collect(),
        app.wall(),
        SECONDS,
    )
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
    OciError::unauthorized(&access::challenge(app, &[]))
}

fn oauth_error(error: &str, description: &str) -> Response {
    let body = json!({ "error": error, "error_description": description });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}
