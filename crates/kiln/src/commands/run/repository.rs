//! The git repository that a run comes from.

use std::path::Path;
use std::process::{Command, Stdio};

/// What git says about a checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) name: Option<String>,
    /// The first commit; it tells repositories of the same name apart.
    pub(super) root: Option<String>,
    /// Such as `refs/heads/main`; nothing when no branch is checked out.
    pub(super) reference: Option<String>,
    pub(super) hash: Option<String>,
}

impl Repository {
    /// The repository around a directory, as far as git is there and knows it.
    pub(super) fn around(directory: &Path) -> Option<Self> {
        let git = |arguments: &[&str]| ask(directory, arguments);
        let top = git(&["rev-parse", "--show-toplevel"])?;
        let origin = git(&["config", "--get", "remote.origin.url"]);
        // The root of a shallow clone is not the first commit.
        let is_whole = git(&["rev-parse", "--is-shallow-repository"]).as_deref() == Some("false");
        let roots = is_whole.then(|| git(&["rev-list", "--max-parents=0", "HEAD"]));
        Some(Self {
            name: name(origin.as_deref().unwrap_or(&top)),
            root: roots
                .flatten()
                .and_then(|roots| roots.lines().last().map(str::to_owned)),
            reference: git(&["symbolic-ref", "--quiet", "HEAD"]),
            hash: git(&["rev-parse", "--verify", "--quiet", "HEAD"]),
        })
    }
}

/// The last part of an address or a path.
fn name(place: &str) -> Option<String> {
    let place = place.trim_end_matches('/');
    let place = place.strip_suffix(".git").unwrap_or(place);
    let name = place.rsplit(['/', ':']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn ask(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(directory: &Path, arguments: &[&str]) {
        let status = Command::new("git")
            .current_dir(directory)
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    }

    #[test]
    fn a_checkout_is_known_by_its_name_root_branch_and_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        git(path, &["init", "--quiet", "--initial-branch", "feature/x"]);
        git(path, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
        let first = Repository::around(path).unwrap();
        git(path, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
        git(
            path,
            &["remote", "add", "origin", "git@example.org:them/tool.git"],
        );
        let found = Repository::around(path).unwrap();
        assert_eq!(found.name.as_deref(), Some("tool"));
        assert_eq!(found.root, first.hash);
        assert_ne!(found.hash, first.hash);
        assert_eq!(found.reference.as_deref(), Some("refs/heads/feature/x"));
        git(path, &["checkout", "--quiet", "--detach"]);
        assert_eq!(Repository::around(path).unwrap().reference, None);
    }

    #[test]
    fn a_directory_without_a_repository_has_none() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Repository::around(directory.path()), None);
    }

    #[test]
    fn names_are_the_last_part_of_addresses() {
        for place in [
            "https://example.org/them/tool.git",
            "git@example.org:them/tool",
            "git@example.org:tool.git",
            "/srv/checkouts/tool/",
        ] {
            assert_eq!(name(place).as_deref(), Some("tool"), "{place}");
        }
        assert_eq!(name("/"), None);
    }
}
