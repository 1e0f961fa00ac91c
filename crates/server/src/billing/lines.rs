//! Minutes as lines of a file, each a JSON object, durable before they count as told.
//!
//! A crash between the write and its record in the database makes the same minutes come again. What the end of the file
//! says already is not written twice; half a line that a crash left is cut off.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use kiln_control::billing::{Delivery, Sink, Told, idempotency_key};
use kiln_model::v0::DateTime;
use kiln_store::sql::billing_minute::Minute;
use serde::{Deserialize, Serialize};

/// How much of the end is read: many times what is written at once.
const TAIL: u64 = 1 << 20;
/// How many keys are remembered: many times as many as come at once.
const REMEMBERED: usize = 4_096;

#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    end: Mutex<End>,
}

/// What is known about the end of the file.
#[derive(Debug, Default)]
struct End {
    length: u64,
    keys: BTreeSet<String>,
    order: VecDeque<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    idempotency_key: &'a str,
    organization: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer: Option<&'a str>,
    job: &'a str,
    minute: i64,
    begun: DateTime,
}

#[derive(Deserialize)]
struct Written {
    idempotency_key: String,
}

impl Lines {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let lines = Self {
            path,
            end: Mutex::default(),
        };
        let mut file = lines.file()?;
        file.sync_all()?;
        if let Some(directory) = lines.path.parent().filter(|path| path.is_dir()) {
            File::open(directory)?.sync_all()?;
        }
        lines.lock().find(&mut file)?;
        Ok(lines)
    }

    /// Opened anew for every delivery, so that the file can be moved away while the server runs.
    fn file(&self) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, minutes: &[Minute]) -> io::Result<()> {
        let mut end = self.lock();
        let mut file = self.file()?;
        if file.metadata()?.len() != end.length {
            end.find(&mut file)?;
        }
        let mut text = Vec::new();
        let mut keys = Vec::new();
        for minute in minutes {
            let key = idempotency_key(minute);
            if end.keys.contains(&key) {
                continue;
            }
            let line = Line {
                idempotency_key: &key,
                organization: &minute.organization,
                customer: minute.customer.as_deref(),
                job: &minute.job,
                minute: minute.minute,
                begun: DateTime(minute.begun),
            };
            serde_json::to_writer(&mut text, &line).expect("a line is plain data");
            text.push(b'\n');
            keys.push(key);
        }
        let written = file.write_all(&text).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // Nothing of it counts; what cannot be cut off now is found to be half a line, or known, the next time.
            file.set_len(end.length).ok();
            end.length = u64::MAX;
            return Err(error);
        }
        end.length += u64::try_from(text.len()).unwrap_or(u64::MAX);
        for key in keys {
            end.remember(key);
        }
        Ok(())
    }
}

impl Sink for Lines {
    fn deliver(&self, minutes: &[Minute]) -> Delivery {
        match self.append(minutes) {
            Ok(()) => Delivery {
                told: vec![Told::Taken; minutes.len()],
                trouble: None,
            },
            Err(error) => Delivery {
                told: Vec::new(),
                trouble: Some(format!("{}: {error}", self.path.display())),
            },
        }
    }
}

impl End {
    /// Reads the end of the file, and cuts off half a line.
    fn find(&mut self, file: &mut File) -> io::Result<()> {
        *self = Self::default();
        let length = file.metadata()?.len();
        let from = length.saturating_sub(TAIL);
        file.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail)?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |newline| newline + 1);
        if whole == 0 && from > 0 {
            let what = "it does not consist of lines; move it away";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.length = from + u64::try_from(whole).unwrap_or(u64::MAX);
        if self.length < length {
            file.set_len(self.length)?;
            file.sync_data()?;
        }
        for line in tail[..whole].split(|byte| *byte == b'\n') {
            if let Ok(written) = serde_json::from_slice::<Written>(line) {
                self.remember(written.idempotency_key);
            }
        }
        Ok(())
    }

    fn remember(&mut self, key: String) {
        if self.keys.insert(key.clone()) {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
    }
}
