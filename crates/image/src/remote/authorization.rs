//! Who we are to a registry, and the tokens it gave us.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use reqwest::RequestBuilder;

/// What the caller has to show. Secrets never appear in `Debug`.
#[derive(Clone, Default)]
pub enum Credentials {
    #[default]
    Anonymous,
    /// A token as it is, such as a runner gets with a job.
    Bearer(String),
    /// A name and a secret, shown to whoever the registry names as its token service.
    Basic { user: String, password: String },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Bearer(_) => "Bearer(…)",
            Self::Basic { .. } => "Basic(…)",
        })
    }
}

/// The form in which a scope's requests are authorized.
#[derive(Clone)]
pub(super) enum Authorization {
    None,
    Bearer(String),
    Basic { user: String, password: String },
}

impl Authorization {
    pub(super) fn attach(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::None => request,
            Self::Bearer(token) => request.bearer_auth(token),
            Self::Basic { user, password } => request.basic_auth(user, Some(password)),
        }
    }
}

/// Authorizations by scope, kept for the life of a client.
#[derive(Default)]
pub(super) struct Granted(Mutex<BTreeMap<String, Authorization>>);

impl Granted {
    pub(super) fn get(&self, scope: &str) -> Option<Authorization> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(scope)
            .cloned()
    }

    pub(super) fn set(&self, scope: &str, authorization: Authorization) {
        let mut granted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        granted.insert(scope.to_owned(), authorization);
    }
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Granted(…)")
    }
}
