//! Calls to a forge.

use std::time::Duration;

use kiln_client::http_client;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Method, StatusCode, redirect};
use serde_json::Value;

use crate::commands::server::use_ring;
use crate::failure::{Exit, Failure};

const TIMEOUT: Duration = Duration::from_secs(30);
/// No answer that is asked for here is longer: a page of a hundred comments.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// One forge, and the token for it.
#[derive(Debug)]
pub(super) struct Api {
    http: reqwest::Client,
    base: String,
    forge: &'static str,
    /// What to do about a token that may not.
    hint: &'static str,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    #[error("cannot reach {forge}")]
    Unreachable {
        forge: &'static str,
        source: reqwest::Error,
    },
    #[error("{forge} refused {call}: {status} {message}")]
    Refused {
        forge: &'static str,
        call: String,
        status: StatusCode,
        message: String,
        hint: &'static str,
    },
    #[error("{forge} answered {call} with something else than expected")]
    Unexpected { forge: &'static str, call: String },
}

impl Api {
    pub(super) fn new(
        forge: &'static str,
        base: &str,
        headers: &[(&'static str, &str)],
        hint: &'static str,
    ) -> Result<Self, Failure> {
        let broke = |error: &dyn std::error::Error| {
            Failure::usage(format!("{forge} cannot be called")).because(error)
        };
        let mut all = HeaderMap::new();
        all.insert(USER_AGENT, HeaderValue::from_static("kiln"));
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value).map_err(|error| broke(&error))?;
            value.set_sensitive(true);
            all.insert(HeaderName::from_static(name), value);
        }
        use_ring();
        // A redirect would take the token somewhere else.
        let http = http_client(|builder| {
            builder
                .default_headers(all.clone())
                .timeout(TIMEOUT)
                .redirect(redirect::Policy::none())
        })
        .map_err(|error| broke(&error))?;
        Ok(Self {
            http,
            base: base.trim_end_matches('/').to_owned(),
            forge,
            hint,
        })
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.call(Method::GET, path, None).await
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, ApiError> {
        self.call(method, path, Some(body)).await
    }

    pub(super) fn unexpected(&self, call: &str) -> ApiError {
        ApiError::Unexpected {
            forge: self.forge,
            call: call.to_owned(),
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let call = format!("{method} {path}");
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(body) = body {
            request = request.json(body);
        }
        let unreachable = |source: reqwest::Error| ApiError::Unreachable {
            forge: self.forge,
            source: source.without_url(),
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(self.unexpected(&call));
            }
            bytes.extend_from_slice(&chunk);
        }
        let answer: Option<Value> = serde_json::from_slice(&bytes).ok();
        if status.is_success() {
            return answer.ok_or_else(|| self.unexpected(&call));
        }
        Err(ApiError::Refused {
            forge: self.forge,
            call,
            status,
            message: message(answer.as_ref()),
            hint: self.hint,
        })
    }
}

impl ApiError {
    /// The token is not for this.
    pub(super) fn is_forbidden(&self) -> bool {
        self.status().is_some_and(|status| {
            status == StatusCode::FORBIDDEN || status == StatusCode::NOT_FOUND
        })
    }

    pub(super) const fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::Unreachable { .. } | Self::Unexpected { .. } => None,
        }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let exit = match error.status() {
            Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Exit::Unauthorized,
            Some(StatusCode::NOT_FOUND) => Exit::NotFound,
            Some(_) => Exit::Unexpected,
            None => Exit::Unreachable,
        };
        let failure = Self::new(exit, error.to_string());
        match &error {
            ApiError::Refused { hint, .. } => failure.hint(*hint),
            ApiError::Unreachable { source, .. } => failure.because(source),
            ApiError::Unexpected { .. } => failure,
        }
    }
}

/// Forges say `message` or `error`, as a text or as a list of them.
fn message(answer: Option<&Value>) -> String {
    let said = answer.and_then(|answer| answer.get("message").or_else(|| answer.get("error")));
    match said {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
