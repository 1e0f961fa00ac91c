//! Finding programs of the host.

use std::io;
use std::path::{Path, PathBuf};

/// The program's whole path. One without a directory is looked for as shells do.
pub(crate) fn locate(program: &Path) -> io::Result<PathBuf> {
    if program.components().nth(1).is_some() || program.is_absolute() {
        return program.canonicalize();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?
        .canonicalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_name_or_its_path() {
        let found = locate(Path::new("sh")).unwrap();
        assert!(found.is_absolute(), "{found:?}");
        assert_eq!(locate(&found).unwrap(), found);
        assert!(locate(Path::new("no-such-program-of-this-host")).is_err());
    }
}
