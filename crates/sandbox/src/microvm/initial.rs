//! The initial file system as a file, made once for all machines of a back end.

use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use super::file::HiddenFile;
use super::initramfs::initramfs;
use super::kernel::GuestKernel;
use crate::Error;

#[derive(Debug, Default)]
pub(crate) struct InitialFiles(OnceLock<HiddenFile>);

impl InitialFiles {
    /// The file for a kernel, which is the same one every time.
    pub(crate) fn file(&self, kernel: &GuestKernel, work_dir: &Path) -> Result<&HiddenFile, Error> {
        if let Some(file) = self.0.get() {
            return Ok(file);
        }
        let file = make(kernel, work_dir)?;
        Ok(self.0.get_or_init(|| file))
    }
}

fn make(kernel: &GuestKernel, work_dir: &Path) -> Result<HiddenFile, Error> {
    let file = HiddenFile::create(work_dir)?;
    let mut writer = file.file();
    writer
        .write_all(&initramfs(kernel)?)
        .map_err(|error| Error::host("cannot write the initial file system", error))?;
    Ok(file)
}
