//! What the environment says about a run.

use std::collections::BTreeMap;
use std::{env, fmt};

/// Variables by name; tests bring their own.
pub(in crate::commands) struct Variables(BTreeMap<String, String>);

/// Tokens are among them.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}

impl Variables {
    /// Those that are text.
    pub(in crate::commands) fn of_process() -> Self {
        let all = env::vars_os();
        let texts = all.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self(texts.collect())
    }

    #[cfg(test)]
    pub(in crate::commands) fn of(pairs: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self(pairs.iter().map(own).collect())
    }

    /// One that is set to something.
    pub(in crate::commands) fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// Our own, or the one that Bencher's command has in its place.
    pub(super) fn own(&self, name: &str) -> Option<String> {
        self.get(&format!("KILN_{name}"))
            .or_else(|| self.get(&format!("BENCHER_{name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_variable_comes_before_benchers() {
        let both = Variables::of(&[("KILN_PROJECT", "ours"), ("BENCHER_PROJECT", "theirs")]);
        assert_eq!(both.own("PROJECT").as_deref(), Some("ours"));
        let one = Variables::of(&[("KILN_PROJECT", ""), ("BENCHER_PROJECT", "theirs")]);
        assert_eq!(one.own("PROJECT").as_deref(), Some("theirs"));
    }
}
