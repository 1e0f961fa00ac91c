//! What a path below `/v2/` asks for.
//!
//! A name has any number of parts, so a path is read from its end:
//!
//! ```text
//! <name>/blobs/<digest>      <name>/blobs/uploads/[<upload>]
//! <name>/manifests/<reference>    <name>/tags/list    <name>/referrers/<digest>
//! ```

use std::fmt;

use kiln_model::Digest;

use crate::{Name, Reference, Tag, UploadId};

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub name: Name,
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Blob(Digest),
    Uploads,
    Upload(UploadId),
    Manifest(Reference),
    Tags,
    Referrers(Digest),
}

/// Why a path asks for nothing we have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misroute {
    #[error("there is nothing at this path")]
    Nothing,
    #[error(transparent)]
    Name(#[from] crate::InvalidName),
    #[error(
        "the digest is not valid: expected `sha256:` and 64, or `sha512:` and 128, lower-case hex digits"
    )]
    Digest,
    #[error(transparent)]
    Tag(#[from] crate::InvalidTag),
    #[error("there is no such upload")]
    Upload,
}

impl Route {
    /// Reads a path as it stands in the request line, after `/v2/`, still percent-encoded.
    ///
    /// Each part is decoded after the path was split, so an encoded slash never becomes a separator.
    pub fn parse(path: &str) -> Result<Self, Misroute> {
        let parts: Vec<String> = path
            .split('/')
            .map(decode)
            .collect::<Option<_>>()
            .ok_or(crate::InvalidName)?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (name, target) = match parts.as_slice() {
            [name @ .., "blobs", "uploads"] | [name @ .., "blobs", "uploads", ""] => {
                (name, Target::Uploads)
            }
            [name @ .., "blobs", "uploads", id] => (
                name,
                Target::Upload(id.parse().map_err(|_| Misroute::Upload)?),
            ),
            [name @ .., "tags", "list"] => (name, Target::Tags),
            [name @ .., "blobs", digest] => (name, Target::Blob(parse_digest(digest)?)),
            [name @ .., "referrers", digest] => (name, Target::Referrers(parse_digest(digest)?)),
            [name @ .., "manifests", reference] => {
                (name, Target::Manifest(parse_reference(reference)?))
            }
            _ => return Err(Misroute::Nothing),
        };
        Ok(Self {
            name: parse_name(name)?,
            target,
        })
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.target {
            Target::Blob(digest) => write!(f, "{name}/blobs/{digest}"),
            Target::Uploads => write!(f, "{name}/blobs/uploads/"),
            Target::Upload(id) => write!(f, "{name}/blobs/uploads/{id}"),
            Target::Manifest(reference) => write!(f, "{name}/manifests/{reference}"),
            Target::Tags => write!(f, "{name}/tags/list"),
            Target::Referrers(digest) => write!(f, "{name}/referrers/{digest}"),
        }
    }
}

/// A part that holds a slash, after decoding, is no part of a name.
fn parse_name(parts: &[&str]) -> Result<Name, Misroute> {
    if parts.iter().any(|part| part.contains('/')) {
        return Err(crate::InvalidName.into());
    }
    Ok(parts.join("/").parse()?)
}

fn parse_digest(text: &str) -> Result<Digest, Misroute> {
    text.parse().map_err(|_| Misroute::Digest)
}

/// A colon can only stand in a digest.
fn parse_reference(text: &str) -> Result<Reference, Misroute> {
    if text.contains(':') {
        return parse_digest(text).map(Reference::Digest);
    }
    Ok(Reference::Tag(text.parse::<Tag>()?))
}

fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            // `from_str_radix` would take a sign.
            if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return None;
            }
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
