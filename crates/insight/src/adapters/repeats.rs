//! Harnesses that run a benchmark several times and print each run: the runs become one metric.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::sheet::{Bounds, Row};
use super::statistics::{mean, median};
use crate::{Average, ParseError};

/// The runs of each benchmark, in the order of first mention.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    order: Vec<Benchmark>,
    index: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Benchmark {
    name: String,
    runs: Vec<(Cow<'static, str>, Vec<f64>)>,
}

impl Repeats {
    /// Adds one number of one run.
    pub(crate) fn push(&mut self, name: &str, measure: Cow<'static, str>, value: f64) {
        let index = match self.index.get(name) {
            Some(index) => *index,
            None => self.begin(name),
        };
        let runs = &mut self.order[index].runs;
        match runs.iter_mut().find(|(known, _)| *known == measure) {
            Some((_, values)) => values.push(value),
            None => runs.push((measure, vec![value])),
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    /// One row for each benchmark: a single run as it is, several as their average between the lowest and the highest.
    pub(crate) fn write(
        self,
        average: Average,
        mut add: impl FnMut(&str, Row) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        for benchmark in self.order {
            let mut row = Row::default();
            for (measure, values) in benchmark.runs {
                let (value, bounds) = summarize(&values, average);
                row.set(measure, value, bounds);
            }
            add(&benchmark.name, row)?;
        }
        Ok(())
    }

    fn begin(&mut self, name: &str) -> usize {
        let index = self.order.len();
        self.index.insert(name.to_owned(), index);
        self.order.push(Benchmark {
            name: name.to_owned(),
            runs: Vec::new(),
        });
        index
    }
}

fn summarize(values: &[f64], average: Average) -> (f64, Bounds) {
    if let [value] = values {
        return (*value, Bounds::NONE);
    }
    let value = match average {
        Average::Mean => mean(values),
        Average::Median => median(values),
    };
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (value, Bounds::between(lowest, highest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_is_taken_as_it_is_and_several_are_summarized() {
        assert_eq!(summarize(&[3.0], Average::Mean), (3.0, Bounds::NONE));
        let values = [1.0, 2.0, 6.0];
        assert_eq!(
            summarize(&values, Average::Mean),
            (3.0, Bounds::between(1.0, 6.0))
        );
        assert_eq!(
            summarize(&values, Average::Median),
            (2.0, Bounds::between(1.0, 6.0))
        );
    }

    #[test]
    fn benchmarks_keep_the_order_of_first_mention() {
        let mut repeats = Repeats::default();
        for name in ["b", "a", "b"] {
            repeats.push(name, "latency".into(), 1.0);
        }
        let mut names = Vec::new();
        repeats
            .write(Average::Mean, |name, _| {
                names.push(name.to_owned());
                Ok(())
            })
            .unwrap();
        assert_eq!(names, ["b", "a"]);
    }
}
