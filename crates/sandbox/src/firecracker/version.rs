//! Which Firecracker it is.

use std::path::Path;
use std::process::Command;

use super::api::broken;
use crate::Error;

/// The first release without known ways out of its jail or its snapshots.
const AT_LEAST: [u32; 3] = [1, 15, 1];

/// Asks the program, and its jailer, and refuses what is too old or does not belong together.
pub(super) fn check(program: &Path, jailer: Option<&Path>) -> Result<String, Error> {
    let version = ask(program)?;
    if let Some(jailer) = jailer {
        let other = ask(jailer)?;
        if other != version {
            return Err(broken(&format!(
                "its version is {version}, and its jailer's is {other}"
            )));
        }
    }
    Ok(version)
}

fn ask(program: &Path) -> Result<String, Error> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| Error::host(format!("cannot run {}", program.display()), error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some((shown, numbers)) = parse(&text) else {
        return Err(broken("it does not tell its version"));
    };
    if numbers < AT_LEAST {
        let [major, minor, patch] = AT_LEAST;
        return Err(broken(&format!(
            "version {shown} is older than {major}.{minor}.{patch}"
        )));
    }
    Ok(shown)
}

/// From `Firecracker v1.15.1` on the first line.
fn parse(text: &str) -> Option<(String, [u32; 3])> {
    let shown = text
        .lines()
        .next()?
        .split_whitespace()
        .find_map(|word| word.strip_prefix('v'))?;
    let core = shown.split(['-', '+']).next()?;
    let numbers: Vec<u32> = core
        .split('.')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    Some((shown.to_owned(), numbers.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_and_compared() {
        let (shown, numbers) = parse("Firecracker v1.15.1\n\nSupported snapshot…\n").unwrap();
        assert_eq!((shown.as_str(), numbers), ("1.15.1", [1, 15, 1]));
        assert!(parse("Firecracker v1.9.0").unwrap().1 < AT_LEAST);
        assert!(parse("Firecracker v1.17.0-dev").unwrap().1 > AT_LEAST);
        assert!(parse("something else").is_none());
    }
}
