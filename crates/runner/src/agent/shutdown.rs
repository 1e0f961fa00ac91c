//! How a running agent is told to end.

use tokio_util::sync::CancellationToken;

/// Two degrees of urgency, as for the first and the second SIGTERM.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Finish and deliver the job that is held, take no other, and end. While the server cannot be reached,
    /// this waits for it.
    pub drain: CancellationToken,
    /// Stop the job that is held, report that if the server can be reached within seconds, and end. What could
    /// not be reported stays spooled for the next start.
    pub stop: CancellationToken,
}
