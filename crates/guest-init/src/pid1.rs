//! The life of PID 1, from its birth in new namespaces to its last message.

use std::fs::File;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use kiln_guest_init::protocol::{
    IdMap, Layer, Scratch, Seal, Stage, Start, ToGuest, ToHost, Usage, read_frame,
};
use rustix::fs::Mode;
use rustix::io::IoSliceMut;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal, umask,
};

use crate::command::Standby;
use crate::fault::{At, Fault};
use crate::gauge::Gauge;
use crate::launch::{MAX_LAYERS, Newborn, stay_on};
use crate::peak::Peak;
use crate::supervise::Herd;
use crate::{collect, hostname, mounts, oom, privileges, supervise, sys, uplink, warm};

/// Runs one command and ends the process, and with it everything in the chamber.
pub(crate) fn run(host: &mut UnixStream, newborn: Newborn) -> ! {
    let code = match live(host, newborn) {
        Ok(()) => 0,
        Err(fault) => {
            // Without a host there is nobody left to tell.
            let _ = host.write_all(&fault.to_message().to_frame());
            1
        }
    };
    sys::exit_now(code)
}

fn live(host: &mut UnixStream, newborn: Newborn) -> Result<(), Fault> {
    let Newborn {
        seal,
        groups,
        launcher,
        scratch,
        has_new_network,
    } = newborn;
    join(groups)?;
    stay_on(&seal.cores)?;
    let shifted = wait_for_launcher(&launcher)?;
    drop(launcher);
    sys::leave_group_namespace().at(Stage::Namespaces, || {
        "cannot create a control group namespace".into()
    })?;
    rustix::thread::set_name(c"kiln-init").at(Stage::Namespaces, || "cannot take a name".into())?;
    // What is made for the chamber gets exactly the mode it is given.
    umask(Mode::empty());
    privileges::become_chamber_root(seal.ids)?;
    // Both are lost with a change of ids. A host that died before this line is noticed at the next read.
    set_parent_process_death_signal(Some(Signal::KILL))
        .at(Stage::Namespaces, || "cannot follow the host".into())?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .at(Stage::Namespaces, || "cannot hide from the command".into())?;

    privileges::empty_bounding_set()?;
    hostname::set(&seal.hostname)?;
    if has_new_network {
        sys::bring_loopback_up().at(Stage::Network, || {
            "cannot bring the loopback device up".into()
        })?;
    }
    if seal.device {
        uplink::bring_up()?;
    }
    if seal.held {
        tell(host, &ToHost::Held)?;
        wait_to_build(host)?;
    }

    let peak = Peak::open(&seal);
    mounts::enter_new_root(&seal, shifted, scratch)?;
    // All that can be done before there is a command is done before the host is told: it may have time until then.
    let children =
        sys::block_child_signal().at(Stage::Supervise, || "cannot watch for children".into())?;
    let killed_before = killed(&seal);
    // It has walls of its own to put up while we finish the chamber's.
    let standby = Standby::fork(seal.ids)?;
    mounts::mask_proc()?;
    hostname::add_hosts()?;
    hostname::set_resolver(&seal.resolver)?;
    warm::read_first(&seal.warm);
    tell(
        host,
        &ToHost::Ready {
            layers: layers(&seal),
        },
    )?;

    let start = receive_start(host)?;
    uplink::connect(start.uplink)?;
    let running = standby.start(&start)?;
    tell(
        host,
        &ToHost::Started {
            layers: running.layers,
        },
    )?;
    privileges::keep_what_supervision_needs()?;

    let end = supervise::supervise(
        host,
        &children,
        running.process,
        Herd::Namespace,
        &Gauge::of(&seal),
    )?;
    tell(
        host,
        &ToHost::Exited {
            status: end.status,
            usage: Usage {
                oom_kills: killed(&seal).saturating_sub(killed_before),
                peak_memory_bytes: peak.bytes(),
                ..end.usage
            },
        },
    )?;
    collect::send_files(host, "/", &start.files, start.files_bytes)?;
    tell(host, &ToHost::Finished)
}

