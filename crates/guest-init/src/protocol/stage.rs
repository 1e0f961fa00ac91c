//! Where the guest was when something failed.

use std::fmt;

use super::codec::wire_tags;

/// A step of sealing a chamber or running its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Protocol,
    Namespaces,
    IdMaps,
    IdMappedLayers,
    Scratch,
    Overlay,
    Devices,
    Proc,
    Network,
    Hostname,
    PivotRoot,
    Limits,
    User,
    WorkDir,
    Capabilities,
    Landlock,
    Seccomp,
    Exec,
    Supervise,
    Collect,
    Boot,
    Disks,
    Groups,
}

wire_tags!(Stage {
    Protocol = 0,
    Namespaces = 1,
    IdMaps = 2,
    IdMappedLayers = 3,
    Scratch = 4,
    Overlay = 5,
    Devices = 6,
    Proc = 7,
    Network = 8,
    Hostname = 9,
    PivotRoot = 10,
    Limits = 11,
    User = 12,
    WorkDir = 13,
    Capabilities = 14,
    Landlock = 15,
    Seccomp = 16,
    Exec = 17,
    Supervise = 18,
    Collect = 19,
    Boot = 20,
    Disks = 21,
    Groups = 22,
});

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Protocol => "guest protocol",
            Self::Namespaces => "namespaces",
            Self::IdMaps => "id maps",
            Self::IdMappedLayers => "id-mapped layers",
            Self::Scratch => "scratch file system",
            Self::Overlay => "overlay root",
            Self::Devices => "devices",
            Self::Proc => "proc",
            Self::Network => "network",
            Self::Hostname => "host name",
            Self::PivotRoot => "change of root",
            Self::Limits => "resource limits",
            Self::User => "user and groups",
            Self::WorkDir => "working directory",
            Self::Capabilities => "capabilities",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Exec => "exec",
            Self::Supervise => "supervision",
            Self::Collect => "file collection",
            Self::Boot => "boot of the machine",
            Self::Disks => "disks of the machine",
            Self::Groups => "control groups",
        })
    }
}
