//! Tasks that are programs of their own: we build them with optimisation and pass the arguments on.

use crate::cargo::{cargo, show};
use crate::failure::Failure;

pub(crate) fn sim(arguments: &[String]) -> Result<(), Failure> {
    forward(&["--package", "kiln-sim", "--bin", "sim", "--"], arguments)
}

pub(crate) fn bench(arguments: &[String]) -> Result<(), Failure> {
    forward(&["--package", "kiln-bench", "--"], arguments)
}

pub(crate) fn demo(arguments: &[String]) -> Result<(), Failure> {
    forward(&["--", "demo"], arguments)
}

pub(crate) fn crash(arguments: &[String]) -> Result<(), Failure> {
    forward(
        &["--package", "kiln-e2e", "--bin", "crash", "--"],
        arguments,
    )
}

fn forward(program: &[&str], arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo(["run", "--release"]);
    command.args(program).args(arguments);
    let status = command
        .status()
        .map_err(|error| Failure::failed(format!("cannot run {}: {error}", show(&command))))?;
    if status.success() {
        return Ok(());
    }
    // Ended by a signal, it has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Err(Failure::Exited(code.unwrap_or(1)))
}
