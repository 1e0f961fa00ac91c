//! The model of a threshold: a test with its parameters, checked.

use super::{Pattern, Test};

/// How a threshold judges. There is no way to make one whose parameters do not fit its test.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    rules: Rules,
}

/// The parameters as they are given.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    pub test: Test,
    pub min_sample_size: Option<u32>,
    pub max_sample_size: Option<u32>,
    /// How far back the sample reaches, in seconds.
    pub window: Option<u32>,
    pub lower_boundary: Option<f64>,
    pub upper_boundary: Option<f64>,
    /// The least distance from the baseline that is worth an alert, as a share of the baseline.
    pub min_effect: Option<f64>,
    /// The share of false alerts among all alerts of a report that is accepted.
    pub false_discovery_rate: Option<f64>,
    /// Benchmarks that get a boundary but never an alert.
    pub ignore: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidModel {
    #[error("a threshold needs a lower boundary, an upper boundary, or both")]
    NoBoundary,
    #[error("the test {test} takes no {what}")]
    NotOfThisTest { test: Test, what: &'static str },
    #[error("`{what}` is not a finite number")]
    NotFinite { what: &'static str },
    #[error("a boundary of the test {test} is {range}")]
    OutOfRange { test: Test, range: &'static str },
    #[error("the lower boundary is above the upper one")]
    Crossed,
    #[error("a sample size is at least 1")]
    NoSample,
    #[error("the smallest sample is larger than the largest")]
    SampleSizes,
    #[error("`min_effect` is a share from 0 up")]
    MinEffect,
    #[error("`false_discovery_rate` is above 0 and below 1")]
    FalseDiscoveryRate,
    #[error("a threshold ignores at most {MAX_PATTERNS} patterns")]
    TooManyPatterns,
}

/// Each is tried on each benchmark of each report.
const MAX_PATTERNS: usize = 255;

impl Rules {
    /// A test with one or two boundaries and nothing else.
    pub fn plain(test: Test, lower_boundary: Option<f64>, upper_boundary: Option<f64>) -> Self {
        Self {
            test,
            min_sample_size: None,
            max_sample_size: None,
            window: None,
            lower_boundary,
            upper_boundary,
            min_effect: None,
            false_discovery_rate: None,
            ignore: Vec::new(),
        }
    }
}

impl Model {
    pub fn new(rules: Rules) -> Result<Self, InvalidModel> {
        check_boundaries(&rules)?;
        check_sample(&rules)?;
        if rules
            .min_effect
            .is_some_and(|share| !share.is_finite() || share < 0.0)
        {
            return Err(InvalidModel::MinEffect);
        }
        if let Some(rate) = rules.false_discovery_rate {
            if !rules.test.has_distribution() {
                return Err(InvalidModel::NotOfThisTest {
                    test: rules.test,
                    what: "false discovery rate, because it knows no probabilities",
                });
            }
            if !(rate > 0.0 && rate < 1.0) {
                return Err(InvalidModel::FalseDiscoveryRate);
            }
        }
        if rules.ignore.len() > MAX_PATTERNS {
            return Err(InvalidModel::TooManyPatterns);
        }
        Ok(Self { rules })
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub fn ignores(&self, benchmark: &str) -> bool {
        let mut patterns = self.rules.ignore.iter();
        patterns.any(|pattern| pattern.matches(benchmark))
    }
}

fn check_boundaries(rules: &Rules) -> Result<(), InvalidModel> {
    let sides = [
        ("lower_boundary", rules.lower_boundary),
        ("upper_boundary", rules.upper_boundary),
    ];
    if sides.iter().all(|(_, boundary)| boundary.is_none()) {
        return Err(InvalidModel::NoBoundary);
    }
    for (what, boundary) in sides {
        let Some(boundary) = boundary else { continue };
        if !boundary.is_finite() {
            return Err(InvalidModel::NotFinite { what });
        }
        let range = match rules.test {
            Test::Static => None,
            Test::Percentage | Test::Iqr | Test::DeltaIqr => {
                (boundary < 0.0).then_some("a number from 0 up")
            }
            Test::ZScore | Test::TTest | Test::LogNormal => {
                (!(0.5..1.0).contains(&boundary)).then_some("from 0.5 to below 1")
            }
        };
        if let Some(range) = range {
            let test = rules.test;
            return Err(InvalidModel::OutOfRange { test, range });
        }
    }
    match (rules.test, rules.lower_boundary, rules.upper_boundary) {
        (Test::Static, Some(lower), Some(upper)) if lower > upper => Err(InvalidModel::Crossed),
        _ => Ok(()),
    }
}

fn check_sample(rules: &Rules) -> Result<(), InvalidModel> {
    let sample = [rules.min_sample_size, rules.max_sample_size, rules.window];
    if rules.test == Test::Static && sample.iter().any(Option::is_some) {
        return Err(InvalidModel::NotOfThisTest {
            test: rules.test,
            what: "sample sizes and no window",
        });
    }
    if [rules.min_sample_size, rules.max_sample_size].contains(&Some(0)) {
        return Err(InvalidModel::NoSample);
    }
    match (rules.min_sample_size, rules.max_sample_size) {
        (Some(least), Some(most)) if least > most => Err(InvalidModel::SampleSizes),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Rules), expected: &InvalidModel) {
        let mut rules = Rules::plain(Test::TTest, None, Some(0.98));
        change(&mut rules);
        assert_eq!(Model::new(rules).as_ref(), Err(expected));
    }

    #[test]
    fn a_test_with_a_fitting_boundary_is_a_model() {
        for test in Test::ALL {
            Model::new(Rules::plain(test, Some(0.9), Some(0.95))).unwrap();
        }
    }

    #[test]
    fn a_model_without_a_boundary_is_refused() {
        check(
            |rules| rules.upper_boundary = None,
            &InvalidModel::NoBoundary,
        );
    }

    #[test]
    fn a_boundary_outside_its_range_is_refused() {
        let range = "from 0.5 to below 1";
        for bad in [0.49, 1.0, -1.0] {
            check(
                |rules| rules.upper_boundary = Some(bad),
                &InvalidModel::OutOfRange {
                    test: Test::TTest,
                    range,
                },
            );
        }
        check(
            |rules| rules.lower_boundary = Some(f64::NAN),
            &InvalidModel::NotFinite {
                what: "lower_boundary",
            },
        );
        let negative = Rules::plain(Test::Iqr, None, Some(-0.1));
        assert!(matches!(
            Model::new(negative),
            Err(InvalidModel::OutOfRange { .. })
        ));
        let crossed = Rules::plain(Test::Static, Some(2.0), Some(1.0));
        assert_eq!(Model::new(crossed), Err(InvalidModel::Crossed));
    }

    #[test]
    fn sample_sizes_that_cannot_be_meant_are_refused() {
        check(
            |rules| rules.min_sample_size = Some(0),
            &InvalidModel::NoSample,
        );
        check(
            |rules| (rules.min_sample_size, rules.max_sample_size) = (Some(3), Some(2)),
            &InvalidModel::SampleSizes,
        );
        let mut rules = Rules::plain(Test::Static, None, Some(1.0));
        rules.window = Some(60);
        assert!(matches!(
            Model::new(rules),
            Err(InvalidModel::NotOfThisTest { .. })
        ));
    }

    #[test]
    fn a_false_discovery_rate_needs_probabilities() {
        let mut rules = Rules::plain(Test::Iqr, None, Some(1.5));
        rules.false_discovery_rate = Some(0.05);
        assert!(matches!(
            Model::new(rules),
            Err(InvalidModel::NotOfThisTest { .. })
        ));
        check(
            |rules| rules.false_discovery_rate = Some(1.0),
            &InvalidModel::FalseDiscoveryRate,
        );
    }

    #[test]
    fn a_negative_least_effect_is_refused() {
        check(
            |rules| rules.min_effect = Some(-0.1),
            &InvalidModel::MinEffect,
        );
    }
}
