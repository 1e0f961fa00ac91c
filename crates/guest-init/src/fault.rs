//! A failure with the stage it happened in, as the host will hear of it.

use kiln_guest_init::protocol::{Stage, ToHost, read_frame};

#[derive(Debug)]
pub(crate) struct Fault {
    stage: Stage,
    errno: i32,
    message: String,
}

impl Fault {
    pub(crate) fn new(stage: Stage, message: impl Into<String>) -> Self {
        Self {
            stage,
            errno: 0,
            message: message.into(),
        }
    }

    pub(crate) fn os(stage: Stage, errno: i32, message: impl Into<String>) -> Self {
        Self {
            stage,
            errno,
            message: message.into(),
        }
    }

    /// The fault a child of ours reported before it could become the command.
    pub(crate) fn from_frame(bytes: &[u8]) -> Self {
        let mut stream = bytes;
        let message = read_frame(&mut stream)
            .ok()
            .and_then(|frame| ToHost::from_frame(&frame).ok());
        match message {
            Some(ToHost::Failed {
                stage,
                errno,
                message,
            }) => Self {
                stage,
                errno,
                message,
            },
            _ => Self::new(Stage::Exec, "the command's process failed without a word"),
        }
    }

    pub(crate) fn to_message(&self) -> ToHost {
        ToHost::Failed {
            stage: self.stage,
            errno: self.errno,
            message: self.message.clone(),
        }
    }
}

/// Turns the error of a system call into a [`Fault`].
pub(crate) trait At<T> {
    fn at(self, stage: Stage, what: impl FnOnce() -> String) -> Result<T, Fault>;
}

impl<T> At<T> for rustix::io::Result<T> {
    fn at(self, stage: Stage, what: impl FnOnce() -> String) -> Result<T, Fault> {
        self.map_err(|errno| Fault::os(stage, errno.raw_os_error(), what()))
    }
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, stage: Stage, what: impl FnOnce() -> String) -> Result<T, Fault> {
        self.map_err(|error| match error.raw_os_error() {
            Some(errno) => Fault::os(stage, errno, what()),
            None => Fault::new(stage, format!("{}: {error}", what())),
        })
    }
}
