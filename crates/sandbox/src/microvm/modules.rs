//! Which kernel modules a machine needs, in the order in which they can be loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// What the guest uses: its bus, the way to the host, the network, the chamber's root, and last its disks.
const NEEDED: [&str; 6] = [
    "virtio_mmio",
    "virtio_console",
    "vmw_vsock_virtio_transport",
    "virtio_net",
    "overlay",
    "virtio_blk",
];

/// Modules lie a few directories deep.
const MAX_DEPTH: usize = 12;

/// A module's name and content.
pub(super) type Module = (String, Vec<u8>);

/// The needed modules of a directory such as `/lib/modules/6.1.0`, each after those it depends on. One that is not there
/// is taken to be built in: a machine without it says so when it boots.
pub(super) fn needed(directory: &Path) -> Result<Vec<Module>, Error> {
    let mut files = BTreeMap::new();
    find(directory, 0, &mut files)?;
    let mut order = Order {
        files,
        modules: Vec::new(),
    };
    for name in NEEDED {
        order.add(name)?;
    }
    Ok(order.modules)
}

struct Order {
    /// Those not taken yet.
    files: BTreeMap<String, PathBuf>,
    modules: Vec<Module>,
}

impl Order {
    fn add(&mut self, name: &str) -> Result<(), Error> {
        let Some(path) = self.files.remove(name) else {
            return Ok(());
        };
        let content = fs::read(&path)
            .map_err(|error| Error::host(format!("cannot read {}", path.display()), error))?;
        for dependency in dependencies(&content) {
            self.add(&dependency)?;
        }
        self.modules.push((name.to_owned(), content));
        Ok(())
    }
}

/// Collects all uncompressed modules by their names, in which `-` and `_` are the same.
fn find(
    directory: &Path,
    depth: usize,
    files: &mut BTreeMap<String, PathBuf>,
) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    let entries = fs::read_dir(directory)
        .map_err(|error| Error::host(format!("cannot read {}", directory.display()), error))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            find(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|extension| extension == "ko")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            files.insert(name.replace('-', "_"), path.clone());
        }
    }
    Ok(())
}

/// What a module says it depends on: `depends=a,b` between zero bytes.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let list = module[at + KEY.len()..]
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    String::from_utf8_lossy(list)
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| name.replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(directory: &Path, name: &str, depends: &str) {
        fs::write(
            directory.join(name),
            format!("\u{7f}ELF\0license=GPL\0depends={depends}\0name=x\0"),
        )
        .unwrap();
    }

    #[test]
    fn a_module_comes_after_what_it_depends_on() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("kernel/drivers");
        fs::create_dir_all(&deep).unwrap();
        module(&deep, "virtio.ko", "");
        module(&deep, "virtio-ring.ko", "virtio");
        module(&deep, "virtio_blk.ko", "virtio,virtio_ring");
        module(&deep, "unrelated.ko", "");
        let names: Vec<String> = needed(root.path())
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["virtio", "virtio_ring", "virtio_blk"]);
    }

    #[test]
    fn modules_that_depend_on_each_other_end_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        module(root.path(), "overlay.ko", "virtio_blk");
        module(root.path(), "virtio_blk.ko", "overlay");
        assert_eq!(needed(root.path()).unwrap().len(), 2);
    }
}
