//! Jobs of two images that take turns on one host.

use kiln_insight::{
    Adapter, Fold, LineReport, Results, Side, TURNS_OF_A_BLOCK, Turns, TurnsSettings, Verdict,
    parse, result_texts, side_of_turn,
};
use kiln_model::Digest;
use kiln_model::v0::{
    IterationOutput, JobConfig, JobOutput, NewPaired, NewRunJob, PairedConfig, PairedLine,
    PairedOutcome,
};
use kiln_store::sql::report::ReportMetric;

use super::RunSettings;
use super::process::read_texts;
use crate::Denied;

/// With this many, 3% are found where the noise is 2%.
const PAIRS: u32 = 60;
const MAX_PAIRS: u32 = 500;
const GATE: f64 = 0.02;
const ERROR_RATE: f64 = 0.01;

/// Refuses pairs that make no sense.
pub(super) fn check(job: &NewRunJob, paired: &NewPaired) -> Result<(), Denied> {
    let invalid = |text: &str| Err(Denied::Invalid(text.to_owned()));
    if paired
        .pairs
        .is_some_and(|pairs| !(1..=MAX_PAIRS).contains(&pairs))
    {
        return invalid("`job.paired.pairs` is between 1 and 500");
    }
    if paired.gate.is_some_and(|gate| !(gate > 0.0 && gate < 1.0)) {
        return invalid("`job.paired.gate` is a share between 0 and 1, such as 0.02");
    }
    if job.iter.is_some() {
        return invalid("pairs are iterations already: leave `job.iter` out");
    }
    if job.allow_failure == Some(true) {
        return invalid("a turn that fails has nothing to compare: leave `job.allow_failure` out");
    }
    Ok(())
}

/// What the runner is told.
pub(super) fn config(ask: &NewPaired, head: Digest, adapter: Adapter) -> PairedConfig {
    PairedConfig {
        digest: head,
        image: Some(ask.image.clone()),
        pairs: ask.pairs.unwrap_or(PAIRS),
        gate: ask.gate.unwrap_or(GATE),
        error_rate: ERROR_RATE,
        measure: ask.measure.clone(),
        adapter,
    }
}

/// Reads what the turns wrote: the head's numbers are those of the report, the median of its turns unless another fold was
/// asked for.
pub(super) fn read(
    config: &JobConfig,
    paired: &PairedConfig,
    output: &JobOutput,
    mut settings: RunSettings,
) -> Result<(Vec<ReportMetric>, PairedOutcome), String> {
    let told = output.conditions.as_ref();
    let told = told.and_then(|conditions| conditions.paired.as_ref());
    let told = told.ok_or(
        "the runner ran one image only, because it does not know of pairs: let a runner of Kiln serve this spec",
    )?;
    let mut turns = Turns::new(TurnsSettings {
        gate: paired.gate,
        error_rate: paired.error_rate,
        measure: paired.measure.clone(),
    });
    for (number, iteration) in output.results.iter().enumerate() {
        turns.add(&read_turn(number, iteration, settings)?);
    }
    let head: Vec<&str> = output
        .results
        .iter()
        .enumerate()
        .filter(|(number, _)| side_of_turn(*number) == Side::Head)
        .flat_map(|(_, iteration)| result_texts(std::slice::from_ref(iteration)))
        .collect();
    settings.parse.fold = settings.parse.fold.or(Some(Fold::Median));
    let metrics = read_texts(settings, &head)?;
    let pairs = u32::try_from(turns.pairs()).unwrap_or(u32::MAX);
    let outcome = PairedOutcome {
        verdict: turns.verdict().to_string(),
        pairs,
        asked: paired.pairs,
        stopped_early: told.decided && pairs < paired.pairs,
        self_check: paired.digest == config.digest,
        gate: paired.gate,
        error_rate: paired.error_rate,
        lines: turns
            .lines()
            .map(|(line, decides, report)| PairedLine {
                benchmark: line.benchmark.clone(),
                measure: line.measure.clone(),
                decides,
                ..described(&report)
            })
            .collect(),
    };
    Ok((metrics, outcome))
}

fn read_turn(
    number: usize,
    iteration: &IterationOutput,
    settings: RunSettings,
) -> Result<Vec<Results>, String> {
    let texts = result_texts(std::slice::from_ref(iteration));
    let read = |text: &str| {
        parse(settings.adapter, text, settings.parse).map_err(|error| {
            let side = match side_of_turn(number) {
                Side::Base => "base",
                Side::Head => "head",
            };
            let (block, adapter) = (number / TURNS_OF_A_BLOCK, settings.adapter);
            format!("the adapter {adapter} cannot read the {side}'s turn {number} (block {block}): {error}")
        })
    };
    texts.into_iter().map(read).collect()
}

/// A line without its names.
fn described(report: &LineReport) -> PairedLine {
    let mut line = PairedLine {
        benchmark: String::new(),
        measure: String::new(),
        decides: false,
        verdict: Verdict::CannotTell.to_string(),
        effect: None,
        interval: None,
        noise: None,
        correlation: None,
        left_out: None,
    };
    match report {
        LineReport::LeftOut(reason) => line.left_out = Some((*reason).to_owned()),
        LineReport::Compared(report) => {
            line.verdict = report.verdict.to_string();
            line.effect = Some(report.effect);
            line.interval = report.interval;
            line.noise = Some(report.noise);
            line.correlation = Some(report.correlation);
        }
    }
    line
}

#[cfg(test)]
mod tests;
