//! How a command ends when it does not do what was asked, and the exit codes scripts rely on.

use std::fmt;
use std::process::ExitCode;

/// Documented in `kiln help exit-codes`; they never change meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    /// Something unexpected; the message says what.
    Unexpected,
    /// The command line or a setting is wrong.
    Usage,
    JobFailed,
    JobCanceled,
    JobTimedOut,
    /// A report has alerts, or a comparison found something slower, and that was asked to be an error.
    Alerts,
    Unreachable,
    Unauthorized,
    NotFound,
    Conflict,
    Interrupted,
}

impl Exit {
    pub(crate) const ALL: [(Self, &'static str); 12] = [
        (Self::Ok, "it worked"),
        (
            Self::Unexpected,
            "something unexpected; the message says what",
        ),
        (Self::Usage, "the command line or a setting is wrong"),
        (
            Self::JobFailed,
            "the job or the command failed, or its results cannot be read",
        ),
        (Self::JobCanceled, "the job was canceled"),
        (Self::JobTimedOut, "the job timed out"),
        (
            Self::Alerts,
            "there are alerts, or something is slower, and that was to be an error",
        ),
        (Self::Unreachable, "the server cannot be reached"),
        (Self::Unauthorized, "the key is missing or wrong"),
        (
            Self::NotFound,
            "there is no such thing, or it is not visible",
        ),
        (Self::Conflict, "it conflicts with what is there"),
        (Self::Interrupted, "interrupted"),
    ];

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::JobFailed => 10,
            Self::JobCanceled => 11,
            Self::JobTimedOut => 12,
            Self::Alerts => 13,
            Self::Unreachable => 20,
            Self::Unauthorized => 21,
            Self::NotFound => 22,
            Self::Conflict => 23,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// How rustls begins what it says of a certificate that it does not trust.
const UNTRUSTED: &str = "invalid peer certificate";

/// One line of what went wrong, what it came from, and one thing to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            causes: Vec::new(),
            hint: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self::new(Exit::Unexpected, message)
    }

    /// Adds the error and everything below it as causes.
    pub(crate) fn because(mut self, error: &dyn std::error::Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.causes.push(error.to_string());
            next = error.source();
        }
        if self.causes.iter().any(|cause| cause.contains(UNTRUSTED)) {
            self.hint = Some(
                "somebody answers there, but is not trusted: correct the certificate, or install that of its CA here or name it in SSL_CERT_FILE".into(),
            );
        }
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// For I/O errors of the terminal itself and the like.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::unexpected("an input or output failed").because(&error)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn who_is_not_trusted_can_be() {
        let says = |text: &str| {
            let error = io::Error::other(text.to_owned());
            Failure::unexpected("cannot reach it").because(&error).hint
        };
        let hint = says("invalid peer certificate: UnknownIssuer").unwrap();
        assert!(hint.contains("SSL_CERT_FILE"), "{hint}");
        assert_eq!(says("connection refused"), None);
    }
}
