//! `kiln config show`.

use serde::Serialize;

use super::Context;
use crate::failure::{Exit, Failure};
use crate::settings::KNOWN;

#[derive(Serialize)]
struct Line {
    setting: &'static str,
    value: Option<String>,
    source: Option<String>,
    variable: &'static str,
    what: &'static str,
}

pub(super) fn show(context: &Context<'_>, json: bool) -> Result<Exit, Failure> {
    let lines: Vec<Line> = KNOWN
        .iter()
        .map(|known| {
            let found = context.settings.find(known.key);
            Line {
                setting: known.key,
                value: found.map(|setting| {
                    if known.secret {
                        "(hidden)".to_owned()
                    } else {
                        setting.value.clone()
                    }
                }),
                source: found.map(|setting| setting.source.to_string()),
                variable: known.variable,
                what: known.what,
            }
        })
        .collect();
    if json {
        context.terminal.json(&lines)?;
        return Ok(Exit::Ok);
    }
    for line in lines {
        let value = line.value.as_deref().unwrap_or("-");
        let source = line.source.as_deref().unwrap_or("not set");
        context
            .terminal
            .data(&format!("{:<14} {value:<32} {source}", line.setting))?;
        context
            .terminal
            .data(&format!("{:<14} {}; {}", "", line.what, line.variable))?;
    }
    Ok(Exit::Ok)
}
