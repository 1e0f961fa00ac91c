//! A command without a chamber: its output, its end and its files are taken care of as in one, and nothing else is.
//!
//! As root it gets a root directory of its own, which keeps no one in who wants out. An ordinary user's command sees the
//! host's files, and only its program and its working directory are looked for in that directory.

use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use kiln_guest_init::protocol::{Layer, Seal, Stage, ToHost};
use rustix::process::{Signal, set_child_subreaper, set_parent_process_death_signal, setsid};

use crate::command::{self, Root};
use crate::fault::{At, Fault};
use crate::gauge::Gauge;
use crate::launch::{receive_seal, stay_on};
use crate::pid1::{receive_start, tell};
use crate::supervise::{self, Herd};
use crate::{collect, sys};

/// Runs one command with the protocol's socket as standard input.
pub(crate) fn run() -> ExitCode {
    // The host's process may hold descriptors that were not meant for us.
    if sys::close_all_from(3).is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    let mut host = UnixStream::from(socket);
    match live(&mut host) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Without a host there is nobody left to tell.
            let _ = host.write_all(&fault.to_message().to_frame());
            Herd::Descendants.end();
            ExitCode::FAILURE
        }
    }
}

fn live(host: &mut UnixStream) -> Result<(), Fault> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .at(Stage::Protocol, || "cannot follow the host".into())?;
    // Keys pressed at the host's terminal are not for the command.
    setsid().at(Stage::Protocol, || "cannot leave the host's session".into())?;
    let seal = receive_seal(host)?;
    join_groups(&seal)?;
    stay_on(&seal.cores)?;
    // What the command leaves behind becomes our child, so that it can be found and ended.
    set_child_subreaper(Some(rustix::process::getpid()))
        .at(Stage::Supervise, || "cannot adopt orphans".into())?;
    let root = Root::of(seal.layers.first().map_or("/", String::as_str));
    tell(
        host,
        &ToHost::Ready {
            layers: vec![root_layer(&root)],
        },
    )?;

    let start = receive_start(host)?;
    let children =
        sys::block_child_signal().at(Stage::Supervise, || "cannot watch for children".into())?;
    let running = command::start_bare(&start, seal.ids, &root)?;
    tell(
        host,
        &ToHost::Started {
            layers: running.layers,
        },
    )?;
    let end = supervise::supervise(
        host,
        &children,
        running.process,
        Herd::Descendants,
        &Gauge::none(),
    )?;
    tell(
        host,
        &ToHost::Exited {
            status: end.status,
            // The disk is the host's, and so is the memory that ran out.
            usage: end.usage,
        },
    )?;
    collect::send_files(host, root.path(), &start.files, start.files_bytes)?;
    tell(host, &ToHost::Finished)
}

fn join_groups(seal: &Seal) -> Result<(), Fault> {
    let unified =
        (!seal.unified_group.is_empty()).then(|| format!("{}/cgroup.procs", seal.unified_group));
    for entrance in seal.groups.iter().chain(&unified) {
        fs::write(entrance, "0").at(Stage::Groups, || format!("cannot join {entrance}"))?;
    }
    Ok(())
}

fn root_layer(root: &Root) -> Layer {
    match root {
        Root::Changed(_) => Layer::missing(
            "root",
            "a copy of the image, which does not keep the command in",
        ),
        Root::Searched(_) => Layer::missing("root", "the host's own"),
    }
}
