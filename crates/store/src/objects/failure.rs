//! What went wrong with an object, always by name.

use std::io;

use crate::{Error, ObjectErrorKind};

pub(super) fn object_error(
    kind: ObjectErrorKind,
    name: &str,
    what: impl std::fmt::Display,
) -> Error {
    Error::Object {
        kind,
        message: format!("{name}: {what}"),
    }
}

pub(super) fn io_error(name: &str, error: &io::Error) -> Error {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "there are forty kinds; these differ for us"
    )]
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ObjectErrorKind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ObjectErrorKind::Full,
        _ => ObjectErrorKind::Io,
    };
    object_error(kind, name, error)
}

pub(super) fn remote_error(name: &str, error: &object_store::Error) -> Error {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a foreign list that grows; these differ for us"
    )]
    let kind = match error {
        object_store::Error::NotFound { .. } => ObjectErrorKind::NotFound,
        object_store::Error::Generic { .. } | object_store::Error::JoinError { .. } => {
            ObjectErrorKind::Io
        }
        _ => ObjectErrorKind::Other,
    };
    object_error(kind, name, error)
}
