//! What a pass knows about retry counters without asking for each message.

use std::collections::BTreeMap;

use crate::keys::{RETRY_PREFIX, end_of_prefix};
use crate::records::RetryCount;
use crate::{Dbi, KvTx, Status, retries};

/// Few messages have failures at any one time. If the counters are no more than this, one scan tells them all, and
/// the messages of a pass that never failed cost no statement each.
const KNOWN_MAX: usize = 128;

pub(super) struct Failures {
    known: Option<BTreeMap<Vec<u8>, RetryCount>>,
}

impl Failures {
    pub(super) fn load<T: KvTx + ?Sized>(tx: &mut T) -> Result<Self, Status> {
        let end = end_of_prefix(RETRY_PREFIX);
        let rows = tx.scan(Dbi::DEDUPE, RETRY_PREFIX, Some(&end), KNOWN_MAX)?;
        if rows.len() == KNOWN_MAX {
            return Ok(Self { known: None });
        }
        let entry = |(key, value): (Vec<u8>, Vec<u8>)| {
            Ok((
                key[RETRY_PREFIX.len()..].to_vec(),
                RetryCount::decode(&value)?,
            ))
        };
        let known = rows.into_iter().map(entry).collect::<Result<_, Status>>()?;
        Ok(Self { known: Some(known) })
    }

    pub(super) fn of<T: KvTx + ?Sized>(&self, tx: &mut T, id: &[u8]) -> Result<u32, Status> {
        match &self.known {
            Some(known) => Ok(known.get(id).map_or(0, |count| count.0)),
            None => retries::count(tx, id).map(|count| count.0),
        }
    }

    pub(super) fn add<T: KvTx + ?Sized>(&mut self, tx: &mut T, id: &[u8]) -> Result<u32, Status> {
        let count = retries::add(tx, id)?;
        if let Some(known) = &mut self.known {
            known.insert(id.to_vec(), count);
        }
        Ok(count.0)
    }

    pub(super) fn clear<T: KvTx + ?Sized>(&mut self, tx: &mut T, id: &[u8]) -> Result<(), Status> {
        if let Some(known) = &mut self.known
            && known.remove(id).is_none()
        {
            return Ok(());
        }
        retries::clear(tx, id).map(drop)
    }

    /// Something was undone after it had been noted here: ask the store from now on.
    pub(super) fn distrust(&mut self) {
        self.known = None;
    }
}
