//! Recording the kernel's worker into a file, and running a recording again with the code of today.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kiln_control::housekeeping::NoHousekeeping;
use kiln_control::tasks::{Objects, TaskHandler, Unwatched};
use kiln_kernel::{Handler, MessageView, Preparing, Status, Step, Time};
use kiln_model::v0::DateTime;
use kiln_model::{Digest, Millis};
use kiln_store::tape::{KernelStore, Player, Recorder, Replayed, Start, Unreadable};
use kiln_store::{Error, ObjectKey, Store, Tx};

use crate::StartError;
use crate::worker;

/// The ledger as the kernel's worker is to see it: recorded into a new file of `directory`, if one is given.
pub(crate) fn kernel_store(
    store: &Store,
    owner: u64,
    directory: Option<&Path>,
) -> Result<KernelStore, StartError> {
    let Some(directory) = directory else {
        return Ok(KernelStore::live(store.ledger.clone()));
    };
    let start = Start {
        kiln: env!("CARGO_PKG_VERSION").to_owned(),
        engine: store
            .reader
            .read(|query| Ok::<_, Error>(query.engine()))
            .wait()?,
        owner,
        at: store.ledger.wall(),
    };
    let file = new_file(directory, &start).map_err(|source| StartError::Record {
        directory: directory.to_owned(),
        source,
    })?;
    let recorder = Recorder::new(file, start);
    Ok(KernelStore::recording(store.ledger.clone(), recorder))
}

/// What a replay found, and in which message.
#[derive(Debug)]
pub struct Report {
    pub start: Start,
    pub replayed: Replayed,
    /// The id of the message that ran last.
    pub message: String,
}

/// Runs the recording in `file` again, without a database: every answer comes from the recording.
pub fn replay(file: &Path) -> Result<Report, Unreadable> {
    let player = Player::new(BufReader::new(File::open(file)?))?;
    let kernel = KernelStore::playing(player.clone());
    let message = Arc::new(Mutex::new(String::new()));
    let handler = Named {
        inner: TaskHandler {
            opened: kernel.now(),
            store: kernel.clone(),
            objects: Arc::new(Nowhere),
            housekeeper: Arc::new(NoHousekeeping),
            watch: Arc::new(Unwatched),
        },
        message: Arc::clone(&message),
    };
    let time = Arc::new(RecordedTime(kernel.clone()));
    // A worker that cannot boot any more has diverged, or the recording ends before it had booted.
    if let Ok(worker) = worker::init(kernel, handler, player.start().owner, time)
        && worker.runner().start().is_ok()
    {
        while !player.is_over() && worker.round().is_continue() {}
    }
    let message = message.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Report {
        start: player.start().clone(),
        replayed: player.replayed(),
        message: message.clone(),
    })
}

/// A recording holds what jobs wrote: it is as private as the database.
fn new_file(directory: &Path, start: &Start) -> io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let time = DateTime(start.at).to_string().replace(['-', ':'], "");
    let name = format!("kernel-{time}-{:04x}.log", start.owner & 0xffff);
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(directory.join(name))
}

struct RecordedTime(KernelStore);

impl Time for RecordedTime {
    fn now(&self) -> Millis {
        self.0.now()
    }

    fn sleep(&self, _: Duration) {}
}

/// A replay asks the recording what was read.
#[derive(Debug)]
struct Nowhere;

impl Objects for Nowhere {
    fn get(&self, _: &ObjectKey, _: &Digest) -> Result<Vec<u8>, Error> {
        Err(Error::Closed)
    }
}

/// The handler, and the name of what it is at.
struct Named {
    inner: TaskHandler,
    message: Arc<Mutex<String>>,
}

impl Named {
    fn note(&self, message: &MessageView<'_>) {
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) =
            String::from_utf8_lossy(message.id).into_owned();
    }
}

impl Handler<dyn Tx> for Named {
    type Prepared = <TaskHandler as Handler<dyn Tx>>::Prepared;

    fn prepare(
        &self,
        message: &MessageView<'_>,
        preparing: &Preparing<'_>,
    ) -> Result<Self::Prepared, Status> {
        self.note(message);
        self.inner.prepare(message, preparing)
    }

    fn apply(
        &self,
        prepared: &Self::Prepared,
        message: &MessageView<'_>,
        tx: &mut (dyn Tx + 'static),
        step: &mut Step,
    ) -> Result<(), Status> {
        self.note(message);
        self.inner.apply(prepared, message, tx, step)
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named").finish_non_exhaustive()
    }
}
