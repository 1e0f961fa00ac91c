//! `kiln exit-codes`.

use serde::Serialize;

use super::Context;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Line {
    code: u8,
    meaning: &'static str,
}

pub(super) fn run(context: &Context<'_>, json: bool) -> Result<Exit, Failure> {
    let lines: Vec<Line> = Exit::ALL
        .iter()
        .map(|(exit, meaning)| Line {
            code: exit.code(),
            meaning,
        })
        .collect();
    if json {
        context.terminal.json(&lines)?;
    } else {
        for line in lines {
            context
                .terminal
                .data(&format!("{:>3}  {}", line.code, line.meaning))?;
        }
    }
    Ok(Exit::Ok)
}
