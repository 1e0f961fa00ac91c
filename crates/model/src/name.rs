//! Names that people give, checked where they enter.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest name or slug of a resource, in characters.
pub const MAX_NAME: usize = 64;
/// The longest branch name, in characters.
pub const MAX_BRANCH_NAME: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {what}: {rule}")]
pub struct InvalidName {
    what: &'static str,
    text: String,
    rule: &'static str,
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident($what:literal, $rule:literal) = $check:path;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                if $check(text) {
                    return Ok(Self(text.to_owned()));
                }
                let text = text.chars().take(MAX_NAME + 16).collect();
                Err(InvalidName { what: $what, text, rule: $rule })
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// What a person calls a resource.
    ResourceName("name", "1 to 64 characters, no control characters, no space at either end") = is_resource_name;
    /// How a resource stands in a URL.
    Slug("slug", "1 to 64 characters of a-z, 0-9 and single hyphens between them") = is_slug;
    /// A git branch.
    BranchName("branch name", "1 to 256 characters, as git allows") = is_branch_name;
    /// The name of a queue's pool of runners.
    PoolName("pool name", "1 to 64 characters of a-z, 0-9 and single hyphens between them") = is_slug;
    /// Where mail for a person would go.
    Email("email address", "one @ with something on both sides, at most 254 characters, no spaces") = is_email;
    /// A project's page.
    ProjectUrl("URL", "http:// or https:// and a host, at most 2048 characters, no spaces") = is_project_url;
    /// Forty hex digits.
    GitHash("git hash", "40 lower-case hex digits") = is_git_hash;
}

impl Slug {
    /// The slug a name suggests; `None` when nothing of it can stand in one.
    pub fn suggest(name: &str) -> Option<Self> {
        let mut slug = String::new();
        for c in name.chars() {
            if slug.len() == MAX_NAME {
                break;
            }
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.trim_end_matches('-').parse().ok()
    }

    /// The same with something behind it that makes it another; the result is no longer than a slug may be.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Option<Self> {
        let room = MAX_NAME.checked_sub(suffix.len() + 1)?;
        let kept = self.0[..self.0.len().min(room)].trim_end_matches('-');
        format!("{kept}-{suffix}").parse().ok()
    }
}

fn is_email(text: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !is_bidi_control(c);
    text.len() <= 254
        && text.chars().all(plain)
        && text.split_once('@').is_some_and(|(local, host)| {
            !local.is_empty() && !host.is_empty() && !host.contains('@')
        })
}

fn is_project_url(text: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !is_bidi_control(c);
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    text.len() <= 2048
        && text.chars().all(plain)
        && host.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#']))
}

fn is_resource_name(text: &str) -> bool {
    // Plain letters without spaces, as in nearly all names, break none of the other rules.
    if text.bytes().all(|b| matches!(b, b'!'..=b'~')) {
        return (1..=MAX_NAME).contains(&text.len());
    }
    let len = text.chars().count();
    (1..=MAX_NAME).contains(&len)
        && text.trim() == text
        && !text.chars().any(|c| c.is_control() || is_bidi_control(c))
}

/// Characters that make a name read differently from what it is.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_slug(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

/// The rules of `git check-ref-format --branch` that do not depend on a repository.
fn is_branch_name(text: &str) -> bool {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c) || is_bidi_control(c);
    (1..=MAX_BRANCH_NAME).contains(&text.chars().count())
        && !text.chars().any(forbidden)
        && !text.contains("..")
        && !text.contains("@{")
        && text != "@"
        && !text.starts_with('-')
        && !text.ends_with('.')
        && text.split('/').all(|part| {
            !part.is_empty() && !part.starts_with('.') && !part.as_bytes().ends_with(b".lock")
        })
}

fn is_git_hash(text: &str) -> bool {
    text.len() == 40
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: FromStr>(good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(text.parse::<T>().is_ok(), "{text:?} should be valid");
        }
        for text in bad {
            assert!(text.parse::<T>().is_err(), "{text:?} should be refused");
        }
    }

    #[test]
    fn resource_names() {
        let (longest, longer) = ("é".repeat(64), "é".repeat(65));
        check::<ResourceName>(
            &["a", "Ref Project", "ünïcode ✓", &longest],
            &["", " a", "a ", "a\nb", "a\u{202e}b", "\u{1b}[31m", &longer],
        );
    }

    #[test]
    fn slugs() {
        check::<Slug>(
            &["a", "ref-project", "x86-64"],
            &["", "-a", "a-", "a--b", "A", "a_b", "a/b", "../a"],
        );
    }

    #[test]
    fn branch_names() {
        check::<BranchName>(
            &["main", "feature/x", "refs/pull/12/merge", "ünï"],
            &[
                "", "a b", "a..b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "-a",
                "a@{b", "@", "a~1",
            ],
        );
    }

    #[test]
    fn email_addresses() {
        check::<Email>(
            &["a@b", "admin@localhost", "first.last+tag@example.com"],
            &["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b\n"],
        );
    }

    #[test]
    fn project_urls() {
        check::<ProjectUrl>(
            &["https://example.com", "http://localhost:3000/x?y"],
            &[
                "",
                "https://",
                "https:///x",
                "javascript:alert(1)",
                "ftp://x",
                "https://a b",
            ],
        );
    }

    #[test]
    fn a_suffix_makes_another_slug_of_legal_length() {
        let slug: Slug = "a-b".parse().unwrap();
        assert_eq!(slug.with_suffix("xyz").unwrap().as_str(), "a-b-xyz");
        let long: Slug = "a".repeat(64).parse().unwrap();
        assert_eq!(long.with_suffix("12345678").unwrap().as_str().len(), 64);
    }

    #[test]
    fn slugs_are_suggested_from_names() {
        assert_eq!(
            Slug::suggest("Ref Project!").unwrap().as_str(),
            "ref-project"
        );
        assert_eq!(Slug::suggest("  --A  b").unwrap().as_str(), "a-b");
        assert_eq!(Slug::suggest("✓"), None);
        assert_eq!(Slug::suggest(&"ab ".repeat(60)).unwrap().as_str().len(), 64);
    }
}
