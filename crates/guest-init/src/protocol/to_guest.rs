//! What the host says.

use super::codec::{Input, Malformed, Wire, wire_struct, wire_tags};
use super::frame::{Frame, write_frame};
use super::machine::{Machine, Scratch, Wake};
use super::uplink::Uplink;

/// Where a program without a slash is looked for when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToGuest {
    Seal(Seal),
    /// To a PID 1 that is held: build the chamber.
    Build,
    Start(Start),
    Kill(Kill),
    Machine(Machine),
    /// For a machine whose chamber was sealed before it was written down.
    Wake(Wake),
}

/// How to build the chamber: on the host, or inside a microVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    pub hostname: String,
    /// Directories of the read-only base, topmost first, as paths on the host or the machine. None means an empty base.
    pub layers: Vec<String>,
    pub ids: IdMap,
    pub scratch: Scratch,
    /// Bytes the command may write to its root file system.
    pub disk_bytes: u64,
    /// Files the command may create there.
    pub disk_inodes: u64,
    /// Bytes of `/dev/shm`.
    pub shared_memory_bytes: u64,
    /// What `/etc/resolv.conf` is to say; empty means that there is no network but a loopback device.
    pub resolver: String,
    /// Whether a machine's network device is the chamber's. How it is connected comes with the command.
    pub device: bool,
    /// The cores to stay on; any if empty.
    pub cores: Vec<u32>,
    /// The v1 control groups to join, as the paths of their `tasks` files.
    pub groups: Vec<String>,
    /// The v2 control group to be born in, as its directory; empty means none.
    pub unified_group: String,
    /// Whether PID 1 waits for [`ToGuest::Build`] once it has its namespaces, ids and groups.
    pub held: bool,
    /// Where a program may be that will be started. The first that is there is read, so that it is in memory then.
    pub warm: Vec<String>,
}

wire_struct!(Seal {
    hostname,
    layers,
    ids,
    scratch,
    disk_bytes,
    disk_inodes,
    shared_memory_bytes,
    resolver,
    device,
    cores,
    groups,
    unified_group,
    held,
    warm
});

/// How user and group ids inside a chamber correspond to the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdMap {
    /// `0..count` inside is `first..first + count` outside, and layers are mounted with the same shift. Needs root.
    Shifted { first: u32, count: u32 },
    /// `0..count` inside is the same outside. Needs root; for layers on file systems that cannot be shifted.
    Identity { count: u32 },
    /// One id inside is the host user; there are no others. All an ordinary user can do.
    Single { uid: u32, gid: u32 },
}

impl Wire for IdMap {
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Shifted { first, count } => (0_u8, (first, count)).encode(out),
            Self::Identity { count } => (1_u8, count).encode(out),
            Self::Single { uid, gid } => (2_u8, (uid, gid)).encode(out),
        }
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match u8::decode(input)? {
            0 => Ok(Self::Shifted {
                first: u32::decode(input)?,
                count: u32::decode(input)?,
            }),
            1 => Ok(Self::Identity {
                count: u32::decode(input)?,
            }),
            2 => Ok(Self::Single {
                uid: u32::decode(input)?,
                gid: u32::decode(input)?,
            }),
            other => Err(Malformed::Tag(other)),
        }
    }
}

/// What to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The program and its arguments; a program without a slash is looked up in `PATH` of `env`.
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: String,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub limits: Vec<ResourceLimit>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub files: Vec<FileRequest>,
    /// Bytes of all files together.
    pub files_bytes: u64,
    /// How the machine's network device is connected, where the chamber has one.
    pub uplink: Uplink,
}

wire_struct!(Start {
    args,
    env,
    cwd,
    uid,
    gid,
    groups,
    limits,
    stdout_bytes,
    stderr_bytes,
    files,
    files_bytes,
    uplink,
});

impl Start {
    /// Where the program may be, as paths in the command's root; nowhere if there is no command.
    pub fn programs(&self) -> Vec<String> {
        let Some(name) = self.args.first().filter(|name| !name.is_empty()) else {
            return Vec::new();
        };
        if name.contains('/') {
            return vec![name.clone()];
        }
        let path = self.env.iter().rev().find(|(key, _)| key == "PATH");
        path.map_or(DEFAULT_PATH, |(_, value)| value)
            .split(':')
            .map(|directory| if directory.is_empty() { "." } else { directory })
            .map(|directory| format!("{directory}/{name}"))
            .collect()
    }
}

/// What Linux takes for no limit at all.
pub const UNLIMITED: u64 = u64::MAX;

/// A resource limit by the number Linux gives it (`RLIMIT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimit {
    pub resource: u32,
    pub soft: u64,
    pub hard: u64,
}

wire_struct!(ResourceLimit {
    resource,
    soft,
    hard
});

/// A file to send after the command's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRequest {
    pub path: String,
    pub max_bytes: u64,
}

wire_struct!(FileRequest { path, max_bytes });

/// How to end the command early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// SIGTERM to every process of the chamber.
    Ask,
    /// SIGKILL to every process of the chamber.
    Force,
}

wire_tags!(Kill { Ask = 0, Force = 1 });

impl ToGuest {
    pub fn to_frame(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let kind = match self {
            Self::Seal(seal) => {
                seal.encode(&mut body);
                0
            }
            Self::Start(start) => {
                start.encode(&mut body);
                1
            }
            Self::Kill(kill) => {
                kill.encode(&mut body);
                2
            }
            Self::Machine(machine) => {
                machine.encode(&mut body);
                3
            }
            Self::Wake(wake) => {
                wake.encode(&mut body);
                4
            }
            Self::Build => 5,
        };
        write_frame(kind, &body)
    }

    pub fn from_frame(frame: &Frame) -> Result<Self, Malformed> {
        let mut input = Input::new(&frame.body);
        let message = match frame.kind {
            0 => Self::Seal(Seal::decode(&mut input)?),
            1 => Self::Start(Start::decode(&mut input)?),
            2 => Self::Kill(Kill::decode(&mut input)?),
            3 => Self::Machine(Machine::decode(&mut input)?),
            4 => Self::Wake(Wake::decode(&mut input)?),
            5 => Self::Build,
            other => return Err(Malformed::Tag(other)),
        };
        input.end()?;
        Ok(message)
    }
}
