//! One server and our standing with it.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Page, http_client};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The slowest call is a report with the output of many iterations.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// A job with its output has at most a few megabytes; more is not an answer of this server.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// A client of one server. Clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    authorization: Option<HeaderValue>,
}

impl Client {
    /// A client of the server at `base`, which may have a path of its own behind a proxy.
    pub fn new(base: &str, key: Option<&str>) -> Result<Self, Error> {
        let base = parse_base(base)?;
        let authorization = key.map(bearer).transpose()?;
        // A redirect would take the key somewhere else.
        let http = http_client(|builder| {
            builder
                .connect_timeout(CONNECT_TIMEOUT)
                .timeout(CALL_TIMEOUT)
                .redirect(redirect::Policy::none())
        })
        .map_err(Error::Setup)?;
        Ok(Self {
            http,
            base,
            authorization,
        })
    }

    /// The server's address.
    pub fn base(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Error> {
        let request = self.request(Method::GET, path)?;
        self.read(self.send(request).await?).await
    }

    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        page: Page,
        filters: &[(&str, &str)],
    ) -> Result<Vec<T>, Error> {
        let request = self
            .request(Method::GET, path)?
            .query(&page.query())
            .query(filters);
        self.read(self.send(request).await?).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let request = self.request(Method::POST, path)?.json(body);
        self.read(self.send(request).await?).await
    }

    pub(crate) async fn post_nothing<T: DeserializeOwned>(
        &self,
        path: &[&str],
    ) -> Result<T, Error> {
        let request = self.request(Method::POST, path)?;
        self.read(self.send(request).await?).await
    }

    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let request = self.request(Method::PATCH, path)?.json(body);
        self.read(self.send(request).await?).await
    }

    pub(crate) async fn delete(&self, path: &[&str]) -> Result<(), Error> {
        let request = self.request(Method::DELETE, path)?;
        self.send(request).await.map(drop)
    }

    pub(crate) async fn probe(&self, path: &[&str]) -> Result<(), Error> {
        let request = self.request(Method::GET, path)?;
        self.send(request).await.map(drop)
    }

    pub(crate) fn request(&self, method: Method, path: &[&str]) -> Result<RequestBuilder, Error> {
        let request = self.http.request(method, join(&self.base, path)?);
        Ok(match &self.authorization {
            Some(key) => request.header(AUTHORIZATION, key),
            None => request,
        })
    }

    /// Sends a request; an answer that is not a success is an error.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = request.send().await.map_err(|e| self.unreachable(e))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.bytes(response).await.unwrap_or_default();
        Err(Error::from_answer(status, &body))
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, Error> {
        let body = self.bytes(response).await?;
        serde_json::from_slice(&body).map_err(|source| Error::Unreadable {
            server: self.base().to_owned(),
            source,
        })
    }

    /// The whole answer.
    pub(crate) async fn bytes(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.unreachable(e))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(Error::TooLarge {
                    server: self.base().to_owned(),
                    limit: MAX_ANSWER_BYTES,
                });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unreachable(&self, source: reqwest::Error) -> Error {
        Error::Unreachable {
            server: self.base().to_owned(),
            source: source.without_url(),
        }
    }
}

fn parse_base(text: &str) -> Result<Url, Error> {
    let refuse = || Error::Address(text.chars().take(200).collect());
    let url = Url::parse(text).map_err(|_| refuse())?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if is_plain { Ok(url) } else { Err(refuse()) }
}

fn bearer(key: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| Error::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Each part is one segment, whatever characters it has.
fn join(base: &Url, path: &[&str]) -> Result<Url, Error> {
    let mut url = base.clone();
    let mut segments = url
        .path_segments_mut()
        .map_err(|()| Error::Address(base.to_string()))?;
    segments.pop_if_empty();
    for part in path {
        // A URL drops such segments, and the call would go to another resource.
        if matches!(*part, "" | "." | "..") {
            return Err(Error::Name((*part).to_owned()));
        }
        segments.push(part);
    }
    drop(segments);
    Ok(url)
}

#[cfg(test)]
mod tests;
