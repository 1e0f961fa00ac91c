//! Why an agent could not start or go on.

use std::io;
use std::path::PathBuf;

use kiln_model::{JobUuid, Slot};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    #[error("{0:?} is not the address of a server: expected http:// or https:// and a host")]
    Address(String),
    #[error("{0:?} is not a runner's name or id")]
    Runner(String),
    #[error("a runner has from 1 to {most} slots, not {0}", most = Slot::MOST)]
    Slots(u32),
    #[error("the runner's key has characters that no key has")]
    Key,
    #[error("cannot {action} {}", path.display())]
    DataDir {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is in use by another runner process", path.display())]
    InUse { path: PathBuf },
    /// The spool is untouched: results in it are delivered once the key is right.
    #[error(
        "the server does not accept this runner's key: check the runner's name and rotate its key if it is lost"
    )]
    Unauthorized,
    #[error(
        "could not deliver the result of job {job} before the end; it is spooled and goes out at the next start"
    )]
    Undelivered { job: JobUuid },
}
