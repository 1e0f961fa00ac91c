//! Installs what the tests need, and says what it does.

mod apt;
mod kernel;
mod needs;
mod probe;

use crate::cargo::has_subcommand;
use crate::failure::Failure;
use crate::tasks::only_flag;
use needs::{CARGO_TOOLS, NEEDS, Need};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let only_check = only_flag(arguments, "--check")?;
    for need in NEEDS {
        let state = if need.proof.holds() {
            "there"
        } else {
            "missing"
        };
        println!("{state:<8} {:<16} {}", need.package, need.why);
    }
    let state = if kernel::is_there() {
        "there"
    } else {
        "missing"
    };
    println!(
        "{state:<8} {:<16} what the machines of tests boot",
        "a guest kernel"
    );
    for tool in CARGO_TOOLS {
        let state = if has_subcommand(tool.subcommand) {
            "there"
        } else {
            "absent"
        };
        println!("{state:<8} {:<16} {}", tool.package, tool.why);
    }
    let missing = missing();
    if missing.is_empty() && kernel::is_there() {
        println!("\nNothing to install.");
        return Ok(());
    }
    if only_check {
        let mut missing = names(&missing);
        if !kernel::is_there() {
            missing.push_str(" a guest kernel");
        }
        return Err(Failure::Failed(format!(
            "missing: {}; cargo xtask setup installs them",
            missing.trim_start()
        )));
    }
    ensure()
}

/// Installs what is missing; says nothing when nothing is.
pub(crate) fn ensure() -> Result<(), Failure> {
    let missing = missing();
    if !missing.is_empty() {
        install(&missing)?;
    }
    if kernel::is_there() {
        return Ok(());
    }
    kernel::fetch()
}

fn install(wanted: &[&'static Need]) -> Result<(), Failure> {
    let packages: Vec<&str> = wanted.iter().map(|need| need.package).collect();
    apt::install(&packages)?;
    let still = missing();
    if still.is_empty() {
        println!("\nDone.");
        return Ok(());
    }
    let message = format!(
        "installed, but not as the tests need it: {}",
        reasons(&still)
    );
    Err(Failure::Failed(message))
}

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !need.proof.holds()).collect()
}

fn names(needs: &[&Need]) -> String {
    let names: Vec<&str> = needs.iter().map(|need| need.package).collect();
    names.join(" ")
}

fn reasons(needs: &[&Need]) -> String {
    let lines: Vec<String> = needs
        .iter()
        .map(|need| format!("{} ({})", need.package, need.proof))
        .collect();
    lines.join(", ")
}
