//! The tasks, and what `--help` says about them.

use crate::failure::Failure;
use crate::{forward, fuzz, lint, schemathesis, setup, test};

struct Task {
    name: &'static str,
    summary: &'static str,
    /// Behind the summary in the task's own help.
    help: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

const TASKS: [Task; 9] = [
    Task {
        name: "setup",
        summary: "install what the tests need (Debian)",
        help: "\
usage: cargo xtask setup [--check]

  --check   only say what is there and what is missing; exit code 1 when something is missing

Looks for each program first and installs, with apt-get, only what is missing: as root, or through
sudo. Nothing is asked and nothing is removed; to run it again is harmless. On other systems it says
what is needed and under which name Debian has it.",
        run: setup::run,
    },
    Task {
        name: "test",
        summary: "everything CI checks",
        help: "\
usage: cargo xtask test [--fast]

  --fast    without the documentation and the simulator, for daily use

Runs, in this order, and stops at the first that fails: setup, formatting, clippy, cargo-deny (when it
is installed), the build, all tests, the examples in the
documentation, the documentation, and a thousand seeds of the simulator. Ends with a table of the steps
and the line `N passed, N failed`.

Everything is built once, in the dev profile: the simulator here is the one with overflow checks. For
more seeds there is `cargo xtask sim`, which is optimised.",
        run: test::run,
    },
    Task {
        name: "lint",
        summary: "formatting, clippy, licences, tidiness",
        help: "\
usage: cargo xtask lint

Checks that the code is formatted, that clippy has nothing to say, that cargo-deny (when it is
installed) agrees with deny.toml, and that the tidy tests in xtask/src/tidy pass.
To format: cargo fmt --all. To see what clippy would change: cargo clippy --fix --workspace.",
        run: lint::run,
    },
    Task {
        name: "sim",
        summary: "the simulator",
        help: "\
usage: cargo xtask sim [--seeds N] [--from SEED]
       cargo xtask sim --replay SEED

Runs the real control, store and kernel code under a seeded clock with lost messages and crashes, and
checks the invariants after every step. A seed that fails prints the command that replays it.
Every argument goes to the simulator as it is.

  cargo xtask sim --seeds 100000 --from 5000",
        run: forward::sim,
    },
    Task {
        name: "bench",
        summary: "measurements, as ratios against named peers",
        help: "\
usage: cargo xtask bench [ARGUMENT...]

Builds with optimisation and runs the measurements of bench/. Every argument goes there as it is.
Close other programs first: the numbers are ratios within one run, but two cores are soon shared.",
        run: forward::bench,
    },
    Task {
        name: "demo",
        summary: "one real job, from end to end",
        help: "\
usage: cargo xtask demo [ARGUMENT...]

The same as `cargo run --release -- demo`: a server, a runner, an image, a sandbox and a report, on
this machine, in a temporary directory that is removed at the end.",
        run: forward::demo,
    },
    Task {
        name: "crash",
        summary: "kill the demo's processes at random moments",
        help: "\
usage: cargo xtask crash [ARGUMENT...]

Kills server and runner with SIGKILL while jobs run, again and again, and checks that nothing was lost
and nothing happened twice. With --servers 2 or more there are so many servers on one PostgreSQL, and
runners and clients that go on with another server when theirs is killed. Every argument goes to the
program as it is.

  cargo xtask crash --kills 100 --seed 1
  cargo xtask crash --servers 2 --kills 200",
        run: forward::crash,
    },
    Task {
        name: "fuzz",
        summary: "the adapters against bytes that libFuzzer makes up",
        help: "\
usage: cargo xtask fuzz [ADAPTER...] [--seconds N]

  --seconds N   for each adapter; 60 when it is not given

Builds crates/insight/fuzz with counters that libFuzzer looks at and runs it for each adapter, from
the real output in crates/insight/testdata. It learns in target/fuzz/corpus, and goes on from there the
next time. It stops at the first input that an adapter does not survive, and names its file in
target/fuzz/found: that becomes a test. A stable compiler does; a C++ compiler builds libFuzzer.

  cargo xtask fuzz go_bench rust_divan --seconds 600",
        run: fuzz::run,
    },
    Task {
        name: "schemathesis",
        summary: "make requests of the OpenAPI document and check the answers",
        help: "\
usage: cargo xtask schemathesis [ARGUMENT...]

Starts a server on loopback with one small project, lets schemathesis make requests of what
/v0/server/spec says, valid ones and others, and fails when an answer is not as the document has it.
Not part of `test`: it takes two or three minutes, and installs schemathesis from the Python package index into
target/schemathesis when it is not on the search path. Every argument goes to schemathesis.

  cargo xtask schemathesis --max-examples 200 --include-path-regex organizations",
        run: schemathesis::run,
    },
];

/// Runs the task that the command line names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, arguments)) = arguments.split_first() else {
        return Err(Failure::Usage("which task?".into()));
    };
    if is_help(name) {
        println!("{}", overview());
        return Ok(());
    }
    let task = TASKS.iter().find(|task| task.name == name);
    let task = task.ok_or_else(|| Failure::Usage(format!("there is no task {name:?}")))?;
    if arguments.first().is_some_and(|first| is_help(first)) {
        println!("{}: {}\n\n{}", task.name, task.summary, task.help);
        return Ok(());
    }
    (task.run)(arguments)
}

/// Whether the one flag that a task knows is set; anything else is refused.
pub(crate) fn only_flag(arguments: &[String], flag: &str) -> Result<bool, Failure> {
    let unknown = arguments.iter().find(|argument| *argument != flag);
    match unknown {
        None => Ok(!arguments.is_empty()),
        Some(argument) => Err(Failure::Usage(format!("what is {argument:?}?"))),
    }
}

/// For a task without arguments.
pub(crate) fn no_arguments(arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(Failure::Usage(format!("what is {argument:?}?"))),
    }
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "help" | "--help" | "-h")
}

fn overview() -> String {
    let lines: Vec<String> = TASKS
        .iter()
        .map(|task| format!("  {:<12} {}", task.name, task.summary))
        .collect();
    format!(
        "Developer tasks\n\nusage: cargo xtask TASK [ARGUMENT...]\n\n{}\n\n\
         New here? `cargo xtask demo` shows what Kiln does; `cargo xtask test` checks a change.\n\
         More about a task: cargo xtask TASK --help",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_error(arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        match run(&arguments) {
            Err(Failure::Usage(message)) => message,
            other => panic!("expected a usage error, got {other:?}"),
        }
    }

    #[test]
    fn a_task_that_does_not_exist_is_named() {
        assert_eq!(usage_error(&["tset"]), r#"there is no task "tset""#);
    }

    #[test]
    fn an_unknown_flag_is_refused_before_anything_runs() {
        assert_eq!(usage_error(&["test", "--slow"]), r#"what is "--slow"?"#);
        assert_eq!(usage_error(&["lint", "--fast"]), r#"what is "--fast"?"#);
        assert_eq!(usage_error(&["setup", "-x"]), r#"what is "-x"?"#);
    }

    #[test]
    fn the_overview_names_every_task() {
        let overview = overview();
        for task in &TASKS {
            assert!(overview.contains(task.summary), "{}", task.name);
        }
    }
}
