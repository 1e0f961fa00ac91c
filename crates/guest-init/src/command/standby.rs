//! A child that stands behind the walls before there is a command, and becomes it when it is told which.
//!
//! ```text
//! PID 1 ──fork──▶ child: end of the old root, session, streams, no new privileges, Landlock, seccomp
//!       ──Start─▶        working directory, limits, user, no capabilities, exec
//! ```
//!
//! The order is the walls' only: each of them lets through what the child does after it.

use std::io::{PipeReader, PipeWriter, Write as _};
use std::os::fd::AsFd as _;

use kiln_guest_init::protocol::{IdMap, Layer, Stage, Start, Stream, ToGuest, read_frame};
use rustix::process::Pid;
use rustix::thread::set_no_new_privs;

use super::{
    Plan, Running, c_strings, candidates, check_executed, enter, execute, make_pipe,
    make_stopwatch, make_working_directory, open_null, program, report, take_streams, user_layer,
};
use crate::fault::{At, Fault};
use crate::filter::Filter;
use crate::stopwatch::Stopwatch;
use crate::supervise::{Process, Pump};
use crate::sys::{self, Fork, Ruleset};
use crate::{landlock, limits, mounts, privileges};

/// The child, and the ways to it.
#[derive(Debug)]
pub(crate) struct Standby {
    pid: Pid,
    ids: IdMap,
    orders: PipeWriter,
    stdout: PipeReader,
    stderr: PipeReader,
    trouble: PipeReader,
    landlock: Layer,
    since: Stopwatch,
}

impl Standby {
    /// Makes the child, in the chamber's root and with the old one still mounted. What goes wrong behind the walls is told
    /// when the child is to become a command.
    pub(crate) fn fork(ids: IdMap) -> Result<Self, Fault> {
        let (rules, landlock) = landlock::plan()?;
        let filter = Filter::compiled();
        let stdin = open_null()?;
        let (stdout, stdout_end) = make_pipe()?;
        let (stderr, stderr_end) = make_pipe()?;
        let (trouble, trouble_end) = make_pipe()?;
        let (orders_end, orders) = make_pipe()?;
        let since = make_stopwatch()?;
        match sys::fork().at(Stage::Exec, || "cannot fork".into())? {
            Fork::Child => {
                // Without PID 1 there is nothing to wait for.
                drop(orders);
                let streams = [stdin.as_fd(), stdout_end.as_fd(), stderr_end.as_fd()];
                let fault = mounts::leave_old_root()
                    .and_then(|()| take_streams(streams))
                    .and_then(|()| step_behind(rules.as_ref(), filter))
                    .and_then(|()| receive(orders_end))
                    .and_then(|start| become_command(&start, ids, &since));
                match fault {
                    Ok(fault) | Err(fault) => report(trouble_end, &fault),
                }
                sys::exit_now(127)
            }
            Fork::Parent(pid) => Ok(Self {
                pid,
                ids,
                orders,
                stdout,
                stderr,
                trouble,
                landlock,
                since,
            }),
        }
    }

    /// Has the child become the command. Returns once it was executed.
    pub(crate) fn start(mut self, start: &Start) -> Result<Running, Fault> {
        // Refused here rather than there, so that nothing is half done.
        let limits = limits::plan(&start.limits)?;
        candidates(start)?;
        make_working_directory(&start.cwd)?;
        let mut layers = vec![
            Layer::applied("capabilities", "none, and none to be gained"),
            Layer::applied("no-new-privileges", "set"),
            Layer::applied("seccomp", "allow-list"),
            self.landlock,
        ];
        layers.extend(user_layer(start, self.ids));
        layers.extend(limits.into_iter().map(|limit| limit.layer));
        // A child that does not listen any more has said why.
        let _ = self
            .orders
            .write_all(&ToGuest::Start(start.clone()).to_frame());
        drop(self.orders);
        check_executed(self.pid, self.trouble)?;
        let process = Process {
            pid: self.pid,
            since: self.since,
            pumps: vec![
                Pump::new(Stream::Stdout, self.stdout.into(), start.stdout_bytes),
                Pump::new(Stream::Stderr, self.stderr.into(), start.stderr_bytes),
            ],
        };
        Ok(Running { process, layers })
    }
}

fn step_behind(rules: Option<&Ruleset>, filter: &Filter) -> Result<(), Fault> {
    sys::reset_for_exec().at(Stage::Exec, || "cannot reset signals".into())?;
    set_no_new_privs(true).at(Stage::Capabilities, || {
        "cannot forbid new privileges".into()
    })?;
    if let Some(rules) = rules {
        rules
            .restrict_self()
            .at(Stage::Landlock, || "cannot apply the ruleset".into())?;
    }
    filter.apply()
}

fn receive(mut orders: PipeReader) -> Result<Start, Fault> {
    let frame = read_frame(&mut orders).at(Stage::Protocol, || "there is no command".into())?;
    match ToGuest::from_frame(&frame) {
        Ok(ToGuest::Start(start)) => Ok(start),
        Ok(_) => Err(Fault::new(Stage::Protocol, "this is no command")),
        Err(malformed) => Err(Fault::new(Stage::Protocol, malformed.to_string())),
    }
}

/// Comes back only with what went wrong.
fn become_command(start: &Start, ids: IdMap, since: &Stopwatch) -> Result<Fault, Fault> {
    let plan = Plan {
        start,
        ids,
        program: program(start)?,
        candidates: c_strings(&candidates(start)?)?,
        limits: limits::plan(&start.limits)?,
        root: None,
    };
    enter(&plan)?;
    privileges::drop_all_capabilities()?;
    Ok(execute(&plan, since))
}
