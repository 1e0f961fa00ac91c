//! One transaction: the maps, and a log of what to put back should it not be kept.

use std::collections::BTreeMap;
use std::collections::btree_map::{Entry, Range};
use std::fmt;
use std::ops::Bound;

use super::key::Key;
use crate::kv::{MAX_VALUE, Pair};
use crate::{Dbi, KvTx, Status};

/// As many databases as the original's engine has.
pub(super) const MAX_DBIS: usize = 32;

type Table = BTreeMap<Key, Vec<u8>>;
pub(super) type Tables = [Table; MAX_DBIS];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Access {
    #[default]
    Read,
    Write,
}

#[derive(Default)]
pub struct MemoryTx {
    tables: Tables,
    access: Access,
    undo: Vec<Undo>,
    /// How long the undo log was when each open nested frame began.
    marks: Vec<usize>,
}

struct Undo {
    table: usize,
    key: Key,
    before: Option<Vec<u8>>,
}

impl MemoryTx {
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(super) fn replace_tables(&mut self, tables: Tables) {
        self.tables = tables;
    }

    pub(super) fn start(&mut self, access: Access) {
        self.access = access;
    }

    pub(super) fn check_closed(&self) -> Result<(), Status> {
        if self.marks.is_empty() {
            return Ok(());
        }
        Err(Status::Error("a nested frame was left open".into()))
    }

    pub(super) fn finish(&mut self, kept: bool) {
        if !kept {
            self.roll_back_to(0);
        }
        self.undo.clear();
        self.marks.clear();
        self.access = Access::Read;
    }

    fn roll_back_to(&mut self, mark: usize) {
        for Undo { table, key, before } in self.undo.drain(mark..).rev() {
            match before {
                Some(value) => self.tables[table].insert(key, value),
                None => self.tables[table].remove(key.as_slice()),
            };
        }
    }

    fn writable(&self, dbi: Dbi, value: &[u8]) -> Result<usize, Status> {
        if self.access == Access::Read {
            return Err(Status::Error("a write in a read transaction".into()));
        }
        if value.len() > MAX_VALUE {
            return Err(Status::Full);
        }
        index(dbi)
    }

    fn remember(&mut self, table: usize, key: Key, before: Option<Vec<u8>>) {
        self.undo.push(Undo { table, key, before });
    }

    fn remove(&mut self, dbi: Dbi, key: &[u8]) -> Result<bool, Status> {
        let table = self.writable(dbi, &[])?;
        let Some((key, value)) = self.tables[table].remove_entry(key) else {
            return Ok(false);
        };
        self.remember(table, key, Some(value));
        Ok(true)
    }
}

impl KvTx for MemoryTx {
    fn get(&mut self, dbi: Dbi, key: &[u8]) -> Result<Option<Vec<u8>>, Status> {
        Ok(self.tables[index(dbi)?].get(key).cloned())
    }

    fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        let table = self.writable(dbi, value)?;
        let owned = Key::from(key);
        let before = self.tables[table].insert(owned.clone(), value.to_vec());
        self.remember(table, owned, before);
        Ok(())
    }

    fn insert(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        let table = self.writable(dbi, value)?;
        let owned = Key::from(key);
        match self.tables[table].entry(owned.clone()) {
            Entry::Occupied(_) => return Err(Status::Exists),
            Entry::Vacant(free) => free.insert(value.to_vec()),
        };
        self.remember(table, owned, None);
        Ok(())
    }

    fn delete(&mut self, dbi: Dbi, key: &[u8]) -> Result<bool, Status> {
        self.remove(dbi, key)
    }

    fn delete_matching(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<bool, Status> {
        match self.tables[index(dbi)?].get(key) {
            Some(held) if held == value => self.remove(dbi, key),
            _ => Ok(false),
        }
    }

    fn scan(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Pair>, Status> {
        let Some(range) = range(&self.tables[index(dbi)?], from, until) else {
            return Ok(Vec::new());
        };
        Ok(range.take(limit).map(owned).collect())
    }

    fn last(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
    ) -> Result<Option<Pair>, Status> {
        let range = range(&self.tables[index(dbi)?], from, until);
        Ok(range.and_then(|mut pairs| pairs.next_back()).map(owned))
    }

    fn nested_depth(&self) -> Option<usize> {
        Some(self.marks.len())
    }

    fn begin_nested(&mut self) -> Result<(), Status> {
        self.marks.push(self.undo.len());
        Ok(())
    }

    fn commit_nested(&mut self) -> Result<(), Status> {
        self.marks.pop().ok_or_else(no_frame)?;
        Ok(())
    }

    fn rollback_nested(&mut self) -> Result<(), Status> {
        let mark = self.marks.pop().ok_or_else(no_frame)?;
        self.roll_back_to(mark);
        Ok(())
    }
}

impl fmt::Debug for MemoryTx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTx")
            .field("depth", &self.marks.len())
            .finish_non_exhaustive()
    }
}

fn index(dbi: Dbi) -> Result<usize, Status> {
    let table = usize::from(dbi.0);
    if table < MAX_DBIS {
        return Ok(table);
    }
    Err(Status::Error(format!("there is no database {}", dbi.0)))
}

fn no_frame() -> Status {
    Status::Error("no nested frame is open".into())
}

fn owned((key, value): (&Key, &Vec<u8>)) -> Pair {
    (key.as_slice().to_vec(), value.clone())
}

/// Nothing for a range that ends before it starts, which the map would answer with a panic.
fn range<'a>(
    table: &'a Table,
    from: &[u8],
    until: Option<&[u8]>,
) -> Option<Range<'a, Key, Vec<u8>>> {
    if until.is_some_and(|until| until <= from) {
        return None;
    }
    let until = until.map_or(Bound::Unbounded, Bound::Excluded);
    Some(table.range::<[u8], _>((Bound::Included(from), until)))
}
