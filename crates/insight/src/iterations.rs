//! From what a job's iterations wrote to the results of its report.

use kiln_model::v0::IterationOutput;

use crate::{Adapter, ParseError, Results, Settings, fold, parse};

/// A text that the adapter could not read fails the whole report; this says which one it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the adapter {adapter} cannot read result {index}")]
pub struct UnreadableResult {
    pub adapter: Adapter,
    /// From 0, over all texts.
    pub index: usize,
    pub source: ParseError,
}

/// The texts that hold results: for each iteration its collected files, by path, when it has a map of them, and its standard
/// output otherwise.
pub fn result_texts(iterations: &[IterationOutput]) -> Vec<&str> {
    iterations.iter().flat_map(texts_of).collect()
}

/// Reads every text: one set of results for each, or a single one when `settings.fold` asks for it.
pub fn read_all(
    adapter: Adapter,
    texts: &[&str],
    settings: Settings,
) -> Result<Vec<Results>, UnreadableResult> {
    let read = |(index, text): (usize, &&str)| {
        parse(adapter, text, settings).map_err(|source| UnreadableResult {
            adapter,
            index,
            source,
        })
    };
    let sets: Vec<Results> = texts
        .iter()
        .enumerate()
        .map(read)
        .collect::<Result<_, _>>()?;
    match settings.fold {
        Some(by) if !sets.is_empty() => Ok(vec![fold(&sets, by)]),
        _ => Ok(sets),
    }
}

fn texts_of(iteration: &IterationOutput) -> Vec<&str> {
    match &iteration.output {
        Some(files) => files.values().map(String::as_str).collect(),
        None => iteration.stdout.as_deref().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Fold;

    fn stdout(text: &str) -> IterationOutput {
        IterationOutput {
            stdout: Some(text.into()),
            stderr: Some("noise".into()),
            ..IterationOutput::default()
        }
    }

    fn files(files: &[(&str, &str)]) -> IterationOutput {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        IterationOutput {
            output: Some(files.iter().map(own).collect::<BTreeMap<_, _>>()),
            ..stdout("not this")
        }
    }

    fn bmf(value: u32) -> String {
        format!(r#"{{"adder": {{"latency": {{"value": {value}}}}}}}"#)
    }

    #[test]
    fn files_come_before_standard_output() {
        let iterations = [files(&[("b", "2"), ("a", "1")]), stdout("3")];
        assert_eq!(result_texts(&iterations), ["1", "2", "3"]);
    }

    #[test]
    fn a_map_without_files_holds_no_result() {
        assert!(result_texts(&[files(&[])]).is_empty());
    }

    #[test]
    fn an_iteration_that_wrote_nothing_holds_no_result() {
        assert!(result_texts(&[IterationOutput::default()]).is_empty());
    }

    #[test]
    fn each_text_is_a_set_of_its_own_without_a_fold() {
        let texts = [bmf(10), bmf(20)];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let sets = read_all(Adapter::Json, &texts, Settings::default()).unwrap();
        let values: Vec<f64> = sets
            .iter()
            .filter_map(|set| set.get("adder", "latency"))
            .map(crate::Metric::value)
            .collect();
        assert_eq!(values, [10.0, 20.0]);
    }

    #[test]
    fn a_fold_makes_one_set_of_all_texts() {
        let texts = [bmf(10), bmf(20)];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let settings = Settings {
            fold: Some(Fold::Mean),
            ..Settings::default()
        };
        let sets = read_all(Adapter::Json, &texts, settings).unwrap();
        let mean = parse(Adapter::Json, &bmf(15), Settings::default()).unwrap();
        assert_eq!(sets, [mean]);
    }

    #[test]
    fn a_text_that_cannot_be_read_is_pointed_at() {
        let good = bmf(1);
        let error = read_all(Adapter::Json, &[&good, "oops"], Settings::default()).unwrap_err();
        assert_eq!(error.index, 1);
        assert_eq!(error.to_string(), "the adapter json cannot read result 1");
    }
}
