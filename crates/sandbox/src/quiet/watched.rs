//! Settings that are read again, because others can change them too.

use super::files::{HostFiles, chosen};

/// Whether what was read means what was written.
pub(super) type Same = fn(read: &str, written: &str) -> bool;

/// A file that a setting is in effect with.
#[derive(Debug)]
pub(super) struct Watched {
    /// The setting's name; some are more than one file.
    pub(super) knob: String,
    pub(super) file: String,
    pub(super) value: String,
    pub(super) same: Same,
}

impl Watched {
    /// What is wrong with it now, if something is.
    pub(super) fn trouble(&self, files: &HostFiles) -> Option<String> {
        let Self { file, value, .. } = self;
        match files.read(file) {
            Ok(now) if (self.same)(&now, value) => None,
            Ok(now) => Some(format!(
                "{file} reads {} and no longer {value}",
                chosen(&now)
            )),
            Err(error) => Some(format!("{file}: {error}")),
        }
    }
}

/// For what is chosen among words, or is all there is.
pub(super) fn same_choice(read: &str, written: &str) -> bool {
    chosen(read) == written
}
