//! The thresholds that a run brings along, from flags that stand side by side.

use std::collections::BTreeMap;
use std::str::FromStr;

use kiln_model::v0::{NewModel, RunThresholds};

use crate::cli::run::Judging;
use crate::failure::Failure;

/// What stands for "not this one".
const SKIP: &str = "_";

pub(super) fn thresholds(flags: &Judging) -> Result<Option<RunThresholds>, Failure> {
    let measures = &flags.threshold_measure;
    let column = Columns {
        count: measures.len(),
    };
    let tests: Vec<Option<String>> = column.read("test", &flags.threshold_test)?;
    let least = column.read("min-sample-size", &flags.threshold_min_sample_size)?;
    let most = column.read("max-sample-size", &flags.threshold_max_sample_size)?;
    let window = column.read("window", &flags.threshold_window)?;
    let lower = column.read("lower-boundary", &flags.threshold_lower_boundary)?;
    let upper = column.read("upper-boundary", &flags.threshold_upper_boundary)?;
    let effect = column.read("min-effect", &flags.threshold_min_effect)?;
    let false_discoveries = &flags.threshold_false_discovery_rate;
    let false_discoveries = column.read("false-discovery-rate", false_discoveries)?;
    let ignored: Vec<Option<String>> = column.read("ignore", &flags.threshold_ignore)?;
    let mut models = BTreeMap::new();
    for (place, measure) in measures.iter().enumerate() {
        let test = tests[place].clone().ok_or_else(|| {
            Failure::usage(format!("--threshold-measure {measure} has no test"))
                .hint("give one --threshold-test for each --threshold-measure, in the same order")
        })?;
        let model = NewModel {
            test,
            min_sample_size: least[place],
            max_sample_size: most[place],
            window: window[place],
            lower_boundary: lower[place],
            upper_boundary: upper[place],
            min_effect: effect[place],
            false_discovery_rate: false_discoveries[place],
            ignore: patterns(ignored[place].as_deref()),
        };
        if models.insert(measure.clone(), model).is_some() {
            return Err(Failure::usage(format!(
                "--threshold-measure {measure} is given twice"
            )));
        }
    }
    let reset = flags.thresholds_reset.then_some(true);
    if models.is_empty() && reset.is_none() {
        return Ok(None);
    }
    Ok(Some(RunThresholds {
        models: Some(models),
        reset,
    }))
}

fn patterns(text: Option<&str>) -> Vec<String> {
    let patterns = text.unwrap_or_default().split(',').map(str::trim);
    patterns
        .filter(|pattern| !pattern.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Flags with one value for each measure.
struct Columns {
    count: usize,
}

impl Columns {
    fn read<T: FromStr>(&self, flag: &str, values: &[String]) -> Result<Vec<Option<T>>, Failure> {
        if values.len() > self.count {
            let (given, count) = (values.len(), self.count);
            return Err(Failure::usage(format!(
                "--threshold-{flag} is given {given} times for {count} measures"
            ))
            .hint("give one for each --threshold-measure, in the same order; _ leaves one out"));
        }
        let mut read = Vec::with_capacity(self.count);
        for value in values {
            read.push(if value == SKIP {
                None
            } else {
                Some(value.parse().map_err(|_| {
                    Failure::usage(format!("--threshold-{flag} {value:?} is not a number"))
                })?)
            });
        }
        read.resize_with(self.count, || None);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        flags: Judging,
    }

    fn read(words: &str) -> Result<Option<RunThresholds>, Failure> {
        let words = std::iter::once("run").chain(words.split_whitespace());
        thresholds(&Typed::try_parse_from(words).unwrap().flags)
    }

    #[test]
    fn flags_that_stand_side_by_side_belong_together() {
        let read = read(
            "--threshold-measure latency --threshold-test t_test --threshold-upper-boundary 0.99 \
             --threshold-measure throughput --threshold-test percentage --threshold-upper-boundary _ \
             --threshold-lower-boundary _ --threshold-lower-boundary 0.1",
        );
        let models = read.unwrap().unwrap().models.unwrap();
        assert_eq!(models["latency"].upper_boundary, Some(0.99));
        assert_eq!(models["latency"].lower_boundary, None);
        assert_eq!(models["throughput"].upper_boundary, None);
        assert_eq!(models["throughput"].lower_boundary, Some(0.1));
        assert_eq!(models["throughput"].test, "percentage");
    }

    #[test]
    fn what_our_thresholds_add_stands_beside_the_rest() {
        let read = read(
            "--threshold-measure latency --threshold-test t_test --threshold-upper-boundary 0.99 \
             --threshold-min-effect 0.05 --threshold-false-discovery-rate _ --threshold-ignore io/*,net/* \
             --threshold-measure throughput --threshold-test t_test --threshold-upper-boundary _ \
             --threshold-lower-boundary _ --threshold-lower-boundary 0.99 --threshold-min-effect _ \
             --threshold-false-discovery-rate 0.1",
        );
        let models = read.unwrap().unwrap().models.unwrap();
        let (latency, throughput) = (&models["latency"], &models["throughput"]);
        assert_eq!(
            (latency.min_effect, throughput.min_effect),
            (Some(0.05), None)
        );
        assert_eq!(latency.false_discovery_rate, None);
        assert_eq!(throughput.false_discovery_rate, Some(0.1));
        assert_eq!(latency.ignore, ["io/*", "net/*"]);
        assert!(throughput.ignore.is_empty());
    }

    #[test]
    fn a_measure_without_a_test_and_a_value_without_a_measure_are_refused() {
        for words in [
            "--threshold-measure latency",
            "--threshold-test t_test",
            "--threshold-measure a --threshold-test iqr --threshold-window soon",
            "--threshold-measure a --threshold-test iqr --threshold-measure a --threshold-test iqr",
        ] {
            assert!(read(words).is_err(), "{words}");
        }
    }

    #[test]
    fn no_flags_are_no_thresholds() {
        assert_eq!(read("").unwrap(), None);
        assert_eq!(
            read("--thresholds-reset").unwrap().unwrap().reset,
            Some(true)
        );
    }
}
