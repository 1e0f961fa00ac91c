//! Names and link targets that are not UTF-8. ext4 takes any bytes, and who builds the file system for us takes text: so they
//! get stand-ins of the same size, which make way for them on the finished disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mkext4::spec::ROOT_INO;
use mkext4::spec::dirent::rec_len_for;

use super::edit::Edit;
use super::tree::Found;

/// What stand-ins are made of.
const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The longest name that ext4 takes.
const NAME_BYTES: usize = 255;

/// What comes before a name in a directory.
const ENTRY_HEAD_BYTES: usize = 8;

pub(super) struct StandIns<'a> {
    found: &'a [Found],
    /// By where it is in the list.
    names: BTreeMap<usize, String>,
    targets: BTreeMap<usize, String>,
}

impl<'a> StandIns<'a> {
    pub(super) fn choose(found: &'a [Found]) -> Self {
        let targets = found.iter().enumerate().filter_map(|(index, entry)| {
            let target = entry.target.as_deref()?;
            let stand_in = || "-".repeat(target.len());
            std::str::from_utf8(target)
                .is_err()
                .then(|| (index, stand_in()))
        });
        Self {
            found,
            names: names(found),
            targets: targets.collect(),
        }
    }

    /// The name of an entry, or what stands in for it.
    pub(super) fn name(&self, index: usize) -> &str {
        std::str::from_utf8(&self.found[index].name).unwrap_or_else(|_| &self.names[&index])
    }

    /// Where a link leads, or what stands in for that.
    pub(super) fn target(&self, index: usize) -> Option<&str> {
        let target = self.found[index].target.as_deref()?;
        Some(std::str::from_utf8(target).unwrap_or_else(|_| &self.targets[&index]))
    }

    /// Puts everything in its own place on a disk that was made with stand-ins.
    pub(super) fn give_way(&self, disk: &Path) -> mkext4::Result<()> {
        if self.names.is_empty() && self.targets.is_empty() {
            return Ok(());
        }
        let edit = Edit::open(disk)?;
        let mut inodes = BTreeMap::from([(None, ROOT_INO)]);
        // The root is the first of them, and every other comes after the one that it is in.
        for (directory, entries) in self.ways() {
            let inode = inodes[&directory];
            let listed = edit.list(inode)?;
            let mut renamed = BTreeMap::new();
            for index in entries {
                let (entry, written) = (&self.found[index], self.name(index));
                let inode = listed.inode(written)?;
                inodes.insert(Some(index), inode);
                if self.targets.contains_key(&index) {
                    edit.lead(inode, entry.target.as_deref().unwrap_or_default())?;
                }
                if self.names.contains_key(&index) {
                    renamed.insert(written.as_bytes(), entry.name.as_slice());
                }
            }
            if !renamed.is_empty() {
                edit.rename(inode, &renamed)?;
            }
        }
        Ok(())
    }

    /// The directories on the way to a stand-in, each with what is in it and on that way.
    fn ways(&self) -> BTreeMap<Option<usize>, BTreeSet<usize>> {
        let mut ways: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
        for index in self.names.keys().chain(self.targets.keys()) {
            let mut next = Some(*index);
            while let Some(index) = next {
                let directory = self.found[index].parent;
                let is_new = ways.entry(directory).or_default().insert(index);
                next = directory.filter(|_| is_new);
            }
        }
        ways
    }
}

/// Names that take as much room as those they stand in for, and that nothing else in their directory has.
fn names(found: &[Found]) -> BTreeMap<usize, String> {
    let is_text = |entry: &Found| std::str::from_utf8(&entry.name).is_ok();
    let odd: Vec<usize> = (0..found.len())
        .filter(|index| !is_text(&found[*index]))
        .collect();
    let directories: BTreeSet<Option<usize>> =
        odd.iter().map(|index| found[*index].parent).collect();
    let taken: BTreeSet<(Option<usize>, &[u8])> = found
        .iter()
        .filter(|entry| directories.contains(&entry.parent) && is_text(entry))
        .map(|entry| (entry.parent, entry.name.as_slice()))
        .collect();
    let stand_in = |index: usize| {
        let entry = &found[index];
        let bytes = (rec_len_for(entry.name.len()) - ENTRY_HEAD_BYTES).min(NAME_BYTES);
        let mut number = index;
        loop {
            let name = spelled(number, bytes);
            if !taken.contains(&(entry.parent, name.as_bytes())) {
                return (index, name);
            }
            // Each counts numbers that no other does.
            number += found.len();
        }
    };
    odd.into_iter().map(stand_in).collect()
}

/// A number in so many digits.
fn spelled(mut number: usize, digits: usize) -> String {
    let mut name = String::with_capacity(digits);
    for _ in 0..digits {
        name.push(char::from(DIGITS[number % DIGITS.len()]));
        number /= DIGITS.len();
    }
    name
}
