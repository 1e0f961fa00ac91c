//! `kiln`: run code on your own machines and trust what comes back.

mod cli;
mod commands;
mod failure;
mod log;
mod report;
mod settings;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;
use crate::failure::Exit;
use crate::terminal::Terminal;

fn main() -> ExitCode {
    if let Err(failure) = commands::before_anything() {
        return Terminal::new(false).fail(&failure).into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            };
            // Nobody can be told that telling failed.
            let _ = error.print();
            return code.into();
        }
    };
    let terminal = Terminal::new(cli.quiet);
    match commands::run(cli, &terminal) {
        Ok(exit) => exit.into(),
        Err(failure) => terminal.fail(&failure).into(),
    }
}
