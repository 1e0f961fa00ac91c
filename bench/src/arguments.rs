//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tempfile::TempDir;

use crate::failure::Failure;
use crate::fleet::Part;

const EXAMPLES: &str = "\
Examples:
  cargo xtask bench                        everything, about a minute
  cargo xtask bench ledger --seconds 30    one measurement, longer
  cargo xtask bench kernel --json          for a program
  cargo xtask bench verdicts               how often paired verdicts are right
  cargo xtask bench registry               push and pull with skopeo, some minutes
  cargo xtask bench fleet                  a server with ten thousand runners, some minutes
  cargo xtask bench fleet hand submit      two parts of it
  cargo xtask bench microvm                machines of QEMU, some minutes
  cargo xtask bench unpack                 200 MB beside umoci and podman, a minute
  cargo xtask bench --slow-fsync 4.5       as on a disk that takes 4.5 ms longer than this one
  cargo xtask bench --dir /mnt/disk        on another disk than that of the temporary directory

How to read the numbers: bench/README.md.";

/// Measures Kiln beside named peers, and prints ratios with this machine's fsync time.
#[derive(Debug, Parser)]
#[command(name = "kiln-bench", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to measure.
    #[arg(value_enum, default_value_t = Subject::All)]
    pub(crate) subject: Subject,

    /// Which parts of `fleet`; all of them without this.
    #[arg(value_enum, value_name = "PART")]
    pub(crate) parts: Vec<Part>,

    /// How long each side of a comparison is measured, over all rounds.
    #[arg(long, value_name = "N", default_value = "5", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with 1 when a target is missed.
    #[arg(long)]
    pub(crate) check: bool,

    /// Make every fsync this much slower, to see how a slower disk would do.
    #[arg(long, value_name = "MS", value_parser = millis)]
    pub(crate) slow_fsync: Option<f64>,

    /// Where the databases are made, and removed afterwards [default: the temporary directory].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// 64 writers through the ledger on `SQLite`, beside one commit per closure and sqlx.
    Ledger,
    /// The kernel's poll, in memory and on `SQLite`.
    Kernel,
    /// How often paired verdicts are right.
    Verdicts,
    /// A large report, and a plot among a million metrics.
    Numbers,
    /// The adapters on real output, beside a plain reading of the same bytes.
    Adapters,
    /// Push and pull with skopeo, beside `docker-registry`. Takes minutes, and so is not part of `all`.
    Registry,
    /// Runners with a server: hand, lifecycles, submit, idle, history. Takes minutes, and so is not part of `all`.
    Fleet,
    /// Chambers beside bwrap, crun and podman.
    Chamber,
    /// What a runner adds to a job whose image it has.
    Runner,
    /// Unpacking 200 MB beside umoci and podman, and a second start. Takes minutes, and so is not part of `all`.
    Unpack,
    /// Whether a chamber adds noise to what runs in it.
    Steadiness,
    /// QEMU's machines beside bare QEMU. Takes minutes, and so is not part of `all`.
    Microvm,
    All,
}

impl Arguments {
    /// A directory of our own that goes when it is dropped.
    pub(crate) fn place(&self) -> Result<TempDir, Failure> {
        let parent = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        TempDir::with_prefix_in("kiln-bench-", &parent).map_err(|source| {
            Failure::io(format!("make a directory in {}", parent.display()), source)
        })
    }
}

impl Subject {
    pub(crate) fn includes(self, other: Self) -> bool {
        let takes_minutes = matches!(
            other,
            Self::Registry | Self::Microvm | Self::Unpack | Self::Fleet
        );
        self == other || (self == Self::All && !takes_minutes)
    }
}

/// A tenth of a second is the least that holds more than a few commits in every round.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if !(0.1..=3600.0).contains(&seconds) {
        return Err("between 0.1 and 3600, please".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn millis(text: &str) -> Result<f64, String> {
    let millis: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if !(0.0..=1_000.0).contains(&millis) {
        return Err("between 0 and 1000, please".to_owned());
    }
    Ok(millis)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(["kiln-bench"].iter().chain(arguments))
    }

    #[test]
    fn the_command_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn without_arguments_everything_is_measured_for_five_seconds() {
        let arguments = parse(&[]).unwrap();
        assert_eq!(arguments.subject, Subject::All);
        assert_eq!(arguments.seconds, Duration::from_secs(5));
        assert!(!arguments.json && !arguments.check);
    }

    #[test]
    fn a_subject_and_its_options_may_come_in_any_order() {
        let arguments = parse(&["--json", "kernel", "--seconds", "0.5", "--check"]).unwrap();
        assert_eq!(arguments.subject, Subject::Kernel);
        assert_eq!(arguments.seconds, Duration::from_millis(500));
        assert!(arguments.json && arguments.check);
    }

    #[test]
    fn parts_of_a_fleet_are_named_behind_it() {
        let arguments = parse(&["fleet", "hand", "idle", "--json"]).unwrap();
        assert_eq!(arguments.parts, [Part::Hand, Part::Idle]);
        assert!(parse(&["fleet", "fsync"]).is_err());
    }

    #[test]
    fn seconds_that_cannot_be_meant_are_refused() {
        for seconds in ["0", "-1", "NaN", "inf", "many", "3601"] {
            assert!(parse(&["--seconds", seconds]).is_err(), "{seconds}");
        }
    }

    #[test]
    fn a_delay_that_cannot_be_meant_is_refused() {
        assert_eq!(
            parse(&["--slow-fsync", "4.5"]).unwrap().slow_fsync,
            Some(4.5)
        );
        for millis in ["-1", "NaN", "1001", "slow"] {
            assert!(parse(&["--slow-fsync", millis]).is_err(), "{millis}");
        }
    }

    #[test]
    fn an_unknown_subject_is_refused() {
        assert!(parse(&["disk"]).is_err());
    }

    #[test]
    fn all_includes_every_subject_and_a_subject_only_itself() {
        assert!(Subject::All.includes(Subject::Ledger));
        assert!(Subject::Kernel.includes(Subject::Kernel));
        assert!(!Subject::Kernel.includes(Subject::Ledger));
    }

    #[test]
    fn the_directory_is_made_where_it_was_asked_for_and_goes_when_dropped() {
        let parent = TempDir::new().unwrap();
        let arguments = parse(&["--dir", parent.path().to_str().unwrap()]).unwrap();
        let place = arguments.place().unwrap();
        let path = place.path().to_owned();
        assert_eq!(path.parent(), Some(parent.path()));
        drop(place);
        assert!(!path.exists());
    }
}
