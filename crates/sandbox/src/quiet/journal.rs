//! What a host was like before we changed it, on disk before the change.
//!
//! The first line names the boot it belongs to: settings do not survive one, and neither does their journal. Then one
//! line for each change: the file, a tab, and its old value.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::files::{HostFiles, chosen};
use super::interrupts::same_mask;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// An open journal. Its entries are on disk when `record` returns.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

/// One change that was about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) file: String,
    pub(super) value: String,
}

impl Journal {
    /// Begins a journal. There must be none: whoever made it first undoes what it tells.
    pub(super) fn begin(path: &Path, files: &HostFiles) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        writeln!(file, "{}", files.read(BOOT_ID)?)?;
        file.sync_all()?;
        sync_directory_of(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn record(&mut self, file: &str, value: &str) -> io::Result<()> {
        self.file
            .write_all(format!("{file}\t{value}\n").as_bytes())?;
        self.file.sync_data()
    }

    /// Puts back everything, newest first, and removes the journal.
    pub(super) fn undo(self, files: &HostFiles) -> io::Result<usize> {
        undo(&self.path, files)
    }
}

/// Undoes what the journal at this path tells, if there is one. Returns how many settings were put back.
pub(super) fn undo(path: &Path, files: &HostFiles) -> io::Result<usize> {
    let text = match fs::read(path) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut undone = 0;
    let mut trouble = None;
    for entry in entries(&text, &files.read(BOOT_ID)?).iter().rev() {
        match put_back(files, entry) {
            Ok(()) => undone += 1,
            // One that refuses does not keep the others from being put back.
            Err(error) => trouble = Some(error),
        }
    }
    if let Some(error) = trouble {
        return Err(error);
    }
    fs::remove_file(path)?;
    sync_directory_of(path)?;
    Ok(undone)
}

/// A file that is gone, such as that of a CPU that was taken away, has nothing to be put back. Neither has one that
/// refuses its own value: it refused ours before, as interrupts do that belong to one CPU.
fn put_back(files: &HostFiles, entry: &Entry) -> io::Result<()> {
    match files.write(&entry.file, &entry.value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) if is_as_before(files, entry) => Ok(()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!(
                "cannot put {:?} back into {}: {error}",
                entry.value, entry.file
            ),
        )),
        Ok(()) => Ok(()),
    }
}

fn is_as_before(files: &HostFiles, entry: &Entry) -> bool {
    files
        .read(&entry.file)
        .is_ok_and(|now| chosen(&now) == entry.value || same_mask(&now, &entry.value))
}

/// The whole lines of this boot. The last one may be torn: then its change was never made.
fn entries(text: &str, boot_id: &str) -> Vec<Entry> {
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(boot_id) {
        return Vec::new();
    }
    lines
        .filter_map(|line| line.strip_suffix('\n')?.split_once('\t'))
        .map(|(file, value)| Entry {
            file: file.to_owned(),
            value: value.to_owned(),
        })
        .collect()
}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_was_never_acted_on() {
        let text = "boot\n/a\t1\n/b\t2\n/c\t3";
        let files: Vec<String> = entries(text, "boot")
            .into_iter()
            .map(|entry| entry.file)
            .collect();
        assert_eq!(files, ["/a", "/b"]);
    }

    #[test]
    fn what_cannot_be_written_and_was_never_changed_needs_no_putting_back() {
        let host = HostFiles::new("/");
        let refusing = |value: String| Entry {
            file: BOOT_ID.to_owned(),
            value,
        };
        let id = host.read(BOOT_ID).unwrap();
        put_back(&host, &refusing(id)).unwrap();
        put_back(&host, &refusing("another".to_owned())).unwrap_err();
    }

    #[test]
    fn a_journal_of_an_earlier_boot_tells_nothing() {
        assert_eq!(entries("before\n/a\t1\n", "boot"), Vec::new());
        assert_eq!(entries("", "boot"), Vec::new());
    }
}
