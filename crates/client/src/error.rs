//! What can go wrong with a call, told apart as far as a caller acts differently.

use std::fmt;

use kiln_model::v0::ErrorBody;
use reqwest::StatusCode;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{0:?} is not the address of a server: expected http:// or https:// and a host")]
    Address(String),
    #[error("the key has characters that no key has")]
    Key,
    #[error("{0:?} is not a name or an id")]
    Name(String),
    #[error("cannot set up an HTTP client")]
    Setup(#[source] reqwest::Error),
    /// No answer: refused, reset, timed out or no such host. The call may or may not have happened.
    #[error("cannot reach {server}")]
    Unreachable {
        server: String,
        source: reqwest::Error,
    },
    #[error("not authorized: {0}")]
    Unauthorized(Answer),
    #[error("not found: {0}")]
    NotFound(Answer),
    #[error("conflict: {0}")]
    Conflict(Answer),
    #[error("refused: {0}")]
    Invalid(Answer),
    /// The server is at fault or too busy.
    #[error("the server failed: {0}")]
    Failed(Answer),
    #[error("cannot understand the answer of {server}")]
    Unreadable {
        server: String,
        source: serde_json::Error,
    },
    #[error("the answer of {server} has more than {limit} bytes")]
    TooLarge { server: String, limit: usize },
}

/// What a server said when it did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub message: String,
    pub code: Option<String>,
    /// Names the call in the server's log.
    pub request_id: Option<String>,
}

impl Error {
    /// The answer in the error, when the server gave one.
    pub const fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Unauthorized(answer)
            | Self::NotFound(answer)
            | Self::Conflict(answer)
            | Self::Invalid(answer)
            | Self::Failed(answer) => Some(answer),
            Self::Address(_)
            | Self::Key
            | Self::Name(_)
            | Self::Setup(_)
            | Self::Unreachable { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. } => None,
        }
    }

    pub(crate) fn from_answer(status: StatusCode, body: &[u8]) -> Self {
        let answer = Answer::new(status, body);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::Unauthorized(answer),
            // As stock servers have it, to send no key at all is a bad request.
            StatusCode::BAD_REQUEST if answer.code.as_deref() == Some("unauthorized") => {
                Self::Unauthorized(answer)
            }
            StatusCode::NOT_FOUND => Self::NotFound(answer),
            StatusCode::CONFLICT | StatusCode::LOCKED => Self::Conflict(answer),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Self::Failed(answer),
            _ if status.is_client_error() => Self::Invalid(answer),
            _ => Self::Failed(answer),
        }
    }
}

impl Answer {
    fn new(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice::<ErrorBody>(body) {
            Ok(body) => Self {
                status: status.as_u16(),
                message: body.message,
                code: body.error_code,
                request_id: Some(body.request_id),
            },
            Err(_) => Self {
                status: status.as_u16(),
                message: plain_message(status, body),
                code: None,
                request_id: None,
            },
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (status {}", self.message, self.status)?;
        if let Some(id) = &self.request_id {
            write!(f, ", request {id}")?;
        }
        f.write_str(")")
    }
}

/// A proxy in between answers in its own words; a page of markup is not a message.
fn plain_message(status: StatusCode, body: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(body);
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() || line.starts_with('<') || line.chars().any(char::is_control) {
        return status
            .canonical_reason()
            .unwrap_or("no reason given")
            .to_owned();
    }
    line.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_becomes_the_error_a_caller_acts_on() {
        let kind = |status| {
            let error = Error::from_answer(StatusCode::from_u16(status).unwrap(), b"");
            let text = error.to_string();
            text.split(": ").next().unwrap().to_owned()
        };
        for (status, expected) in [
            (400, "refused"),
            (401, "not authorized"),
            (402, "refused"),
            (403, "not authorized"),
            (404, "not found"),
            (409, "conflict"),
            (422, "refused"),
            (423, "conflict"),
            (429, "the server failed"),
            (500, "the server failed"),
            (503, "the server failed"),
            (302, "the server failed"),
        ] {
            assert_eq!(kind(status), expected, "{status}");
        }
    }

    #[test]
    fn the_servers_words_and_request_id_are_kept() {
        let body = br#"{"request_id":"r-1","error_code":"spec_missing","message":"no such spec"}"#;
        let error = Error::from_answer(StatusCode::BAD_REQUEST, body);
        assert_eq!(
            error.to_string(),
            "refused: no such spec (status 400, request r-1)"
        );
        assert_eq!(
            error.answer().unwrap().code.as_deref(),
            Some("spec_missing")
        );
    }

    #[test]
    fn a_proxys_page_of_markup_is_not_shown_as_a_message() {
        let error = Error::from_answer(StatusCode::BAD_GATEWAY, b"<html>\n<body>");
        assert_eq!(
            error.to_string(),
            "the server failed: Bad Gateway (status 502)"
        );
    }
}
