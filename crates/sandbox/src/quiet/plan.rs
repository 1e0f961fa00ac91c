//! What is to be done to a host, and what is to be left alone.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::knobs::KNOBS;

/// Which settings are made. All of them, unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningPlan {
    choices: BTreeMap<String, Choice>,
}

/// What is said about one setting: `NAME=VALUE`, or `NAME=leave`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Leave,
    Value(String),
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no setting of a host: expected NAME=VALUE or NAME=leave with one of {known}", known = names().join(", "))]
pub struct UnknownKnob(String);

/// Settings that are more than one file.
pub(super) const LATENCY: &str = "cstates";
pub(super) const INTERRUPTS: &str = "interrupts";
/// The knob that sets the benchmark cores apart.
pub const PARTITION: &str = "partition";

impl TuningPlan {
    /// The default plan with these choices of the operator.
    pub fn with_choices<'a>(
        choices: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, UnknownKnob> {
        let mut plan = Self::default();
        for text in choices {
            let unknown = || UnknownKnob(text.to_owned());
            let (name, value) = text.split_once('=').ok_or_else(unknown)?;
            if !names().contains(&name) || value.is_empty() || value.contains('\n') {
                return Err(unknown());
            }
            let choice = value
                .parse()
                .unwrap_or_else(|never: std::convert::Infallible| match never {});
            plan.choices.insert(name.to_owned(), choice);
        }
        Ok(plan)
    }

    /// The value to set, or `None` to leave it alone.
    pub(super) fn value<'a>(&'a self, name: &str, usual: &'a str) -> Option<&'a str> {
        match self.choices.get(name) {
            None => Some(usual),
            Some(Choice::Value(value)) => Some(value),
            Some(Choice::Leave) => None,
        }
    }
}

impl FromStr for Choice {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "leave" => Self::Leave,
            value => Self::Value(value.to_owned()),
        })
    }
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
    names.extend([LATENCY, INTERRUPTS, PARTITION]);
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_changes_a_value_or_leaves_it() {
        let plan = TuningPlan::with_choices(["swappiness=0", "aslr=leave"]).unwrap();
        assert_eq!(plan.value("swappiness", "10"), Some("0"));
        assert_eq!(plan.value("aslr", "0"), None);
        assert_eq!(plan.value("ksm", "0"), Some("0"));
    }

    #[test]
    fn a_setting_that_does_not_exist_is_refused_with_those_that_do() {
        for text in ["swapiness=0", "aslr", "aslr="] {
            let error = TuningPlan::with_choices([text]).unwrap_err().to_string();
            assert!(error.contains("swappiness"), "{error}");
        }
    }
}
