use kiln_model::v0::{Conditions, PairedTurns, Settings};

use super::*;

const BASE: [u8; 32] = [1; 32];
const HEAD: [u8; 32] = [2; 32];

fn digest(hash: [u8; 32]) -> Digest {
    Digest::from_hash(&hash).unwrap()
}

fn job_config(head: [u8; 32]) -> JobConfig {
    let ask = NewPaired {
        image: "adder:head".to_owned(),
        ..NewPaired::default()
    };
    let json = serde_json::json!({
        "registry": "http://127.0.0.1", "project": "01890a5d-ac96-774b-bcce-b302099a8057",
        "timeout": 60, "digest": digest(BASE),
        "paired": config(&ask, digest(head), Adapter::Json),
    });
    serde_json::from_value(json).unwrap()
}

fn settings() -> RunSettings {
    RunSettings::check(Some(&Settings {
        adapter: Some(Adapter::Json),
        ..Settings::default()
    }))
    .unwrap()
}

/// What so many turns wrote when the head takes `share` of the base's time.
fn output(turns: usize, share: f64) -> JobOutput {
    let text = |turn: usize| {
        let wobble = 1.0 + [0.0, 0.001, -0.001, 0.002, -0.002][turn % 5];
        let side = match side_of_turn(turn) {
            Side::Base => 100.0,
            Side::Head => 100.0 * share,
        };
        format!(r#"{{"add":{{"latency":{{"value":{}}}}}}}"#, side * wobble)
    };
    JobOutput {
        results: (0..turns)
            .map(|turn| IterationOutput {
                stdout: Some(text(turn)),
                ..IterationOutput::default()
            })
            .collect(),
        conditions: Some(Box::new(Conditions {
            paired: Some(PairedTurns {
                turns: turns as u64,
                decided: true,
                ..PairedTurns::default()
            }),
            ..Conditions::default()
        })),
        ..JobOutput::default()
    }
}

fn read_pairs(
    config: &JobConfig,
    output: &JobOutput,
) -> Result<(Vec<ReportMetric>, PairedOutcome), String> {
    read(config, config.paired.as_ref().unwrap(), output, settings())
}

#[test]
fn the_report_has_the_numbers_of_the_head_and_the_verdict_of_the_pairs() {
    let (metrics, outcome) = read_pairs(&job_config(HEAD), &output(60, 1.5)).unwrap();
    assert_eq!(metrics.len(), 1);
    assert!((metrics[0].value - 150.0).abs() < 1.0, "{metrics:?}");
    assert_eq!((outcome.pairs, outcome.asked), (30, 60));
    assert!(outcome.stopped_early && !outcome.self_check);
    assert_eq!(outcome.verdict, "slower");
    let effect = outcome.lines[0].effect.unwrap();
    assert!((effect - 0.5).abs() < 0.01, "{effect}");
    let (low, high) = outcome.lines[0].interval.unwrap();
    assert!(low < effect && effect < high);
}

#[test]
fn one_image_against_itself_is_a_self_check() {
    let (_, outcome) = read_pairs(&job_config(BASE), &output(120, 1.0)).unwrap();
    assert!(outcome.self_check);
    assert_eq!(outcome.verdict, "same");
}

#[test]
fn a_runner_that_knows_no_pairs_is_named() {
    let mut one_sided = output(1, 1.0);
    one_sided.conditions = None;
    let reason = read_pairs(&job_config(HEAD), &one_sided).unwrap_err();
    assert!(reason.contains("does not know of pairs"), "{reason}");
}

#[test]
fn a_turn_that_cannot_be_read_is_named() {
    let mut broken = output(8, 1.0);
    broken.results[5].stdout = Some("segmentation fault".to_owned());
    let reason = read_pairs(&job_config(HEAD), &broken).unwrap_err();
    assert!(
        reason.starts_with("the adapter json cannot read the head's turn 5 (block 1)"),
        "{reason}"
    );
}

#[test]
fn pairs_have_bounds() {
    let job = |change: fn(&mut NewRunJob, &mut NewPaired)| {
        let (mut job, mut paired) = (NewRunJob::default(), NewPaired::default());
        change(&mut job, &mut paired);
        check(&job, &paired).is_ok()
    };
    assert!(job(|_, _| {}));
    assert!(job(|_, paired| paired.pairs = Some(500)));
    assert!(!job(|_, paired| paired.pairs = Some(0)));
    assert!(!job(|_, paired| paired.pairs = Some(501)));
    assert!(!job(|_, paired| paired.gate = Some(f64::NAN)));
    assert!(!job(|_, paired| paired.gate = Some(1.0)));
    assert!(!job(|job, _| job.iter = Some(2)));
    assert!(!job(|job, _| job.allow_failure = Some(true)));
}
