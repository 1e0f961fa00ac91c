//! `kiln runner unit`: a systemd unit for a runner.

use crate::cli::RunnerUnit;
use crate::commands::Context;
use crate::failure::{Exit, Failure};

pub(in crate::commands) fn run(
    context: &Context<'_>,
    wanted: &RunnerUnit,
) -> Result<Exit, Failure> {
    let program = std::env::current_exe()?;
    context
        .terminal
        .data(&unit(&program.to_string_lossy(), wanted)?)?;
    context.terminal.note(
        "Save it as /etc/systemd/system/kiln-runner.service, put KILN_KEY=… into /etc/kiln/runner.env (mode 600), \
         then: systemctl daemon-reload && systemctl enable --now kiln-runner",
    );
    Ok(Exit::Ok)
}

/// The control groups are delegated, since chambers are made below the runner's own; a stop waits for the job at hand,
/// and the second signal ends it.
fn unit(program: &str, wanted: &RunnerUnit) -> Result<String, Failure> {
    let tuning = if wanted.tuning { " --tuning on" } else { "" };
    let slots = match wanted.slots {
        1 => String::new(),
        slots => format!(" --slots {slots}"),
    };
    let host = quoted(&wanted.host)?;
    let runner = quoted(&wanted.runner)?;
    let program = quoted(program)?;
    Ok(format!(
        "[Unit]
Description=Kiln runner
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={program} runner up --host {host} --runner {runner} --runner-data /var/lib/kiln-runner{tuning}{slots}
EnvironmentFile=/etc/kiln/runner.env
StateDirectory=kiln-runner
Delegate=yes
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=1h
Restart=on-failure
RestartSec=5s
OOMScoreAdjust=-900

[Install]
WantedBy=multi-user.target"
    ))
}

/// A word for systemd, which splits at spaces and has `%` and `$` for itself.
fn quoted(word: &str) -> Result<String, Failure> {
    if word.chars().any(char::is_control) {
        return Err(Failure::usage(format!("{word:?} cannot stand in a unit")));
    }
    let escaped = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', "$$");
    Ok(format!("\"{escaped}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(host: &str) -> RunnerUnit {
        RunnerUnit {
            host: host.to_owned(),
            runner: "metal-1".to_owned(),
            tuning: true,
            slots: 2,
        }
    }

    #[test]
    fn the_unit_starts_this_program_with_what_was_given() {
        let text = unit("/usr/bin/kiln", &wanted("https://kiln.example")).unwrap();
        assert!(text.contains(
            r#"ExecStart="/usr/bin/kiln" runner up --host "https://kiln.example" --runner "metal-1""#
        ));
        assert!(text.contains("--tuning on --slots 2\n"));
        assert!(text.contains("Delegate=yes"));
    }

    #[test]
    fn nothing_given_can_add_a_line_or_a_word() {
        assert!(unit("/usr/bin/kiln", &wanted("https://x\nExecStart=/bin/sh")).is_err());
        let text = unit("/usr/bin/kiln", &wanted("a\" b%n$HOME")).unwrap();
        assert!(text.contains(r#""a\" b%%n$$HOME""#));
    }
}
