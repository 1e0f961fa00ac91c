//! What is known of every directory of the tree, by inode: all of them were made here.

use std::collections::BTreeMap;

use super::bounds::Exceeded;
use super::metadata::Metadata;
use crate::Limits;

/// A directory of the tree.
#[derive(Debug)]
pub(super) struct Directory {
    parent: u64,
    name: Vec<u8>,
    depth: u32,
    path_bytes: usize,
    /// The last layer that made, named or filled it.
    layer: usize,
    pub metadata: Metadata,
}

#[derive(Debug)]
pub(super) struct Directories {
    root: u64,
    known: BTreeMap<u64, Directory>,
    depth_limit: u32,
    path_limit: usize,
}

impl Directories {
    pub(super) fn new(root: u64, limits: &Limits) -> Self {
        let directory = Directory {
            parent: root,
            name: Vec::new(),
            depth: 0,
            path_bytes: 0,
            layer: 0,
            metadata: Metadata::IMPLICIT_DIRECTORY,
        };
        Self {
            root,
            known: BTreeMap::from([(root, directory)]),
            depth_limit: limits.depth,
            path_limit: limits.path_bytes,
        }
    }

    /// Whether a name may be added to a directory. Links make places reachable by short paths that
    /// lie deep, and what lies too deep can be neither named nor removed.
    pub(super) fn check_room(&self, parent: u64, name: &[u8]) -> Result<(), Exceeded> {
        let above = self.get(parent);
        if above.depth >= self.depth_limit {
            return Err(Exceeded::Depth(self.depth_limit));
        }
        if above.path_bytes + 1 + name.len() > self.path_limit {
            return Err(Exceeded::PathBytes(self.path_limit));
        }
        Ok(())
    }

    /// Records a directory just made. An inode number of a removed directory may come again.
    pub(super) fn insert(&mut self, inode: u64, parent: u64, name: &[u8]) {
        let above = self.get(parent);
        let directory = Directory {
            parent,
            name: name.to_vec(),
            depth: above.depth + 1,
            path_bytes: above.path_bytes + 1 + name.len(),
            layer: above.layer,
            metadata: Metadata::IMPLICIT_DIRECTORY,
        };
        self.known.insert(inode, directory);
    }

    pub(super) fn set_metadata(&mut self, inode: u64, metadata: Metadata) {
        if let Some(directory) = self.known.get_mut(&inode) {
            directory.metadata = metadata;
        }
    }

    /// Marks a directory and all above it as part of a layer.
    pub(super) fn touch(&mut self, mut inode: u64, layer: usize) {
        while let Some(directory) = self.known.get_mut(&inode) {
            if directory.layer == layer {
                return;
            }
            directory.layer = layer;
            inode = directory.parent;
        }
    }

    pub(super) fn is_of_layer(&self, inode: u64, layer: usize) -> bool {
        self.known
            .get(&inode)
            .is_some_and(|directory| directory.layer == layer)
    }

    /// All directories with their paths, deepest first: a mode can lock what lies below.
    pub(super) fn deepest_first(&self) -> Vec<(Vec<u8>, u64, Metadata)> {
        let mut all: Vec<(u32, Vec<u8>, u64, Metadata)> = self
            .known
            .iter()
            .map(|(inode, directory)| {
                (
                    directory.depth,
                    self.path(*inode),
                    *inode,
                    directory.metadata,
                )
            })
            .collect();
        all.sort_by_key(|(depth, ..)| std::cmp::Reverse(*depth));
        all.into_iter()
            .map(|(_, path, inode, metadata)| (path, inode, metadata))
            .collect()
    }

    fn path(&self, mut inode: u64) -> Vec<u8> {
        let mut names: Vec<&[u8]> = Vec::new();
        while inode != self.root
            && names.len() <= self.depth_limit as usize
            && let Some(directory) = self.known.get(&inode)
        {
            names.push(&directory.name);
            inode = directory.parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    fn get(&self, inode: u64) -> &Directory {
        self.known
            .get(&inode)
            .expect("every directory below the root was made by this unpacking")
    }
}