fn join(groups: Vec<File>) -> Result<(), Fault> {
    for mut tasks in groups {
        tasks
            .write_all(b"0")
            .at(Stage::Groups, || "cannot join a control group".into())?;
    }
    Ok(())
}

/// Processes killed for want of memory, as far as they are ours to count: a machine's are all of this chamber, and on a host
/// the chamber's group tells.
fn killed(seal: &Seal) -> u64 {
    match seal.scratch {
        Scratch::Memory | Scratch::Handed { .. } => 0,
        Scratch::Disk { .. } => oom::kills(),
    }
}

/// Sends one message to the host.
pub(crate) fn tell(host: &mut UnixStream, message: &ToHost) -> Result<(), Fault> {
    host.write_all(&message.to_frame())
        .at(Stage::Protocol, || "cannot reach the host".into())
}

/// Blocks until the id maps are written, and takes the layers that were shifted to them.
fn wait_for_launcher(launcher: &UnixStream) -> Result<Vec<OwnedFd>, Fault> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_LAYERS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        launcher,
        &mut [IoSliceMut::new(&mut byte)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .at(Stage::Namespaces, || "cannot hear from the launcher".into())?;
    if received.bytes == 0 {
        // The launcher failed and has told the host why.
        sys::exit_now(1);
    }
    let mut layers = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            layers.extend(descriptors);
        }
    }
    Ok(layers)
}

fn wait_to_build(host: &mut UnixStream) -> Result<(), Fault> {
    let frame = read_frame(host).at(Stage::Protocol, || "cannot hear from the host".into())?;
    match ToGuest::from_frame(&frame) {
        Ok(ToGuest::Build) => Ok(()),
        Ok(_) => Err(Fault::new(Stage::Protocol, "nothing is built yet")),
        Err(malformed) => Err(Fault::new(Stage::Protocol, malformed.to_string())),
    }
}

fn layers(seal: &Seal) -> Vec<Layer> {
    vec![
        Layer::applied("namespaces", "user, mount, pid, network, ipc, uts, cgroup"),
        ids_layer(seal),
        Layer::applied("root", root_detail(seal)),
        Layer::applied("proc", "own, masked"),
        Layer::applied("sys", "absent"),
        Layer::applied("devices", "minimal"),
        Layer::applied(
            "network",
            if seal.resolver.is_empty() {
                "loopback only"
            } else {
                "filtered: no private, link-local or control-plane addresses"
            },
        ),
    ]
}

fn root_detail(seal: &Seal) -> String {
    let backing = match seal.scratch {
        Scratch::Memory => "in memory",
        Scratch::Disk { .. } | Scratch::Handed { .. } => "on a disk of its own",
    };
    format!("overlay, {} bytes writable {backing}", seal.disk_bytes)
}

fn ids_layer(seal: &Seal) -> Layer {
    if let Scratch::Disk { .. } = seal.scratch {
        return Layer::applied("ids", "the machine's own");
    }
    match seal.ids {
        IdMap::Shifted { first, count } => Layer::applied(
            "ids",
            format!(
                "0..{count} inside is {first}..{} on the host",
                u64::from(first) + u64::from(count)
            ),
        ),
        IdMap::Identity { count } => Layer::missing(
            "ids",
            format!("0..{count} inside is the same on the host: the layers cannot be shifted"),
        ),
        IdMap::Single { uid, .. } => Layer::applied(
            "ids",
            format!("{uid} inside is the host user; no other ids"),
        ),
    }
}

pub(crate) fn receive_start(host: &mut UnixStream) -> Result<Start, Fault> {
    let frame = read_frame(host).at(Stage::Protocol, || "cannot read the start message".into())?;
    match ToGuest::from_frame(&frame) {
        Ok(ToGuest::Start(start)) => Ok(start),
        // A kill before the start is a cancel that came early: there is nothing to end but ourselves.
        Ok(ToGuest::Kill(_)) => sys::exit_now(0),
        Ok(ToGuest::Seal(_) | ToGuest::Build | ToGuest::Machine(_) | ToGuest::Wake(_)) => {
            Err(Fault::new(Stage::Protocol, "the chamber is sealed already"))
        }
        Err(malformed) => Err(Fault::new(Stage::Protocol, malformed.to_string())),
    }
}
