//! What a run asks for: that a runner executes an image, or that results are stored.
//!
//! | `image` | `spec` | `results` | |
//! |---|---|---|---|
//! | set | set | empty | a runner executes it |
//! | – | – | given | the results are stored |
//! | set | – | | refused: a spec is needed (in `job` the server's fallback may do) |
//! | – | set | | refused: an image is needed |
//! | set | set | given | refused: one or the other |

use kiln_model::Millis;
use kiln_model::v0::{NewRun, NewRunJob};
use kiln_store::sql::report::ReportMetric;

use super::{RunSettings, pairs, process};
use crate::Denied;

#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// For a runner.
    Job(Box<NewRunJob>),
    /// Measured elsewhere, and read already.
    Results {
        start: Millis,
        end: Millis,
        metrics: Vec<ReportMetric>,
    },
}

const MAX_ARGUMENTS: usize = 64;
const MAX_ENVIRONMENT: usize = 255;
const MAX_FILES: usize = 255;

impl Work {
    /// Checks the whole request. Pure, so that results are read outside any transaction.
    pub fn of(run: &NewRun, settings: RunSettings) -> Result<Self, Denied> {
        let has_results = run
            .results
            .as_ref()
            .is_some_and(|results| !results.is_empty());
        let job = match (&run.job, &run.image, &run.spec) {
            (Some(job), None, None) => job.clone(),
            (None, Some(image), Some(spec)) => NewRunJob {
                image: image.clone(),
                spec: Some(spec.clone()),
                ..NewRunJob::default()
            },
            (Some(_), _, _) => {
                return invalid("a run has either `job`, or `image` and `spec`, not both");
            }
            (None, Some(_), None) => {
                return invalid("Spec required for runner execution: set `spec`");
            }
            (None, None, Some(_)) => {
                return invalid("Image required for runner execution: set `image`");
            }
            (None, None, None) => return results(run, settings),
        };
        if has_results {
            return invalid("Cannot provide both results and image: leave `results` empty");
        }
        check(&job)?;
        Ok(Self::Job(Box::new(job)))
    }
}

fn results(run: &NewRun, settings: RunSettings) -> Result<Work, Denied> {
    let missing = |field: &str| {
        Denied::Invalid(format!(
            "unable to parse JSON body: missing field `{field}`"
        ))
    };
    let start = run.start_time.ok_or_else(|| missing("start_time"))?.0;
    let end = run.end_time.ok_or_else(|| missing("end_time"))?.0;
    let results = run.results.as_ref().ok_or_else(|| missing("results"))?;
    let texts: Vec<&str> = results.iter().map(String::as_str).collect();
    let metrics = process::read_texts(settings, &texts).map_err(|reason| {
        Denied::Invalid(format!(
            "Failed to convert results with adapter ({}): {reason}",
            settings.adapter
        ))
    })?;
    Ok(Work::Results {
        start,
        end,
        metrics,
    })
}

fn check(job: &NewRunJob) -> Result<(), Denied> {
    let too_many = |list: Option<usize>, limit| list.is_some_and(|len| len > limit);
    if too_many(job.entrypoint.as_ref().map(Vec::len), MAX_ARGUMENTS)
        || too_many(job.cmd.as_ref().map(Vec::len), MAX_ARGUMENTS)
    {
        return invalid("`entrypoint` and `cmd` have at most 64 parts");
    }
    let variables = job.env.as_ref().map(std::collections::BTreeMap::len);
    if too_many(variables, MAX_ENVIRONMENT) {
        return invalid("`env` has at most 255 entries");
    }
    if too_many(job.file_paths.as_ref().map(Vec::len), MAX_FILES) {
        return invalid("`file_paths` has at most 255 entries");
    }
    if let Some(paired) = &job.paired {
        pairs::check(job, paired)?;
    }
    if job.timeout == Some(0) {
        return invalid("unable to parse JSON body: job.timeout: Invalid timeout: 0");
    }
    Ok(())
}

fn invalid<T>(text: &str) -> Result<T, Denied> {
    Err(Denied::Invalid(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(body: Value) -> Result<Work, String> {
        let run: NewRun = serde_json::from_value(body).unwrap();
        let settings = RunSettings::check(run.settings.as_ref()).unwrap();
        Work::of(&run, settings).map_err(|denied| denied.to_string())
    }

    fn refused(body: Value, words: &str) {
        let reason = of(body).unwrap_err();
        assert!(reason.contains(words), "{reason}");
    }

    #[test]
    fn both_shapes_are_for_a_runner() {
        let nested = of(json!({"job": {"image": "p:1", "spec": "s"}, "results": []})).unwrap();
        let flat = of(json!({"image": "p:1", "spec": "s"})).unwrap();
        assert_eq!(nested, flat);
        assert!(matches!(nested, Work::Job(_)));
    }

    #[test]
    fn results_are_read_at_once() {
        let times =
            json!({"start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:17Z"});
        let with = |results: Value| {
            let mut body = times.clone();
            body["results"] = results;
            body["settings"] = json!({"adapter": "json"});
            of(body)
        };
        let Work::Results {
            start,
            end,
            metrics,
        } = with(json!([r#"{"adder":{"latency":{"value":88}}}"#])).unwrap()
        else {
            panic!("results are stored");
        };
        assert_eq!((end.0 - start.0, metrics.len()), (1_000, 1));
        assert!(with(json!([])).is_ok());
        let reason = with(json!(["not bmf"])).unwrap_err();
        assert!(
            reason.starts_with("Failed to convert results with adapter (json)"),
            "{reason}"
        );
    }

    #[test]
    fn half_a_request_is_refused() {
        refused(
            json!({"image": "p:1"}),
            "Spec required for runner execution",
        );
        refused(json!({"spec": "s"}), "Image required for runner execution");
        refused(
            json!({"image": "p:1", "spec": "s", "results": ["{}"]}),
            "Cannot provide both results and image",
        );
        refused(
            json!({"job": {"image": "p:1"}, "results": ["{}"]}),
            "Cannot provide both results and image",
        );
        refused(json!({"job": {"image": "p:1"}, "image": "p:1"}), "not both");
        refused(json!({}), "missing field `start_time`");
        refused(
            json!({"start_time": "2026-11-15T08:16:16Z"}),
            "missing field `end_time`",
        );
        refused(
            json!({"start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:16Z"}),
            "missing field `results`",
        );
    }

    #[test]
    fn lists_have_limits() {
        let many = |count: usize| vec!["x"; count];
        let job = |field: &str, value: Value| {
            let mut job = json!({"image": "p:1", "spec": "s"});
            job[field] = value;
            of(json!({ "job": job }))
        };
        assert!(job("cmd", json!(many(64))).is_ok());
        for (field, value) in [
            ("cmd", json!(many(65))),
            ("entrypoint", json!(many(65))),
            ("file_paths", json!(many(256))),
            ("timeout", json!(0)),
        ] {
            assert!(job(field, value).is_err(), "{field}");
        }
        let env = |count: usize| {
            json!(
                (0..count)
                    .map(|n| (n.to_string(), ""))
                    .collect::<std::collections::BTreeMap<_, _>>()
            )
        };
        assert!(job("env", env(255)).is_ok());
        assert!(job("env", env(256)).is_err());
    }
}
