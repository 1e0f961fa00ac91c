//! `kiln noise`: how still this host is.

use kiln_model::v0::{NoiseProbe, NoiseReceipt};
use kiln_sandbox::quiet::{ProbeLength, core_split, probe, warnings};

use super::Context;
use crate::cli::Noise;
use crate::failure::{Exit, Failure};

/// From here on benchmarks of a few per cent can be told apart.
const GOOD: u8 = 80;
const FAIR: u8 = 50;

pub(super) fn run(context: &Context<'_>, noise: &Noise) -> Result<Exit, Failure> {
    context.terminal.progress("measuring this host");
    let cores = core_split();
    let benchmark = cores
        .as_ref()
        .map_or_else(Vec::new, |cores| cores.benchmark.clone());
    let receipt = NoiseReceipt {
        before: Some(probe(ProbeLength::Thorough, &benchmark, None)),
        warnings: warnings(cores.as_ref()),
        cores,
        ..NoiseReceipt::default()
    };
    context.terminal.end_progress();
    if noise.json.json {
        context.terminal.json(&receipt)?;
    } else {
        print(context, &receipt)?;
    }
    Ok(Exit::Ok)
}

fn print(context: &Context<'_>, receipt: &NoiseReceipt) -> Result<(), Failure> {
    let terminal = context.terminal;
    let measured = receipt.before.unwrap_or_default();
    terminal.data(&format!(
        "Score {} of 100: {}",
        measured.score,
        verdict(&measured)
    ))?;
    let lines = [
        ("middle half apart", percent(measured.spread_ppm)),
        (
            "slowest hundredth",
            format!("{} later", percent(measured.tail_ppm)),
        ),
        (
            "longest held up",
            format!("{} us", measured.worst_ns / 1_000),
        ),
        (
            "preempted",
            format!("{} times", measured.involuntary_switches),
        ),
        (
            "stolen",
            measured
                .steal_us
                .map_or_else(|| "not told".to_owned(), |span| format!("{span} us")),
        ),
        (
            "rounds",
            format!("{} of {} ns", measured.rounds, measured.median_ns),
        ),
    ];
    for (name, value) in lines {
        terminal.data(&format!("  {name:<18} {value}"))?;
    }
    for warning in &receipt.warnings {
        terminal.warn(warning);
    }
    terminal.note("A runner makes its host quiet with `kiln runner up --tuning on`.");
    Ok(())
}

fn verdict(measured: &NoiseProbe) -> &'static str {
    match measured.score {
        GOOD.. => "good for benchmarks",
        FAIR.. => "fair: small differences will drown",
        _ => "noisy: only large differences will show",
    }
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02}%", ppm / 10_000, ppm % 10_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millionths_are_shown_as_per_cent() {
        assert_eq!(percent(12_345), "1.23%");
        assert_eq!(percent(500), "0.05%");
    }
}
