//! Names and references, as the distribution specification spells them.

use std::fmt;
use std::str::FromStr;

use kiln_model::Digest;

/// Longer names do not fit where clients put a host name before them.
pub const MAX_NAME_BYTES: usize = 255;
pub const MAX_TAG_BYTES: usize = 128;

/// A repository's whole name: a project's UUID or slug, and possibly a path below it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name {
    text: String,
    project_end: usize,
}

/// A human's name for a manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

/// What a manifest is asked for by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    Tag(Tag),
    Digest(Digest),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a name has up to 255 characters: parts of a-z and 0-9, joined by one `.`, one or two `_` or any number of `-`, \
     with `/` between the parts"
)]
pub struct InvalidName;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a tag has 1 to 128 characters of a-z, A-Z, 0-9, `_`, `.` and `-`, and starts with neither `.` nor `-`"
)]
pub struct InvalidTag;

impl Name {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first part: whose repository it is.
    pub fn project(&self) -> &str {
        &self.text[..self.project_end]
    }

    /// What follows the first part; empty when nothing does.
    pub fn repository(&self) -> &str {
        self.text[self.project_end..].trim_start_matches('/')
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if text.len() > MAX_NAME_BYTES || !text.split('/').all(is_component) {
            return Err(InvalidName);
        }
        let project_end = text.find('/').unwrap_or(text.len());
        Ok(Self {
            text: text.to_owned(),
            project_end,
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({})", self.text)
    }
}

impl Tag {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tag {
    type Err = InvalidTag;

    fn from_str(text: &str) -> Result<Self, InvalidTag> {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let mut bytes = text.bytes();
        let good =
            bytes.next().is_some_and(word) && bytes.all(|b| word(b) || b == b'.' || b == b'-');
        if good && text.len() <= MAX_TAG_BYTES {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidTag)
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => tag.fmt(f),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
fn is_component(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut rest = text;
    loop {
        let after_letters = rest.trim_start_matches(is_letter);
        if after_letters.len() == rest.len() {
            return false;
        }
        if after_letters.is_empty() {
            return true;
        }
        let end = after_letters.find(is_letter).unwrap_or(after_letters.len());
        let (separator, next) = after_letters.split_at(end);
        if !(matches!(separator, "." | "_" | "__") || separator.bytes().all(|b| b == b'-')) {
            return false;
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_grammar() {
        let longest = format!("{}/b", "a".repeat(253));
        for good in [
            "a",
            "a/b",
            "0/1",
            "a.b",
            "a_b",
            "a__b",
            "a-b",
            "a---b",
            "a.b/c__d/e-f",
            &longest,
        ] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
        let longer = "a".repeat(256);
        for bad in [
            "", "/", "a/", "/a", "a//b", ".", "..", "a/..", "../a", "a..b", "a___b", "a._b", "A",
            "a b", "-a", "a-", "a.", "_a", "a%2fb", "é", "a\0b", "a/./b", &longer,
        ] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_a_project_and_a_path() {
        let parts = |text: &str| {
            let name: Name = text.parse().unwrap();
            (name.project().to_owned(), name.repository().to_owned())
        };
        assert_eq!(parts("p"), ("p".to_owned(), String::new()));
        assert_eq!(parts("p/a/b"), ("p".to_owned(), "a/b".to_owned()));
    }

    #[test]
    fn tags_are_those_of_the_grammar() {
        let (longest, longer) = ("a".repeat(128), "a".repeat(129));
        for good in ["latest", "V1.0-rc_2", "_", "0", &longest] {
            assert!(good.parse::<Tag>().is_ok(), "{good}");
        }
        for bad in ["", ".a", "-a", "a/b", "a:b", "a b", "é", "a\n", &longer] {
            assert!(bad.parse::<Tag>().is_err(), "{bad}");
        }
    }
}
