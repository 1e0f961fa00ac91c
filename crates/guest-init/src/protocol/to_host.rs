//! What the guest says.

use super::codec::{Input, Malformed, Wire, decode_bytes, encode_bytes, wire_struct, wire_tags};
use super::frame::{Frame, write_frame};
use super::stage::Stage;

/// The most bytes the guest puts into one output or file message.
pub const MAX_CHUNK_BYTES: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToHost {
    /// PID 1 exists, under this id in the host's process namespace.
    Born {
        pid: u32,
    },
    /// PID 1 has its namespaces, ids and groups, and waits for the word to build.
    Held,
    /// The chamber is sealed.
    Ready {
        layers: Vec<Layer>,
    },
    /// The command was executed.
    Started {
        layers: Vec<Layer>,
    },
    Output {
        stream: Stream,
        bytes: Vec<u8>,
    },
    /// This many bytes were written beyond the stream's limit and dropped.
    Truncated {
        stream: Stream,
        dropped: u64,
    },
    /// The command ended and nothing it started is left.
    Exited {
        status: Status,
        usage: Usage,
    },
    /// A part of the requested file with this index.
    FileChunk {
        index: u32,
        bytes: Vec<u8>,
    },
    FileEnd {
        index: u32,
        outcome: FileOutcome,
    },
    Finished,
    /// A microVM has booted and waits for its orders.
    Up {
        kernel: String,
    },
    Failed {
        stage: Stage,
        errno: i32,
        message: String,
    },
}

/// One layer of isolation or one limit, and whether it is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub name: String,
    pub applied: bool,
    pub detail: String,
}

wire_struct!(Layer {
    name,
    applied,
    detail
});

impl Layer {
    pub fn applied(name: &str, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            applied: true,
            detail: detail.into(),
        }
    }

    pub fn missing(name: &str, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            applied: false,
            detail: detail.into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

wire_tags!(Stream { Stdout = 0, Stderr = 1 });

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Code(i32),
    Signal(i32),
}

impl Wire for Status {
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Code(code) => (0_u8, code).encode(out),
            Self::Signal(signal) => (1_u8, signal).encode(out),
        }
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match u8::decode(input)? {
            0 => Ok(Self::Code(i32::decode(input)?)),
            1 => Ok(Self::Signal(i32::decode(input)?)),
            other => Err(Malformed::Tag(other)),
        }
    }
}

/// What the command and everything it started used, as the kernel counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// From just before exec to the end, by the guest's own clock.
    pub elapsed_nanos: u64,
    pub user_micros: u64,
    pub system_micros: u64,
    /// Of the largest single process.
    pub peak_resident_bytes: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Whether the root file system had no room left, in bytes or in files, when the command ended or wrote to stderr.
    pub disk_full: bool,
    /// Processes the kernel has killed for want of memory. It counts for all of the kernel: the chamber's in a microVM,
    /// everybody's on a host.
    pub oom_kills: u64,
    /// The most memory that the chamber had, its cached files included, inside a microVM; zero where nobody counts.
    pub peak_memory_bytes: u64,
}

wire_struct!(Usage {
    elapsed_nanos,
    user_micros,
    system_micros,
    peak_resident_bytes,
    minor_faults,
    major_faults,
    voluntary_switches,
    involuntary_switches,
    disk_full,
    oom_kills,
    peak_memory_bytes,
});

/// What became of one requested file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// All of it was sent.
    Whole,
    /// It is larger than its limit, or than its share of what all files may have together; what fits was sent. Its size
    /// at the time is given.
    Truncated {
        size: u64,
    },
    Missing,
    /// It is not a regular file, or lies behind a link or a mount.
    Refused {
        reason: String,
    },
}

impl Wire for FileOutcome {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Whole => out.push(0),
            Self::Truncated { size } => (1_u8, *size).encode(out),
            Self::Missing => out.push(2),
            Self::Refused { reason } => {
                out.push(3);
                reason.encode(out);
            }
        }
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match u8::decode(input)? {
            0 => Ok(Self::Whole),
            1 => Ok(Self::Truncated {
                size: u64::decode(input)?,
            }),
            2 => Ok(Self::Missing),
            3 => Ok(Self::Refused {
                reason: String::decode(input)?,
            }),
            other => Err(Malformed::Tag(other)),
        }
    }
}

impl ToHost {
    pub fn to_frame(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let out = &mut body;
        let kind = match self {
            Self::Born { pid } => {
                pid.encode(out);
                0
            }
            Self::Ready { layers } => {
                layers.encode(out);
                1
            }
            Self::Started { layers } => {
                layers.encode(out);
                2
            }
            Self::Output { stream, bytes } => {
                stream.encode(out);
                encode_bytes(bytes, out);
                3
            }
            Self::Truncated { stream, dropped } => {
                stream.encode(out);
                dropped.encode(out);
                4
            }
            Self::Exited { status, usage } => {
                status.encode(out);
                usage.encode(out);
                5
            }
            Self::FileChunk { index, bytes } => {
                index.encode(out);
                encode_bytes(bytes, out);
                6
            }
            Self::FileEnd { index, outcome } => {
                index.encode(out);
                outcome.encode(out);
                7
            }
            Self::Finished => 8,
            Self::Held => 11,
            Self::Up { kernel } => {
                kernel.encode(out);
                10
            }
            Self::Failed {
                stage,
                errno,
                message,
            } => {
                stage.encode(out);
                errno.encode(out);
                message.encode(out);
                9
            }
        };
        write_frame(kind, &body)
    }

    pub fn from_frame(frame: &Frame) -> Result<Self, Malformed> {
        let mut input = Input::new(&frame.body);
        let from = &mut input;
        let message = match frame.kind {
            0 => Self::Born {
                pid: Wire::decode(from)?,
            },
            1 => Self::Ready {
                layers: Wire::decode(from)?,
            },
            2 => Self::Started {
                layers: Wire::decode(from)?,
            },
            3 => Self::Output {
                stream: Wire::decode(from)?,
                bytes: decode_bytes(from)?.to_vec(),
            },
            4 => Self::Truncated {
                stream: Wire::decode(from)?,
                dropped: Wire::decode(from)?,
            },
            5 => Self::Exited {
                status: Wire::decode(from)?,
                usage: Wire::decode(from)?,
            },
            6 => Self::FileChunk {
                index: Wire::decode(from)?,
                bytes: decode_bytes(from)?.to_vec(),
            },
            7 => Self::FileEnd {
                index: Wire::decode(from)?,
                outcome: Wire::decode(from)?,
            },
            8 => Self::Finished,
            11 => Self::Held,
            10 => Self::Up {
                kernel: Wire::decode(from)?,
            },
            9 => Self::Failed {
                stage: Wire::decode(from)?,
                errno: Wire::decode(from)?,
                message: Wire::decode(from)?,
            },
            other => return Err(Malformed::Tag(other)),
        };
        input.end()?;
        Ok(message)
    }
}
