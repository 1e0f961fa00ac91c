//! How a task can end badly.

#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// Something did not work, and this says what.
    Failed(String),
    /// A program that we forward to ended with this code, and has said why itself.
    Exited(u8),
}

impl Failure {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}
