//! Names of images: `[host[:port]/]repository[:tag][@digest]`.

use std::fmt;
use std::str::FromStr;

use kiln_model::Digest;

/// The longest repository name a registry has to take.
const MAX_REPOSITORY_BYTES: usize = 255;

/// The longest tag the distribution specification allows.
const MAX_TAG_BYTES: usize = 128;

/// A DNS name, a colon and a port.
const MAX_HOST_BYTES: usize = 259;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    #[error("{0:?} is not a registry host: expected a name or an address, and perhaps a port")]
    Host(String),
    #[error(
        "{0:?} is not a repository name: expected lower-case letters and digits, \
         with `.`, `_`, `-` between them and `/` between parts, at most {MAX_REPOSITORY_BYTES} bytes"
    )]
    Repository(String),
    #[error(
        "{0:?} is not a tag: expected a letter, digit or `_`, \
         then letters, digits, `.`, `_`, `-`, at most {MAX_TAG_BYTES} bytes"
    )]
    Tag(String),
    #[error(transparent)]
    Digest(#[from] kiln_model::NotADigest),
}

/// An image as a person writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    host: Option<Host>,
    repository: Repository,
    tag: Option<Tag>,
    digest: Option<Digest>,
}

impl Reference {
    /// The registry, if the reference names one.
    pub const fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    pub const fn repository(&self) -> &Repository {
        &self.repository
    }

    pub const fn tag(&self) -> Option<&Tag> {
        self.tag.as_ref()
    }

    pub const fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// What to ask a registry for: the digest if there is one, else the tag, else `latest`.
    pub fn version(&self) -> Version {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => Version::Digest(digest.clone()),
            (None, Some(tag)) => Version::Tag(tag.clone()),
            (None, None) => Version::Tag(Tag::latest()),
        }
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => (named, Some(digest.parse()?)),
            None => (text, None),
        };
        let (host, path) = match named.split_once('/') {
            Some((first, rest)) if looks_like_a_host(first) => (Some(first.parse()?), rest),
            _ => (None, named),
        };
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.parse()?)),
            None => (path, None),
        };
        Ok(Self {
            host,
            repository: repository.parse()?,
            tag,
            digest,
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            write!(f, "{host}/")?;
        }
        write!(f, "{}", self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

/// One version of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    Tag(Tag),
    Digest(Digest),
}

impl Version {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tag(tag) => tag.as_str(),
            Self::Digest(digest) => digest.as_str(),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! text_newtype {
    ($(#[$doc:meta])* $name:ident, $is_valid:path, $error:path, $limit:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ReferenceError;

            fn from_str(text: &str) -> Result<Self, ReferenceError> {
                if text.len() <= $limit && $is_valid(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err($error(text.chars().take($limit).collect()))
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_newtype!(
    /// A registry's name or address, perhaps with a port.
    Host, is_host, ReferenceError::Host, MAX_HOST_BYTES
);
text_newtype!(
    /// A repository within a registry; parts are separated by `/`.
    Repository, is_repository, ReferenceError::Repository, MAX_REPOSITORY_BYTES
);
text_newtype!(
    /// A name for one version that can move to another.
    Tag, is_tag, ReferenceError::Tag, MAX_TAG_BYTES
);

impl Tag {
    pub fn latest() -> Self {
        Self("latest".to_owned())
    }
}

/// Docker's rule: what could be no first part of a repository is a host.
fn looks_like_a_host(first: &str) -> bool {
    first == "localhost"
        || first.contains(['.', ':', '['])
        || first.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, port)) => match port.strip_prefix(':') {
                Some(port) => (address, Some(port)),
                None => return false,
            },
            None => return false,
        },
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let name_is_valid = if text.starts_with('[') {
        name.parse::<std::net::Ipv6Addr>().is_ok()
    } else {
        name.split('.').all(is_host_label)
    };
    let port_is_valid = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|n| n > 0)
    };
    name_is_valid && port.is_none_or(port_is_valid)
}

fn is_host_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_repository(text: &str) -> bool {
    text.split('/').all(is_repository_part)
}

/// Runs of letters and digits, separated by one `.`, one or two `_`, or any number of `-`.
fn is_repository_part(part: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    is_word(*first)
        && is_word(*last)
        && part
            .split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            .all(|separator| {
                matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|b| b == b'-')
            })
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().next().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests;
