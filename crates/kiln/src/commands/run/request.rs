//! What is sent to the server.

use std::collections::BTreeMap;

use kiln_model::v0::{Adapter, DateTime, NewPaired, NewRun, NewRunJob, Settings, StartPoint};
use kiln_model::{BranchName, Millis, ResourceName};

use super::here::Measured;
use super::models::thresholds;
use super::variables::Variables;
use crate::cli::run::{Place, Reading, Run};
use crate::commands::connection::parse;
use crate::failure::Failure;

/// The request without its work: where the numbers belong and how they are read.
pub(super) fn new_run(
    run: &Run,
    variables: &Variables,
    origin: BTreeMap<String, String>,
    idempotency_key: String,
) -> Result<NewRun, Failure> {
    let place = &run.place;
    Ok(NewRun {
        project: place.project.clone().or_else(|| variables.own("PROJECT")),
        idempotency_key: Some(idempotency_key),
        branch: or_variable::<BranchName>(place.branch.clone(), variables, "BRANCH")?,
        hash: place.hash.clone(),
        start_point: start_point(place),
        testbed: or_variable::<ResourceName>(place.testbed.clone(), variables, "TESTBED")?,
        spec_reset: run.remote.spec_reset.then_some(true),
        thresholds: thresholds(&run.judging)?,
        settings: Some(Settings {
            adapter: or_variable::<Adapter>(run.reading.adapter, variables, "ADAPTER")?,
            average: run.reading.average.map(|average| average.name().to_owned()),
            fold: run.reading.fold.map(|fold| fold.name().to_owned()),
        }),
        context: Some(origin),
        ..NewRun::default()
    })
}

/// Results that are there already.
pub(super) fn with_results(request: &mut NewRun, measured: Measured, reading: &Reading) {
    let took = measured.end.since(measured.start);
    let start = reading.backdate.map_or(measured.start, Millis::from_secs);
    request.start_time = Some(DateTime(start));
    request.end_time = Some(DateTime(start + took));
    request.results = Some(measured.results);
}

/// A job for a runner.
pub(super) fn with_image(
    request: &mut NewRun,
    image: String,
    run: &Run,
    words: &[String],
) -> Result<(), Failure> {
    let (here, remote, reading) = (&run.here, &run.remote, &run.reading);
    let files: Vec<String> = here.file.iter().chain(&here.file_size).cloned().collect();
    request.job = Some(NewRunJob {
        image,
        spec: remote.spec.clone(),
        entrypoint: some(remote.entrypoint.clone()),
        cmd: some(command(words, run)),
        env: environment(&remote.env)?,
        timeout: remote.job_timeout,
        file_paths: some(files),
        build_time: here.build_time.then_some(true),
        file_size: (!here.file_size.is_empty()).then_some(true),
        iter: (reading.iter > 1).then_some(reading.iter),
        allow_failure: reading.allow_failure.then_some(true),
        backdate: reading.backdate.map(Millis::from_secs).map(DateTime),
        paired: None,
    });
    Ok(())
}

/// The other image of a job that compares two.
pub(super) fn with_head(request: &mut NewRun, head: String, run: &Run) {
    if let Some(job) = &mut request.job {
        job.paired = Some(NewPaired {
            image: head,
            pairs: run.remote.pairs,
            gate: run.remote.gate,
            measure: run.remote.gate_measure.clone(),
        });
    }
}

/// A single word with spaces in it is a line for a shell; anything else is what the image is given.
fn command(words: &[String], run: &Run) -> Vec<String> {
    match words {
        [line] if !run.here.exec && line.contains(char::is_whitespace) => {
            vec![run.here.shell.clone(), run.here.flag.clone(), line.clone()]
        }
        words => words.to_vec(),
    }
}

fn start_point(place: &Place) -> Option<StartPoint> {
    if place.start_point.is_none() && !place.start_point_reset {
        return None;
    }
    Some(StartPoint {
        branch: place.start_point.clone(),
        hash: place.start_point_hash.clone(),
        max_versions: Some(place.start_point_max_versions),
        clone_thresholds: place.start_point_clone_thresholds.then_some(true),
        reset: place.start_point_reset.then_some(true),
    })
}

