//! What a client asks to do, in the words of the token endpoint: `repository:<name>:<action>,<action>`.

use std::fmt;

use kiln_registry::Name;

use crate::token::Action;

/// A token travels with every request, in a header of limited size. A push that mounts from many repositories asks for a
/// few of them; without a token for the rest it sends the bytes.
pub(super) const MAX_SCOPES: usize = 16;

/// One repository, and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) repository: Name,
    pub(super) actions: Vec<Action>,
}

impl Scope {
    /// Reads every scope of a request: a parameter may be repeated, and may hold several with spaces between. What is no
    /// scope is overlooked; a repository named twice is one repository.
    pub(super) fn read<'a>(asked: impl Iterator<Item = &'a str>) -> Vec<Self> {
        let mut scopes: Vec<Self> = Vec::new();
        let words = asked.flat_map(|list| list.split(' '));
        for scope in words.filter_map(Self::parse) {
            let known = scopes
                .iter()
                .position(|known| known.repository == scope.repository);
            match known {
                Some(known) => scopes[known].add(&scope.actions),
                None if scopes.len() < MAX_SCOPES => scopes.push(scope),
                None => {}
            }
        }
        scopes
    }

    fn parse(text: &str) -> Option<Self> {
        let (repository, actions) = text.strip_prefix("repository:")?.rsplit_once(':')?;
        let asks = |names: &[&str]| actions.split(',').any(|action| names.contains(&action));
        let mut asked = Vec::new();
        if asks(&["pull", "*"]) {
            asked.push(Action::Pull);
        }
        if asks(&["push", "delete", "*"]) {
            asked.push(Action::Push);
        }
        Some(Self {
            repository: repository.parse().ok()?,
            actions: asked,
        })
    }

    fn add(&mut self, actions: &[Action]) {
        for action in actions {
            if !self.actions.contains(action) {
                self.actions.push(*action);
            }
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.actions.iter().map(|action| match action {
            Action::Pull => "pull",
            Action::Push => "push",
        });
        let names: Vec<_> = names.collect();
        write!(f, "repository:{}:{}", self.repository, names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &[&str], expected: &[&str]) {
        let read = Scope::read(asked.iter().copied());
        let read: Vec<_> = read.iter().map(Scope::to_string).collect();
        assert_eq!(read, expected, "{asked:?}");
    }

    #[test]
    fn a_scope_names_a_repository_and_actions() {
        check(&[], &[]);
        check(&["repository:p:pull"], &["repository:p:pull"]);
        check(&["repository:p/a:push,pull"], &["repository:p/a:pull,push"]);
        check(&["repository:p:*"], &["repository:p:pull,push"]);
        check(&["repository:p:delete"], &["repository:p:push"]);
        check(&["repository:p:fly"], &["repository:p:"]);
    }

    #[test]
    fn several_come_repeated_or_with_spaces() {
        let both = ["repository:to:pull,push", "repository:from:pull"];
        check(&both, &both);
        check(&[&both.join(" ")], &both);
        check(
            &["repository:p:pull", "repository:p:push,pull"],
            &["repository:p:pull,push"],
        );
    }

    #[test]
    fn what_is_no_scope_is_overlooked() {
        check(
            &[
                "",
                "registry:catalog:*",
                "repository:P:pull",
                "repository:p",
                "repository:../p:pull",
            ],
            &[],
        );
    }

    #[test]
    fn a_token_has_room_for_so_many() {
        let many: Vec<String> = (0..=MAX_SCOPES)
            .map(|number| format!("repository:p{number}:pull"))
            .collect();
        let read = Scope::read(many.iter().map(String::as_str));
        assert_eq!(read.len(), MAX_SCOPES);
    }
}
