//! Where a run comes from, in the words that stock servers know.

use std::collections::BTreeMap;
use std::fs;

use kiln_model::{Digest, Slug};
use sha2::{Digest as _, Sha256};

use super::repository::Repository;
use super::variables::Variables;

const PREFIX: &str = "bencher.dev/v0/";

/// The context of a run: repository, branch, commit, testbed.
pub(super) fn origin(
    repository: Option<&Repository>,
    variables: &Variables,
) -> BTreeMap<String, String> {
    let unknown = Repository::default();
    let repository = repository.unwrap_or(&unknown);
    let reference = repository
        .reference
        .clone()
        .or_else(|| reference_of_ci(variables));
    let branch = reference.as_deref().map(|reference| {
        let heads = reference.strip_prefix("refs/heads/");
        heads.unwrap_or(reference).to_owned()
    });
    let found = [
        ("repo/name", repository.name.clone()),
        ("repo/hash", repository.root.clone()),
        ("branch/ref", reference),
        ("branch/ref/name", branch),
        ("branch/hash", repository.hash.clone()),
        ("testbed/os", Some(std::env::consts::OS.to_owned())),
        ("testbed/fingerprint", fingerprint()),
    ];
    let found = found.into_iter();
    found
        .filter_map(|(key, value)| Some((format!("{PREFIX}{key}"), value?)))
        .collect()
}

/// The project that servers file such a run under when it names none.
pub(super) fn project(repository: &Repository) -> Option<Slug> {
    let name = repository.name.as_deref()?;
    let root = repository.root.as_deref().unwrap_or_default();
    let root = root.get(..7).unwrap_or(root);
    Slug::suggest(&format!("{name} {root}"))
}

/// CI checks out a commit, not a branch, and says which branch it was.
fn reference_of_ci(variables: &Variables) -> Option<String> {
    let names = [
        "GITHUB_HEAD_REF",
        "GITHUB_REF_NAME",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
        "CI_COMMIT_REF_NAME",
    ];
    let branch = names.iter().find_map(|name| variables.get(name))?;
    Some(format!("refs/heads/{branch}"))
}

/// Tells this machine from others and says nothing else about it: its id is not to leave it.
fn fingerprint() -> Option<String> {
    let id = fs::read_to_string("/etc/machine-id").ok()?;
    let id = id.trim();
    if id.is_empty() {
        return None;
    }
    let hash = Sha256::new()
        .chain_update(b"kiln testbed fingerprint\0")
        .chain_update(id)
        .finalize();
    let digest = Digest::from_hash(&hash)?;
    digest.hex().get(..32).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(reference: Option<&str>) -> Repository {
        Repository {
            name: Some("tool".to_owned()),
            root: Some("0123456789".repeat(4)),
            reference: reference.map(str::to_owned),
            hash: Some("ab".repeat(20)),
        }
    }

    #[test]
    fn a_checked_out_branch_is_told_with_its_commit() {
        let found = origin(
            Some(&repository(Some("refs/heads/fix/it"))),
            &Variables::of(&[("GITHUB_HEAD_REF", "other")]),
        );
        assert_eq!(found["bencher.dev/v0/branch/ref"], "refs/heads/fix/it");
        assert_eq!(found["bencher.dev/v0/branch/ref/name"], "fix/it");
        assert_eq!(found["bencher.dev/v0/branch/hash"], "ab".repeat(20));
        assert_eq!(found["bencher.dev/v0/repo/name"], "tool");
    }

    #[test]
    fn without_a_branch_ci_is_asked() {
        let found = origin(
            Some(&repository(None)),
            &Variables::of(&[("GITHUB_HEAD_REF", ""), ("GITHUB_REF_NAME", "main")]),
        );
        assert_eq!(found["bencher.dev/v0/branch/ref/name"], "main");
        let found = origin(None, &Variables::of(&[]));
        assert!(!found.contains_key("bencher.dev/v0/branch/ref/name"));
    }

    #[test]
    fn a_repository_suggests_its_project() {
        let project = project(&repository(None)).unwrap();
        assert_eq!(project.as_str(), "tool-0123456");
    }
}
