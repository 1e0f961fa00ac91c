//! Forges that are none: servers on loopback which answer as the documented APIs of GitHub and GitLab do, and refuse what those
//! would refuse.

mod fake;
pub mod github;
pub mod gitlab;

pub use fake::{Asked, Fake, Rule};
pub use github::GitHubRule;
pub use gitlab::GitLabRule;

/// The only token that they know.
pub const TOKEN: &str = "t0ken";
/// The only commit.
pub const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
