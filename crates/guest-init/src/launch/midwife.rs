//! What only who stands in the host's namespaces can do for a PID 1 that was just born.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use kiln_guest_init::protocol::{IdMap, Seal, Stage};
use rustix::io::IoSlice;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Pid;

use super::{MAX_LAYERS, open_layer};
use crate::fault::{At, Fault};
use crate::{sys, uplink};

/// Maps its ids, hands it the layers and the network device it is to have, and lets it go on.
pub(super) fn attend(pid: Pid, seal: &Seal, pid1: &UnixStream) -> Result<(), Fault> {
    write_id_maps(pid, seal.ids)?;
    if seal.device {
        uplink::hand_over(pid)?;
    }
    let layers = match seal.ids {
        IdMap::Shifted { .. } => shifted_layers(pid, &seal.layers)?,
        IdMap::Identity { .. } | IdMap::Single { .. } => Vec::new(),
    };
    release(pid1, &layers)
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
