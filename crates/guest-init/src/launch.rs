//! The launcher: reads how to seal, makes the namespaces, and hands PID 1 what only the host's side can make.

mod midwife;
mod networks;

use std::fs::{self, File};
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use kiln_guest_init::protocol::{Seal, Stage, ToGuest, ToHost, read_frame};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::IoSliceMut;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use rustix::thread::{CpuSet, sched_setaffinity};

use self::networks::Networks;
use crate::fault::{At, Fault};
use crate::filter::Filter;
use crate::pid1;
use crate::stopwatch::find_clock;
use crate::sys::{self, Fork};

/// How many directories a base may have. Linux passes at most 253 descriptors in one message.
pub(crate) const MAX_LAYERS: usize = 128;

/// Chamber processes are the first to go when the whole host runs out of memory.
const OOM_SCORE: &str = "500";

/// A PID 1 before it has done anything.
#[derive(Debug)]
pub(crate) struct Newborn {
    pub(crate) seal: Seal,
    /// The v1 groups it joins, by the open files that take their members.
    pub(crate) groups: Vec<File>,
    /// Tells when its ids are mapped, and brings its layers.
    pub(crate) launcher: UnixStream,
    /// The mount of the disk that takes what its command writes, where it has one.
    pub(crate) scratch: Option<OwnedFd>,
    /// Whether its network was made with it, and is not set up yet.
    pub(crate) has_new_network: bool,
}

/// Launches one chamber, for the host at the socket that is standard input.
pub(crate) fn once() -> ExitCode {
    let Some(mut host) = take_standard_input() else {
        return ExitCode::FAILURE;
    };
    match follow_host().and_then(|()| launch(&mut host, None, None)) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(newborn)) => pid1::run(&mut host, newborn),
        Err(fault) => {
            complain(&mut host, &fault);
            ExitCode::FAILURE
        }
    }
}

/// What the host has for a launcher that serves: the socket of a chamber at whose other end it has the seal, or none when a
/// family has got its last.
#[derive(Debug)]
struct Order {
    socket: Option<OwnedFd>,
    scratch: Option<OwnedFd>,
    /// Whose chambers may have each other's networks. Zero is nobody's.
    family: u64,
}

/// Launches chambers until standard input ends.
///
/// A host that runs many commands is spared the start of a program for each.
pub(crate) fn serve() -> ExitCode {
    let Some(orders) = take_standard_input() else {
        return ExitCode::FAILURE;
    };
    if follow_host().is_err() || sys::forget_standard_input().is_err() {
        return ExitCode::FAILURE;
    }
    let mut networks = Networks::none_yet();
    // Here, so that no chamber has to.
    Filter::compiled();
    find_clock();
    while let Ok(Some(order)) = next_order(&orders) {
        let Order {
            socket,
            scratch,
            family,
        } = order;
        let Some(socket) = socket else {
            if let Some(networks) = &mut networks {
                networks.forget(family);
            }
            continue;
        };
        let mut host = UnixStream::from(socket);
        let kept = networks
            .as_mut()
            .filter(|_| family != 0)
            .map(|networks| (networks, family));
        match launch(&mut host, scratch, kept) {
            Ok(None) => {}
            Ok(Some(newborn)) => {
                // Other chambers are none of its business.
                drop((orders, networks));
                pid1::run(&mut host, newborn)
            }
            Err(fault) => complain(&mut host, &fault),
        }
    }
    ExitCode::SUCCESS
}

fn take_standard_input() -> Option<UnixStream> {
    // The host's process may hold descriptors that were not meant for us.
    sys::close_all_from(3).ok()?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
    Some(UnixStream::from(socket))
}

fn complain(host: &mut UnixStream, fault: &Fault) {
    // Without a host there is nobody left to tell.
    let _ = host.write_all(&fault.to_message().to_frame());
}

/// Dies with the host, and keeps what the host's user types to itself.
fn follow_host() -> Result<(), Fault> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .at(Stage::Protocol, || "cannot follow the host".into())?;
    // Keys pressed at the host's terminal are not for the chamber.
    setsid().at(Stage::Protocol, || "cannot leave the host's session".into())?;
    // The score is a courtesy to the host, not a part of the seal.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    Ok(())
}

/// None when the host has no more to come.
fn next_order(orders: &UnixStream) -> rustix::io::Result<Option<Order>> {
    let mut family = [0; size_of::<u64>()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut family)];
    let received = recvmsg(orders, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let (mut socket, mut scratch) = (None, None);
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            socket = descriptors.next();
            scratch = descriptors.next();
        }
    }
    let family = u64::from_le_bytes(family);
    Ok((received.bytes == size_of::<u64>()).then_some(Order {
        socket,
        scratch,
        family,
    }))
}

/// Comes back twice: with a newborn as PID 1, and without as the launcher.
fn launch(
    host: &mut UnixStream,
    scratch: Option<OwnedFd>,
    kept: Option<(&mut Networks, u64)>,
) -> Result<Option<Newborn>, Fault> {
    let seal = receive_seal(host)?;
    let (ours, theirs) =
        UnixStream::pair().at(Stage::Namespaces, || "cannot make a socket pair".into())?;
    let groups = open_groups(&seal)?;
    let unified = open_unified_group(&seal)?;
    let visit = kept.and_then(|(networks, family)| {
        let network = networks.enter(family)?;
        Some((networks, family, network))
    });
    let has_new_network = visit.is_none();
    match sys::clone_into_new_namespaces(unified.as_ref().map(AsFd::as_fd), has_new_network)
        .at(Stage::Namespaces, || "cannot create namespaces".into())?
    {
        Fork::Child => Ok(Some(Newborn {
            seal,
            groups,
            launcher: theirs,
            scratch,
            has_new_network,
        })),
        Fork::Parent(pid) => {
            drop((theirs, scratch));
            // Before the host hears of the chamber, and could see to its end.
            if let Some((networks, family, network)) = visit {
                networks.leave(network, family, pid)?;
            }
            let born = ToHost::Born {
                pid: pid.as_raw_nonzero().get().unsigned_abs(),
            };
            host.write_all(&born.to_frame())
                .at(Stage::Protocol, || "cannot reach the host".into())?;
            midwife::attend(pid, &seal, &ours)?;
            Ok(None)
        }
    }
}

/// PID 1 joins them itself. A thread that moves only itself does so without the kernel's lock over all process births and
/// deaths, which costs an RCU grace period. The same holds for a process born in its group.
fn open_groups(seal: &Seal) -> Result<Vec<File>, Fault> {
    seal.groups
        .iter()
        .map(|tasks| {
            File::options()
                .write(true)
                .open(tasks)
                .at(Stage::Groups, || format!("cannot open {tasks}"))
        })
        .collect()
}

fn open_unified_group(seal: &Seal) -> Result<Option<OwnedFd>, Fault> {
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
        Ok(
            ToGuest::Build
            | ToGuest::Start(_)
            | ToGuest::Kill(_)
            | ToGuest::Machine(_)
            | ToGuest::Wake(_),
        ) => Err(Fault::new(Stage::Protocol, "the first message is no seal")),
        Err(malformed) => Err(Fault::new(Stage::Protocol, malformed.to_string())),
    }
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
