//! One registry and our standing with it: requests, authorization, patience.

use std::time::Duration;

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;

use super::activity::{Activity, within_silence};
use super::authorization::{Authorization, Credentials, Granted};
use super::challenge::Challenge;
use super::{RegistryUrl, RemoteError, RemoteErrorKind};
use crate::{Limits, Repository, Version};

/// Attempts at one blob or manifest, the first included.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Error bodies and token answers: anything longer is not one.
const MAX_SMALL_BODY_BYTES: usize = 64 << 10;

/// A registry's client. Cheap to keep, one for each registry and identity.
#[derive(Debug)]
pub struct Client {
    pub(super) http: reqwest::Client,
    pub(super) registry: RegistryUrl,
    pub(super) limits: Limits,
    credentials: Credentials,
    granted: Granted,
}

impl Client {
    /// Uses an HTTP client of the caller, who chose its TLS provider, proxies and redirect policy.
    pub fn new(http: reqwest::Client, registry: RegistryUrl, credentials: Credentials) -> Self {
        Self {
            http,
            registry,
            limits: Limits::default(),
            credentials,
            granted: Granted::default(),
        }
    }

    /// Refuses images beyond these limits before their layers are pulled.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    pub const fn registry(&self) -> &RegistryUrl {
        &self.registry
    }

    pub(super) fn url(&self, repository: &Repository, rest: &str) -> Url {
        self.registry.join(&format!("/v2/{repository}/{rest}"))
    }

    /// Names an image of this registry in an error.
    pub(super) fn failed<'a>(
        &'a self,
        action: &'static str,
        repository: &'a Repository,
        version: Option<&'a Version>,
    ) -> impl Fn(RemoteErrorKind) -> RemoteError + 'a {
        move |kind| {
            let mut reference = format!("{}/{repository}", self.registry.authority());
            match version {
                Some(Version::Tag(tag)) => reference.extend([":", tag.as_str()]),
                Some(Version::Digest(digest)) => reference.extend(["@", digest.as_str()]),
                None => {}
            }
            RemoteError {
                action,
                reference,
                kind: Box::new(kind),
            }
        }
    }

    /// Sends a request, and once more with a token if the registry asks for one. The answer has
    /// one of the statuses wanted; all others are errors.
    pub(super) async fn send(
        &self,
        scope: &Scope<'_>,
        wanted: &[StatusCode],
        request: impl Fn() -> RequestBuilder,
    ) -> Result<Response, RemoteErrorKind> {
        self.send_watched(scope, wanted, &Activity::default(), request)
            .await
    }

    /// The same for a request that takes long and shows that it moves.
    pub(super) async fn send_watched(
        &self,
        scope: &Scope<'_>,
        wanted: &[StatusCode],
        activity: &Activity,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<Response, RemoteErrorKind> {
        let scope = scope.to_string();
        let authorization = self.granted.get(&scope).unwrap_or_else(|| self.initial());
        let mut response = self.send_as(&authorization, activity, request()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(authorization) = self.answer_challenge(&response, &scope).await?
        {
            self.granted.set(&scope, authorization.clone());
            response = self.send_as(&authorization, activity, request()).await?;
        }
        let status = response.status();
        if wanted.contains(&status) {
            return Ok(response);
        }
        let body = read_bounded(response, MAX_SMALL_BODY_BYTES)
            .await
            .unwrap_or_default();
        Err(RemoteErrorKind::from_status(
            status,
            &body.unwrap_or_default(),
        ))
    }

    fn initial(&self) -> Authorization {
        match &self.credentials {
            Credentials::Bearer(token) => Authorization::Bearer(token.clone()),
            // A name and a secret are shown only when and where the registry asks for them.
            Credentials::Anonymous | Credentials::Basic { .. } => Authorization::None,
        }
    }

    /// A request to elsewhere than the registry itself goes without its token.
    async fn send_as(
        &self,
        authorization: &Authorization,
        activity: &Activity,
        request: RequestBuilder,
    ) -> Result<Response, RemoteErrorKind> {
        let (http, request) = request.build_split();
        let request = request?;
        let is_own = self.registry.is_origin_of(request.url());
        let builder = RequestBuilder::from_parts(http, request);
        let builder = if is_own {
            authorization.attach(builder)
        } else {
            builder
        };
        activity.watch(builder.send()).await
    }

    async fn answer_challenge(
        &self,
        response: &Response,
        scope: &str,
    ) -> Result<Option<Authorization>, RemoteErrorKind> {
        if matches!(self.credentials, Credentials::Bearer(_)) {
            return Ok(None);
        }
        let challenge = response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|header| header.to_str().ok())
            .find_map(Challenge::parse);
        match (challenge, &self.credentials) {
            (Some(Challenge::Bearer { realm, service, .. }), _) => {
                let token = self.fetch_token(&realm, service.as_deref(), scope).await?;
                Ok(Some(Authorization::Bearer(token)))
            }
            (Some(Challenge::Basic), Credentials::Basic { user, password }) => {
                Ok(Some(Authorization::Basic {
                    user: user.clone(),
                    password: password.clone(),
                }))
            }
            (Some(Challenge::Basic) | None, _) => Ok(None),
        }
    }

    /// Asks the token service. The scope is ours, not the challenge's: a registry may hint at less
    /// than the whole transfer needs.
    async fn fetch_token(
        &self,
        realm: &str,
        service: Option<&str>,
        scope: &str,
    ) -> Result<String, RemoteErrorKind> {
        let realm = Url::parse(realm)
            .ok()
            .filter(|url| self.registry.allows(url))
            .ok_or(RemoteErrorKind::Protocol(
                "its token service is at no usable address",
            ))?;
        let mut request = self.http.get(realm).query(&[("scope", scope)]);
        if let Some(service) = service {
            request = request.query(&[("service", service)]);
        }
        if let Credentials::Basic { user, password } = &self.credentials {
            request = request.basic_auth(user, Some(password));
        }
        let response = within_silence(request.send()).await?;
        let status = response.status();
        let body = read_bounded(response, MAX_SMALL_BODY_BYTES)
            .await?
            .unwrap_or_default();
        if !status.is_success() {
            return Err(RemoteErrorKind::from_status(status, &body));
        }
        let answer: TokenAnswer = serde_json::from_slice(&body)
            .map_err(|_| RemoteErrorKind::Protocol("its token service gave no token"))?;
        answer
            .token
            .or(answer.access_token)
            .ok_or(RemoteErrorKind::Protocol("its token service gave no token"))
    }
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

/// What a transfer needs to be allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub repository: &'a Repository,
    pub push: bool,
}

