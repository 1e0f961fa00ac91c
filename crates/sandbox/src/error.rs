//! Why a run did not happen.

use std::io;
use std::path::PathBuf;

use kiln_guest_init::protocol::{Malformed, Stage};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("this chamber cannot be made: {reason}")]
    Spec { reason: String },

    #[error("this command cannot be run: {reason}")]
    Command { reason: String },

    #[error("the base {} cannot be used: {reason}", path.display())]
    Rootfs { path: PathBuf, reason: String },

    /// The command's own fault: no such program, user or directory.
    #[error("the command did not start: {message}")]
    Start {
        stage: Stage,
        message: String,
        source: io::Error,
    },

    /// The host's fault: a layer of isolation could not be put in place.
    #[error("the chamber could not be sealed at {stage}: {message}")]
    Seal {
        stage: Stage,
        message: String,
        source: io::Error,
    },

    /// A limit cannot be enforced here, and the spec does not accept that.
    #[error("this host cannot enforce the {limit} limit: {detail}")]
    Unlimited { limit: String, detail: String },

    #[error("the chamber ended without a result")]
    Lost,

    #[error("the chamber did not get ready in time")]
    NotReady,

    #[error("the chamber broke the guest protocol")]
    Protocol(#[from] Malformed),

    #[error("the chamber broke the guest protocol: {0}")]
    OutOfTurn(&'static str),

    /// The machine's monitor, its kernel, or what they need is not as it must be.
    #[error("the machine cannot be started: {reason}")]
    Machine { reason: String },

    #[error("{what}")]
    Host { what: String, source: io::Error },
}

impl Error {
    pub(crate) fn host(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Host {
            what: what.into(),
            source: source.into(),
        }
    }

    /// What a guest's report of failure means.
    pub(crate) fn from_guest(stage: Stage, errno: i32, message: String) -> Self {
        let source = if errno == 0 {
            io::Error::other("no system error")
        } else {
            io::Error::from_raw_os_error(errno)
        };
        match stage {
            Stage::Exec | Stage::WorkDir | Stage::User | Stage::Limits => Self::Start {
                stage,
                message,
                source,
            },
            Stage::Protocol
            | Stage::Namespaces
            | Stage::IdMaps
            | Stage::IdMappedLayers
            | Stage::Scratch
            | Stage::Overlay
            | Stage::Devices
            | Stage::Proc
            | Stage::Network
            | Stage::Hostname
            | Stage::PivotRoot
            | Stage::Capabilities
            | Stage::Landlock
            | Stage::Seccomp
            | Stage::Supervise
            | Stage::Groups
            | Stage::Collect
            | Stage::Boot
            | Stage::Disks => Self::Seal {
                stage,
                message,
                source,
            },
        }
    }
}
