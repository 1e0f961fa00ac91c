//! Replacing the runner's own program.
//!
//! ```text
//! fetch ──checksum, it runs──▶ swap (NAME.old kept, NAME.trial written) ──exec──▶ on trial ──connected──▶ confirmed
//!    │                                                                             │
//!    ╰─▶ nothing changed                                                           ╰─ too often, too long ──▶ rolled back
//! ```
//!
//! The program is replaced by one rename: whoever starts it finds the old one or the new one, whole. One that was rolled back
//! is not tried again for a day (NAME.rejected). One that could not be fetched is tried again soon, and then less and less often.

mod fetch;
mod trial;
mod updates;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use fetch::Candidate;
pub use trial::Standing;
pub use updates::Updates;

/// What a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub version: String,
    pub url: String,
    /// SHA-256, in hexadecimal.
    pub checksum: String,
}

impl Offer {
    pub(crate) fn has_checksum(&self, checksum: &str) -> bool {
        self.checksum.trim().eq_ignore_ascii_case(checksum.trim())
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    #[error("cannot fetch {url}")]
    Fetch { url: String, source: reqwest::Error },
    #[error("{url} is answered with status {status}")]
    Status { url: String, status: u16 },
    #[error("the program did not come within {} minutes", within.as_secs() / 60)]
    Slow { within: Duration },
    #[error("version {version} was tried and did not come up on this host")]
    Rejected { version: String },
    #[error("the program is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the program has the checksum {found}, and {expected} was offered")]
    Checksum { expected: String, found: String },
    #[error("the program does not run on this host: {reason}")]
    Unhealthy { reason: String },
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl UpdateError {
    /// Whether it is the program that does not work here, and not the way to it that was disturbed.
    fn is_of_the_program(&self) -> bool {
        match self {
            Self::Rejected { .. } | Self::TooLarge { .. } | Self::Unhealthy { .. } => true,
            Self::Fetch { .. }
            | Self::Status { .. }
            | Self::Slow { .. }
            | Self::Checksum { .. }
            | Self::Io { .. } => false,
        }
    }
}

/// The program that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// The one that runs now.
    pub fn current() -> io::Result<Self> {
        std::env::current_exe().map(Self::at)
    }

    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file beside it.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> UpdateError {
    let path = path.to_owned();
    move |source| UpdateError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests;
