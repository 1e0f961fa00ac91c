//! The command line.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use super::VERSION;

/// What Firecracker's own parser knows and this double has a use for.
const KNOWN: [&str; 7] = [
    "--id",
    "--api-sock",
    "--log-path",
    "--metrics-path",
    "--start-time-us",
    "--start-time-cpu-us",
    "--parent-cpu-time-us",
];

#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) id: String,
    pub(super) api_socket: PathBuf,
    log: PathBuf,
    metrics: PathBuf,
}

impl Arguments {
    /// Both `--name value` and `--name=value`, each once.
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut seen = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = if let Some((name, value)) = word.split_once('=') {
                (name, value.to_owned())
            } else {
                let value = words.next();
                let value =
                    value.ok_or_else(|| format!("The argument '{word}' requires a value"))?;
                (word.as_str(), value.clone())
            };
            if !KNOWN.contains(&name) {
                return Err(format!("Found argument '{name}' which wasn't expected"));
            }
            if seen.contains(&name) {
                return Err(format!("The argument '{name}' was provided more than once"));
            }
            seen.push(name);
            match name {
                "--id" => arguments.id = checked_id(value)?,
                "--api-sock" => arguments.api_socket = value.into(),
                "--log-path" => arguments.log = value.into(),
                "--metrics-path" => arguments.metrics = value.into(),
                _ => drop(value.parse::<u64>().map_err(|error| error.to_string())?),
            }
        }
        if arguments.api_socket.as_os_str().is_empty() {
            return Err("this double needs --api-sock".to_owned());
        }
        Ok(arguments)
    }

    /// Writes to files that must be there already.
    pub(super) fn open_logs(&self) -> io::Result<()> {
        let open = |path: &PathBuf| OpenOptions::new().append(true).open(path);
        writeln!(open(&self.log)?, "Running Firecracker v{VERSION}")?;
        writeln!(open(&self.metrics)?, "{{}}")
    }
}

/// Letters, digits and hyphens, at most 64.
fn checked_id(id: String) -> Result<String, String> {
    let is_fine = (1..=64).contains(&id.len())
        && id
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    if is_fine {
        Ok(id)
    } else {
        Err(format!("Invalid instance ID: {id}"))
    }
}
