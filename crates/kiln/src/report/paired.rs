//! How two images compare.

use kiln_model::v0::{PairedLine, PairedOutcome};

use super::percent;

#[derive(Clone, Debug)]
pub(super) struct Paired {
    is_slower: bool,
    rows: Vec<[String; 6]>,
}

impl Paired {
    pub(super) fn new(outcome: &PairedOutcome) -> Self {
        Self {
            is_slower: outcome.verdict == "slower" && !outcome.self_check,
            rows: outcome.lines.iter().map(row).collect(),
        }
    }

    pub(super) const fn is_slower(&self) -> bool {
        self.is_slower
    }

    /// A row of names, and one for each line.
    pub(super) fn table(&self) -> Vec<[String; 6]> {
        let names = [
            "Benchmark",
            "Measure",
            "Difference",
            "Between",
            "Noise",
            "Verdict",
        ];
        std::iter::once(names.map(str::to_owned))
            .chain(self.rows.iter().cloned())
            .collect()
    }
}

/// The verdict over all lines, and what it rests on.
pub(super) fn sentence(outcome: &PairedOutcome) -> String {
    let rests = if outcome.stopped_early {
        format!("decided after {} of {} pairs", outcome.pairs, outcome.asked)
    } else {
        format!("{} pairs", outcome.pairs)
    };
    let differs = matches!(outcome.verdict.as_str(), "faster" | "slower");
    let verdict = match outcome.verdict.as_str() {
        _ if outcome.self_check && differs => {
            "An image differs from itself, this host is no place to measure".to_owned()
        }
        _ if outcome.self_check => {
            "The host tells an image from itself no more than it should".to_owned()
        }
        "faster" => "The head is faster".to_owned(),
        "slower" => "The head is slower".to_owned(),
        "same" => {
            let gate = percent(outcome.gate);
            format!("The same, within {}", gate.trim_start_matches('+'))
        }
        _ => "It cannot be told".to_owned(),
    };
    format!("{verdict}: {rests}")
}

fn row(line: &PairedLine) -> [String; 6] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let between = |(low, high): (f64, f64)| format!("{} … {}", percent(low), percent(high));
    let verdict = match &line.left_out {
        Some(why) => format!("left out: {why}"),
        None => line.verdict.replace('_', " "),
    };
    let noise = line.noise.map(percent);
    [
        line.benchmark.clone(),
        line.measure.clone(),
        or_dash(line.effect.map(percent)),
        or_dash(line.interval.map(between)),
        or_dash(noise.map(|noise| noise.trim_start_matches('+').to_owned())),
        verdict,
    ]
}
