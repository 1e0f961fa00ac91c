//! The parameters of a query or a form: names may be repeated.

use axum::extract::Query;
use axum::http::Uri;

#[derive(Clone, Debug, Default)]
pub(super) struct Parameters(pub(super) Vec<(String, String)>);

impl Parameters {
    /// What cannot be read as parameters has none.
    pub(super) fn of(uri: &Uri) -> Self {
        Query::try_from_uri(uri)
            .map(|Query(pairs)| Self(pairs))
            .unwrap_or_default()
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}
