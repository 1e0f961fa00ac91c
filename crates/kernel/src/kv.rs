//! The ground the kernel stands on: ordered bytes in numbered databases, changed in transactions.

use std::fmt;

use crate::Status;

/// A numbered database. 0–6 belong to the kernel; an embedding program may use 7 and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dbi(pub u8);

impl Dbi {
    pub const APP_STATE: Self = Self(0);
    pub const INBOX: Self = Self(1);
    pub const OUTBOX: Self = Self(2);
    pub const LEASES: Self = Self(3);
    pub const TIMERS: Self = Self(4);
    pub const DEDUPE: Self = Self(5);
    pub const DEAD_LETTER: Self = Self(6);
}

/// The largest value a store accepts, as in the original; more is [`Status::Full`].
pub const MAX_VALUE: usize = 65_535;

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// One transaction. Keys of one database compare as plain bytes.
pub trait KvTx {
    fn get(&mut self, dbi: Dbi, key: &[u8]) -> Result<Option<Vec<u8>>, Status>;
    /// Writes, replacing what is there.
    fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status>;
    /// Writes unless the key is taken: then [`Status::Exists`] and nothing changes.
    fn insert(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status>;
    /// Removes; tells whether there was something.
    fn delete(&mut self, dbi: Dbi, key: &[u8]) -> Result<bool, Status>;
    /// Up to `limit` pairs in key order, from `from` (inclusive) to `until` (exclusive; `None` = no end).
    fn scan(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Pair>, Status>;
    /// The last pair of the same range.
    fn last(&mut self, dbi: Dbi, from: &[u8], until: Option<&[u8]>)
    -> Result<Option<Pair>, Status>;

    /// Removes the key if it holds exactly `value`; tells whether it did. A store that can do it in one statement
    /// should.
    fn delete_matching(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<bool, Status> {
        if self.get(dbi, key)?.as_deref() != Some(value) {
            return Ok(false);
        }
        self.delete(dbi, key)
    }

    /// How many nested frames are open, if the store knows. Knowing lets the kernel close what a failed handler left
    /// open.
    fn nested_depth(&self) -> Option<usize> {
        None
    }
    /// Opens a nested frame: what follows can be undone by itself.
    fn begin_nested(&mut self) -> Result<(), Status>;
    /// Keeps what the innermost frame did.
    fn commit_nested(&mut self) -> Result<(), Status>;
    /// Undoes what the innermost frame did, and closes it.
    fn rollback_nested(&mut self) -> Result<(), Status>;
}

/// What may be done with a transaction may be done through a borrow of it. This turns a store's own type, sized or not,
/// into a `dyn KvTx`.
impl<T: KvTx + ?Sized> KvTx for &mut T {
    fn get(&mut self, dbi: Dbi, key: &[u8]) -> Result<Option<Vec<u8>>, Status> {
        (**self).get(dbi, key)
    }
    fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        (**self).put(dbi, key, value)
    }
    fn insert(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        (**self).insert(dbi, key, value)
    }
    fn delete(&mut self, dbi: Dbi, key: &[u8]) -> Result<bool, Status> {
        (**self).delete(dbi, key)
    }
    fn scan(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Pair>, Status> {
        (**self).scan(dbi, from, until, limit)
    }
    fn last(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
    ) -> Result<Option<Pair>, Status> {
        (**self).last(dbi, from, until)
    }
    fn delete_matching(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<bool, Status> {
        (**self).delete_matching(dbi, key, value)
    }
    fn nested_depth(&self) -> Option<usize> {
        (**self).nested_depth()
    }
    fn begin_nested(&mut self) -> Result<(), Status> {
        (**self).begin_nested()
    }
    fn commit_nested(&mut self) -> Result<(), Status> {
        (**self).commit_nested()
    }
    fn rollback_nested(&mut self) -> Result<(), Status> {
        (**self).rollback_nested()
    }
}

/// A store of the kernel. Cheap to clone; shared by threads.
pub trait Kv: Clone + Send + Sync + fmt::Debug + 'static {
    /// What handlers get to write with: at least [`KvTx`], and whatever else the store offers (SQL, say).
    type Tx: KvTx + ?Sized;

    /// Runs `body` in one write transaction and commits when it answers `Ok`; otherwise nothing has happened.
    ///
    /// `body` may be run more than once (a commit that met a conflict, a rollback of the whole group): it must
    /// have no effect outside the transaction. That is why it is `FnMut` and owns what it needs.
    fn write<R, F>(&self, body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut Self::Tx) -> Result<R, Status> + Send + 'static;

    /// Runs `body` on one consistent snapshot. Writes in it are a bug and answer an error.
    fn read<R, F>(&self, body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut Self::Tx) -> Result<R, Status> + Send + 'static;
}
