//! What we promised, and whether this run kept it.

use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) verdict: Verdict,
    /// What this run reached, in words.
    pub(crate) reached: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Met,
    Missed,
    /// The promise is made for other machines than this one.
    DoesNotApply,
}

impl Verdict {
    pub(crate) fn at_least(reached: f64, wanted: f64) -> Self {
        if reached >= wanted {
            Self::Met
        } else {
            Self::Missed
        }
    }

    pub(crate) fn only_if(self, applies: bool) -> Self {
        if applies { self } else { Self::DoesNotApply }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::DoesNotApply => "n/a",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_from_its_own_value_on() {
        assert_eq!(Verdict::at_least(0.6, 0.6), Verdict::Met);
        assert_eq!(Verdict::at_least(0.59, 0.6), Verdict::Missed);
        assert_eq!(Verdict::at_least(f64::NAN, 0.6), Verdict::Missed);
    }

    #[test]
    fn a_promise_for_other_machines_is_neither_kept_nor_broken() {
        let missed = Verdict::at_least(1.0, 2.0);
        assert_eq!(missed.only_if(false), Verdict::DoesNotApply);
        assert_eq!(missed.only_if(true), Verdict::Missed);
    }
}
