//! The report as tables.

use std::fmt::{self, Display, Formatter};

use super::{Measurement, Report, Side, grouped};
use crate::fsync::FsyncTimes;
use crate::machine::Machine;
use crate::statistics::Summary;
use crate::target::Target;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (rounds, seconds) = (self.rounds, self.seconds.as_secs_f64());
        writeln!(f, "{}", self.machine)?;
        write!(
            f,
            "each side {seconds} s in {rounds} rounds, taking turns; medians, with lowest–highest"
        )?;
        for measurement in &self.measurements {
            write!(f, "\n\n{measurement}")?;
        }
        Ok(())
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cores, load {:.2} before and {:.2} after",
            self.cores, self.load_before.one_minute, self.load_after.one_minute
        )?;
        if let Some(delay) = self.slow_fsync_ms {
            write!(f, "; every fsync made {delay} ms slower on purpose")?;
        }
        Ok(())
    }
}

impl Display for Measurement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.what)?;
        if !self.sides.is_empty() {
            write!(
                f,
                "  {:<42} {:>12} {:>21} {:>7} {:>7}  ours by this",
                "", self.unit, "lowest–highest", "/commit", "CPU µs"
            )?;
        }
        for side in &self.sides {
            write!(f, "\n  {side}")?;
        }
        if let Some(fsync) = &self.fsync {
            write!(f, "\n  {fsync}")?;
        }
        for target in &self.targets {
            write!(f, "\n  {target}")?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Summary {
            median,
            lowest,
            highest,
        } = self.rate;
        let spread = format!("{}–{}", grouped(lowest), grouped(highest));
        write!(
            f,
            "{:<42} {:>12} {spread:>21} {:>7} {:>7}",
            self.name,
            grouped(median),
            optional(self.per_commit),
            optional(self.cpu_micros),
        )?;
        if let Some(ratio) = self.ours_by_this {
            write!(
                f,
                "  {:.2}× ({:.2}–{:.2})",
                ratio.median, ratio.lowest, ratio.highest
            )?;
        }
        Ok(())
    }
}

impl Display for FsyncTimes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "fsync here: median {:.2} ms, p90 {:.2} ms ({} calls of fdatasync after a small append)",
            self.median_ms, self.p90_ms, self.calls
        )
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = self.verdict.word();
        write!(f, "{word:<6} {}: {}", self.what, self.reached)
    }
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.1}"))
}
