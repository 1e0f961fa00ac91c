//! The launcher: reads how to seal, makes the namespaces, and hands PID 1 what only the host's side can make.

use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use kiln_guest_init::protocol::{IdMap, Seal, Stage, ToGuest, ToHost, read_frame};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::IoSlice;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, set_parent_process_death_signal, setsid};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::fault::{At, Fault};
use crate::sys::{self, Fork};
use crate::{pid1, uplink};

/// How many directories a base may have. Linux passes at most 253 descriptors in one message.
pub(crate) const MAX_LAYERS: usize = 128;

/// Chamber processes are the first to go when the whole host runs out of memory.
const OOM_SCORE: &str = "500";

/// Runs the launcher with the protocol's socket as standard input.
pub(crate) fn launch() -> ExitCode {
    // The host's process may hold descriptors that were not meant for us.
    if sys::close_all_from(3).is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    let mut host = UnixStream::from(socket);
    match launch_chamber(&mut host) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Without a host there is nobody left to tell.
            let _ = host.write_all(&fault.to_message().to_frame());
            ExitCode::FAILURE
        }
    }
}

fn launch_chamber(host: &mut UnixStream) -> Result<(), Fault> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .at(Stage::Protocol, || "cannot follow the host".into())?;
    // Keys pressed at the host's terminal are not for the chamber.
    setsid().at(Stage::Protocol, || "cannot leave the host's session".into())?;
    let seal = receive_seal(host)?;
    // The score is a courtesy to the host, not a part of the seal.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    let (ours, theirs) =
        UnixStream::pair().at(Stage::Namespaces, || "cannot make a socket pair".into())?;
    let unified = join_groups(&seal)?;
    stay_on(&seal.cores)?;
    match sys::clone_into_new_namespaces(unified.as_ref().map(AsFd::as_fd))
        .at(Stage::Namespaces, || "cannot create namespaces".into())?
    {
        Fork::Child => {
            drop(ours);
            pid1::run(host, &theirs, &seal)
        }
        Fork::Parent(pid) => {
            drop(theirs);
            let born = ToHost::Born {
                pid: pid.as_raw_nonzero().get().unsigned_abs(),
            };
            host.write_all(&born.to_frame())
                .at(Stage::Protocol, || "cannot reach the host".into())?;
            write_id_maps(pid, seal.ids)?;
            uplink::hand_over(seal.uplink, pid)?;
            let layers = match seal.ids {
                IdMap::Shifted { .. } => shifted_layers(pid, &seal.layers)?,
                IdMap::Identity { .. } | IdMap::Single { .. } => Vec::new(),
            };
            release(&ours, &layers)
        }
    }
}

/// Joins the v1 groups and opens the v2 group.
///
/// A thread that moves only itself does so without the kernel's lock over all process births and deaths, which costs an RCU
/// grace period. The same holds for a process born in its group.
fn join_groups(seal: &Seal) -> Result<Option<OwnedFd>, Fault> {
    for tasks in &seal.groups {
        fs::OpenOptions::new()
            .write(true)
            .open(tasks)
            .and_then(|mut file| file.write_all(b"0"))
            .at(Stage::Groups, || format!("cannot join {tasks}"))?;
    }
    if seal.unified_group.is_empty() {
        return Ok(None);
    }
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    openat(CWD, seal.unified_group.as_str(), flags, Mode::empty())
        .at(Stage::Groups, || {
            format!("cannot open {}", seal.unified_group)
        })
        .map(Some)
}

/// The host's process may keep to other cores than the chamber's, and children inherit that.
pub(crate) fn stay_on(cores: &[u32]) -> Result<(), Fault> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for core in cores {
        let core = usize::try_from(*core).unwrap_or(usize::MAX);
        if core >= CpuSet::MAX_CPU {
            return Err(Fault::new(
                Stage::Groups,
                format!("there is no core {core}"),
            ));
        }
        set.set(core);
    }
    sched_setaffinity(None, &set).at(Stage::Groups, || format!("cannot stay on cores {cores:?}"))
}

pub(crate) fn receive_seal(host: &mut UnixStream) -> Result<Seal, Fault> {
    let frame = read_frame(host).at(Stage::Protocol, || "cannot read the seal message".into())?;
    match ToGuest::from_frame(&frame) {
        Ok(ToGuest::Seal(seal)) if seal.layers.len() <= MAX_LAYERS => Ok(seal),
        Ok(ToGuest::Seal(seal)) => Err(Fault::new(
            Stage::Overlay,
            format!("{} layers are more than {MAX_LAYERS}", seal.layers.len()),
        )),
        Ok(ToGuest::Start(_) | ToGuest::Kill(_) | ToGuest::Machine(_)) => {
            Err(Fault::new(Stage::Protocol, "the first message is no seal"))
        }
        Err(malformed) => Err(Fault::new(Stage::Protocol, malformed.to_string())),
    }
}

fn write_id_maps(pid: Pid, ids: IdMap) -> Result<(), Fault> {
    let write = |file: &str, content: &str| {
        fs::write(format!("/proc/{}/{file}", pid.as_raw_nonzero()), content)
            .at(Stage::IdMaps, || {
                format!("cannot write {file} of the chamber")
            })
    };
    let (users, groups) = match ids {
        IdMap::Shifted { first, count } => {
            let map = format!("0 {first} {count}\n");
            (map.clone(), map)
        }
        IdMap::Identity { count } => {
            let map = format!("0 0 {count}\n");
            (map.clone(), map)
        }
        IdMap::Single { uid, gid } => {
            // An ordinary user may map its group only after giving up setgroups in the chamber.
            write("setgroups", "deny")?;
            let user = rustix::process::geteuid().as_raw();
            let group = rustix::process::getegid().as_raw();
            (format!("{uid} {user} 1\n"), format!("{gid} {group} 1\n"))
        }
    };
    write("uid_map", &users)?;
    write("gid_map", &groups)
}

/// Detached, read-only copies of the layers' mounts whose files belong to the chamber's ids.
fn shifted_layers(pid: Pid, layers: &[String]) -> Result<Vec<OwnedFd>, Fault> {
    let namespace = fs::File::open(format!("/proc/{}/ns/user", pid.as_raw_nonzero()))
        .at(Stage::IdMappedLayers, || {
            "cannot open the chamber's user namespace".into()
        })?;
    layers
        .iter()
        .map(|layer| {
            let mount = open_layer(layer)?;
            sys::map_mount_ids(mount.as_fd(), namespace.as_fd())
                .at(Stage::IdMappedLayers, || {
                    format!("cannot shift the ids of {layer}")
                })?;
            Ok(mount)
        })
        .collect()
}

/// A detached copy of the mount at a layer's directory.
pub(crate) fn open_layer(layer: &str) -> Result<OwnedFd, Fault> {
    open_tree(
        CWD,
        layer,
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC,
    )
    .at(Stage::Overlay, || format!("cannot open the layer {layer}"))
}

/// Tells PID 1 that its ids are mapped, and passes the layers on.
fn release(pid1: &UnixStream, layers: &[OwnedFd]) -> Result<(), Fault> {
    let descriptors: Vec<_> = layers.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_LAYERS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        let pushed = ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        assert!(pushed, "the buffer has room for every layer");
    }
    sendmsg(
        pid1,
        &[IoSlice::new(&[0])],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )
    .at(Stage::Namespaces, || {
        "cannot release the first process".into()
    })?;
    Ok(())
}
