//! Who a process is and what it may do.

use kiln_guest_init::protocol::{IdMap, Stage};
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use crate::fault::{At, Fault};

/// Takes user and group 0 of the chamber where it has them. Until then PID 1 is a host user without a name inside.
pub(crate) fn become_chamber_root(ids: IdMap) -> Result<(), Fault> {
    match ids {
        IdMap::Shifted { .. } | IdMap::Identity { .. } => become_user(0, 0, &[]),
        IdMap::Single { .. } => Ok(()),
    }
}

/// Becomes the command's user. With a single mapped id this process already is that user.
pub(crate) fn become_command_user(
    ids: IdMap,
    uid: u32,
    gid: u32,
    groups: &[u32],
) -> Result<(), Fault> {
    match ids {
        IdMap::Shifted { count, .. } | IdMap::Identity { count } => {
            let mut all = [uid, gid].into_iter().chain(groups.iter().copied());
            match all.find(|id| *id >= count) {
                Some(id) => Err(Fault::new(
                    Stage::User,
                    format!(
                        "user or group {id} is beyond the {count} ids of a chamber: take a smaller one, or a back end \
                         that makes machines"
                    ),
                )),
                None => become_user(uid, gid, groups),
            }
        }
        IdMap::Single { .. } => Ok(()),
    }
}

fn become_user(uid: u32, gid: u32, groups: &[u32]) -> Result<(), Fault> {
    let groups: Vec<Gid> = groups.iter().copied().map(Gid::from_raw).collect();
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&groups).at(Stage::User, || "cannot set supplementary groups".into())?;
    set_thread_res_gid(gid, gid, gid).at(Stage::User, || {
        format!("cannot become group {}", gid.as_raw())
    })?;
    set_thread_res_uid(uid, uid, uid).at(Stage::User, || {
        format!("cannot become user {}", uid.as_raw())
    })
}

/// Makes sure that no program started from here on can gain a capability, whoever it runs as.
pub(crate) fn empty_bounding_set() -> Result<(), Fault> {
    for capability in CapabilitySet::all().iter() {
        // A kernel that does not know the newest capabilities cannot grant them either.
        match remove_capability_from_bounding_set(capability) {
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(errno) => {
                return Err(errno).at(Stage::Capabilities, || {
                    "cannot empty the bounding set".into()
                });
            }
        }
    }
    clear_ambient_capability_set().at(Stage::Capabilities, || {
        "cannot clear ambient capabilities".into()
    })
}

/// Gives up every capability.
pub(crate) fn drop_all_capabilities() -> Result<(), Fault> {
    hold(CapabilitySet::empty())
}

/// Leaves PID 1 the right to signal the command, whatever its user, and to read the files it is asked to collect.
pub(crate) fn keep_what_supervision_needs() -> Result<(), Fault> {
    hold(CapabilitySet::KILL | CapabilitySet::DAC_READ_SEARCH)
}

fn hold(capabilities: CapabilitySet) -> Result<(), Fault> {
    let sets = CapabilitySets {
        effective: capabilities,
        permitted: capabilities,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).at(Stage::Capabilities, || "cannot drop capabilities".into())
}