impl std::fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let actions = if self.push { "pull,push" } else { "pull" };
        write!(f, "repository:{}:{actions}", self.repository)
    }
}

/// Counts attempts and waits between them.
#[derive(Debug)]
pub(super) struct Patience {
    left: u32,
    pause: Duration,
}

impl Patience {
    pub(super) const fn new() -> Self {
        Self {
            left: ATTEMPTS - 1,
            pause: FIRST_PAUSE,
        }
    }

    /// Waits before another attempt, or gives the error back when there is no point or no patience.
    pub(super) async fn after(&mut self, error: RemoteErrorKind) -> Result<(), RemoteErrorKind> {
        if self.left == 0 || !error.is_transient() {
            return Err(error);
        }
        self.left -= 1;
        tracing::debug!(error = %error, "registry request failed, trying again");
        tokio::time::sleep(self.pause).await;
        self.pause *= 2;
        Ok(())
    }

    /// Bytes came over: what failed before is forgotten.
    pub(super) const fn refill(&mut self) {
        *self = Self::new();
    }
}

/// Reads a body; `None` when it is longer than the limit.
pub(super) async fn read_bounded(
    mut response: Response,
    limit: usize,
) -> Result<Option<Vec<u8>>, RemoteErrorKind> {
    let mut body = Vec::new();
    while let Some(chunk) = within_silence(response.chunk()).await? {
        if body.len() + chunk.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
