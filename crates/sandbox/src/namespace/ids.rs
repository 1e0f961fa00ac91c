//! Which ids a chamber gets on the host.

use std::sync::atomic::{AtomicU32, Ordering};

use kiln_guest_init::protocol::{IdMap, Stage};

use crate::{Command, Error};

/// Ids a chamber has: enough for `nobody` and every id an image usually names. All ranges together end where ids would
/// be negative to programs that take them for signed.
const COUNT: u32 = 262_144;

/// Host ids above those that systemd gives to containers, far from any real user.
const FIRST: u32 = 0x7000_0000;

/// Chambers that may run side by side without sharing a host id.
const RANGES: u32 = 1024;

/// The ways to map ids, strongest first. A host that refuses one gets the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdPlan {
    Shifted,
    Identity,
    Single,
}

impl IdPlan {
    pub(super) fn strongest() -> Self {
        if rustix::process::geteuid().is_root() {
            Self::Shifted
        } else {
            Self::Single
        }
    }

    /// The next plan to try after a failure, if it is one that another plan can cure.
    pub(super) fn after(self, error: &Error) -> Option<Self> {
        let Error::Seal {
            stage: Stage::IdMaps | Stage::IdMappedLayers,
            ..
        } = error
        else {
            return None;
        };
        match self {
            Self::Shifted => Some(Self::Identity),
            Self::Identity => Some(Self::Single),
            Self::Single => None,
        }
    }

    pub(super) fn map_for(self, command: &Command) -> IdMap {
        match self {
            Self::Shifted => IdMap::Shifted {
                first: next_range(),
                count: COUNT,
            },
            Self::Identity => IdMap::Identity { count: COUNT },
            Self::Single => IdMap::Single {
                uid: command.uid,
                gid: command.gid,
            },
        }
    }
}

fn next_range() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % RANGES * COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed_at(stage: Stage) -> Error {
        Error::from_guest(stage, 1, String::new())
    }

    #[test]
    fn only_a_failure_of_the_id_maps_leads_to_a_weaker_plan() {
        assert_eq!(
            IdPlan::Shifted.after(&failed_at(Stage::IdMappedLayers)),
            Some(IdPlan::Identity)
        );
        assert_eq!(
            IdPlan::Identity.after(&failed_at(Stage::IdMaps)),
            Some(IdPlan::Single)
        );
        assert_eq!(IdPlan::Single.after(&failed_at(Stage::IdMaps)), None);
        assert_eq!(IdPlan::Shifted.after(&failed_at(Stage::Overlay)), None);
    }

    #[test]
    fn neighbours_do_not_share_host_ids() {
        let command = Command::new(["true"]);
        let maps: Vec<_> = (0..3).map(|_| IdPlan::Shifted.map_for(&command)).collect();
        assert_ne!(maps[0], maps[1]);
        assert_ne!(maps[1], maps[2]);
    }

    #[test]
    fn no_host_id_is_negative_to_anybody() {
        let end = u64::from(FIRST) + u64::from(RANGES) * u64::from(COUNT);
        assert!(end <= 1 << 31);
    }

    #[test]
    fn an_ordinary_user_becomes_the_commands_user() {
        let command = Command {
            uid: 1000,
            gid: 100,
            ..Command::new(["true"])
        };
        assert_eq!(
            IdPlan::Single.map_for(&command),
            IdMap::Single {
                uid: 1000,
                gid: 100
            }
        );
    }
}
