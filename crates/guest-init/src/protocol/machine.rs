//! What only a microVM needs to be told, and what it has in its place of directories of the host.

use super::codec::{Input, Malformed, Wire, wire_struct};

/// The virtio-serial port that carries the protocol.
pub const PORT_NAME: &str = "kiln";

/// The vsock port on which a machine without a virtio-serial port waits for its host.
pub const VSOCK_PORT: u32 = 1024;

/// Where a machine mounts its read-only disk. A [`super::Seal`] for a machine names it as its only layer.
pub const BASE: &str = "/base";

/// Where a machine mounts its writable disk.
pub const SCRATCH: &str = "/scratch";

/// Where the initial file system of a machine has its kernel modules, in the order in which they are loaded.
pub const MODULES: &str = "/modules";

/// What makes a machine ready for a chamber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    pub wake: Wake,
    pub memory_bytes: u64,
    pub processes: u32,
}

wire_struct!(Machine {
    wake,
    memory_bytes,
    processes
});

/// What a machine cannot know by itself, above all one that was restored from a template: all of those woke up with
/// the same clock and the same random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    pub wall_millis: u64,
    /// Fresh bytes for the kernel's random number generator.
    pub entropy: Vec<u8>,
}

wire_struct!(Wake {
    wall_millis,
    entropy
});

/// What backs the writable part of the chamber's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scratch {
    /// Memory, bounded by the seal's numbers.
    #[default]
    Memory,
    /// A mounted disk of a machine, bounded by its own size.
    Disk { mounted_at: String },
    /// A disk of the host, bounded by its own size. Its mount is handed over with the chamber's socket, and these are the
    /// directories on it that are the chamber's.
    Handed { upper: String, work: String },
}

impl Wire for Scratch {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Memory => out.push(0),
            Self::Disk { mounted_at } => {
                out.push(1);
                mounted_at.encode(out);
            }
            Self::Handed { upper, work } => {
                out.push(2);
                upper.encode(out);
                work.encode(out);
            }
        }
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match u8::decode(input)? {
            0 => Ok(Self::Memory),
            1 => Ok(Self::Disk {
                mounted_at: String::decode(input)?,
            }),
            2 => Ok(Self::Handed {
                upper: String::decode(input)?,
                work: String::decode(input)?,
            }),
            other => Err(Malformed::Tag(other)),
        }
    }
}
