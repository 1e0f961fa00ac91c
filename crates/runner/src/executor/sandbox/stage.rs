//! Failures of a job before and around its command, in words for who submitted it.

use std::error::Error;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Check,
    Pull,
    Unpack,
    Command,
    Prepare,
    Run,
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Pull => "pull",
            Self::Unpack => "unpack",
            Self::Command => "command",
            Self::Prepare => "prepare",
            Self::Run => "run",
        }
    }

    const fn advice(self) -> Option<&'static str> {
        match self {
            Self::Pull => Some(
                "check that the image is in the server's registry and that the runner can reach it",
            ),
            Self::Unpack => {
                Some("build the image anew, or make room on the runner's disk if it is full")
            }
            Self::Command => Some("correct the image's or the job's entry point, command or user"),
            Self::Prepare => Some("run `kiln doctor` on the runner"),
            Self::Check | Self::Run => None,
        }
    }
}

/// The stage, the cause and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StageError {
    stage: Stage,
    cause: String,
}

impl StageError {
    pub(super) fn new(stage: Stage, error: &dyn Error) -> Self {
        let mut cause = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            cause = format!("{cause}: {error}");
            source = error.source();
        }
        Self { stage, cause }
    }

    /// Something this runner does not do.
    pub(super) const fn refused(reason: String) -> Self {
        Self {
            stage: Stage::Check,
            cause: reason,
        }
    }

    pub(super) fn canceled() -> Self {
        Self::refused("the job was canceled".to_owned())
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage.name(), self.cause)?;
        match self.stage.advice() {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_stage_its_causes_and_what_to_do() {
        let cause = std::io::Error::other(fmt::Error);
        let text = StageError::new(Stage::Prepare, &cause).to_string();
        assert!(text.starts_with("prepare: "), "{text}");
        assert!(text.contains(&fmt::Error.to_string()), "{text}");
        assert!(
            text.ends_with("; run `kiln doctor` on the runner"),
            "{text}"
        );
    }
}