fn environment(pairs: &[String]) -> Result<Option<BTreeMap<String, String>>, Failure> {
    let mut environment = BTreeMap::new();
    for pair in pairs {
        let (name, value) = pair
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Failure::usage(format!("--env {pair:?} is not NAME=VALUE")))?;
        environment.insert(name.to_owned(), value.to_owned());
    }
    Ok((!environment.is_empty()).then_some(environment))
}

fn or_variable<T>(given: Option<T>, variables: &Variables, name: &str) -> Result<Option<T>, Failure>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    match given {
        Some(given) => Ok(Some(given)),
        None => variables.own(name).as_deref().map(parse).transpose(),
    }
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(run: &Run, variables: &[(&str, &str)]) -> NewRun {
        let variables = Variables::of(variables);
        new_run(run, &variables, BTreeMap::new(), "key".to_owned()).unwrap()
    }

    #[test]
    fn flags_become_a_job() {
        let run = Run::typed(&[
            "--project",
            "p",
            "--image",
            "p:v1",
            "--spec",
            "big",
            "--env",
            "A=b=c",
            "--iter",
            "3",
            "--job-timeout",
            "60",
            "--file-size",
            "/bin/x",
            "--fold",
            "min",
            "--",
            "--fast",
        ]);
        let mut request = request(
            &run,
            &[("BENCHER_PROJECT", "other"), ("BENCHER_ADAPTER", "json")],
        );
        with_image(&mut request, "p:v1".to_owned(), &run, &run.command).unwrap();
        let job = serde_json::to_value(request.job.as_ref().unwrap()).unwrap();
        assert_eq!(
            job,
            json!({
                "image": "p:v1", "spec": "big", "cmd": ["--fast"], "env": {"A": "b=c"},
                "timeout": 60, "file_paths": ["/bin/x"], "file_size": true, "iter": 3
            })
        );
        assert_eq!(request.project.as_deref(), Some("p"));
        let settings = request.settings.unwrap();
        assert_eq!(settings.adapter, Some(Adapter::Json));
        assert_eq!(settings.fold.as_deref(), Some("min"));
    }

    #[test]
    fn a_line_for_an_image_is_given_to_its_shell() {
        let run = Run::typed(&["--image", "p", "cargo bench"]);
        assert_eq!(
            command(&run.command, &run),
            ["/bin/sh", "-c", "cargo bench"]
        );
        let run = Run::typed(&["--image", "p", "bench", "--quick"]);
        assert_eq!(command(&run.command, &run), ["bench", "--quick"]);
    }

    #[test]
    fn a_backdated_run_keeps_its_length() {
        let run = Run::typed(&["--backdate", "1000", "true"]);
        let mut request = request(&run, &[]);
        let measured = Measured {
            results: vec!["{}".to_owned()],
            start: Millis(5_000_000),
            end: Millis(5_002_000),
        };
        with_results(&mut request, measured, &run.reading);
        assert_eq!(request.start_time, Some(DateTime(Millis(1_000_000))));
        assert_eq!(request.end_time, Some(DateTime(Millis(1_002_000))));
    }

    #[test]
    fn a_variable_that_makes_no_sense_is_named() {
        let run = Run::typed(&["true"]);
        let variables = Variables::of(&[("KILN_ADAPTER", "fortran")]);
        let failure = new_run(&run, &variables, BTreeMap::new(), String::new()).unwrap_err();
        assert!(failure.message.contains("fortran"), "{failure}");
    }

    #[test]
    fn a_start_point_is_sent_when_it_is_asked_for() {
        assert_eq!(request(&Run::typed(&["true"]), &[]).start_point, None);
        let run = Run::typed(&[
            "--start-point",
            "main",
            "--start-point-clone-thresholds",
            "true",
        ]);
        let start = request(&run, &[]).start_point.unwrap();
        assert_eq!(start.branch.as_deref(), Some("main"));
        assert_eq!(
            (start.max_versions, start.clone_thresholds),
            (Some(255), Some(true))
        );
    }
}
