//! What a machine boots from, made once for all machines of a back end.

use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use super::file::HiddenFile;
use super::initramfs::initramfs;
use super::kernel::GuestKernel;
use super::unpacked::unpacked;
use crate::Error;

#[derive(Debug, Default)]
pub(crate) struct InitialFiles {
    file_system: OnceLock<HiddenFile>,
    /// None where the kernel starts best as it is.
    kernel: OnceLock<Option<HiddenFile>>,
}

impl InitialFiles {
    /// The initial file system for a kernel, which is the same one every time.
    pub(crate) fn file(&self, kernel: &GuestKernel, work_dir: &Path) -> Result<&HiddenFile, Error> {
        if let Some(file) = self.file_system.get() {
            return Ok(file);
        }
        let file = make(&initramfs(kernel)?, work_dir)?;
        Ok(self.file_system.get_or_init(|| file))
    }

    /// The path of the kernel in the form in which it starts soonest.
    pub(crate) fn kernel(&self, kernel: &GuestKernel, work_dir: &Path) -> Result<String, Error> {
        let unpacked = if let Some(known) = self.kernel.get() {
            known
        } else {
            let made = unpack(kernel, work_dir)?;
            self.kernel.get_or_init(|| made)
        };
        Ok(match unpacked {
            Some(file) => file.path(),
            None => kernel.image().display().to_string(),
        })
    }
}

fn unpack(kernel: &GuestKernel, work_dir: &Path) -> Result<Option<HiddenFile>, Error> {
    unpacked(kernel.image())
        .map_err(|error| Error::host("cannot read the kernel", error))?
        .map(|bytes| make(&bytes, work_dir))
        .transpose()
}

fn make(bytes: &[u8], work_dir: &Path) -> Result<HiddenFile, Error> {
    let file = HiddenFile::create(work_dir)?;
    let mut writer = file.file();
    writer
        .write_all(bytes)
        .map_err(|error| Error::host("cannot write what a machine boots from", error))?;
    Ok(file)
}
