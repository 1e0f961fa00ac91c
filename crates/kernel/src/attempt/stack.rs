//! What an attempt has read, staged and intends, frame upon frame.

use std::collections::BTreeMap;

use crate::intents::{Published, Sink};
use crate::{Dbi, Intent, KvTx, Status};

type Place = (Dbi, Vec<u8>);

/// The frames of one attempt. The first is the attempt itself; those above it can be dropped by themselves.
#[derive(Clone, Debug)]
pub struct Stack {
    root: Frame,
    nested: Vec<Frame>,
}

#[derive(Clone, Debug, Default)]
struct Frame {
    /// What was seen first under each key; nothing means that the key was absent.
    reads: BTreeMap<Place, Option<Vec<u8>>>,
    /// Where in `staged` each key is.
    writes: BTreeMap<Place, usize>,
    /// In the order in which keys were first staged; nothing means a delete.
    staged: Vec<(Place, Option<Vec<u8>>)>,
    intents: Vec<Intent>,
}

impl Stack {
    pub fn new() -> Self {
        Self {
            root: Frame::default(),
            nested: Vec::new(),
        }
    }

    /// How many frames are open, the attempt itself included.
    pub fn depth(&self) -> usize {
        1 + self.nested.len()
    }

    /// What the attempt sees: what it staged, else what it saw before, else the snapshot, which is remembered.
    pub fn get<T: KvTx + ?Sized>(
        &mut self,
        snapshot: &mut T,
        dbi: Dbi,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, Status> {
        let place = (dbi, key.to_vec());
        if let Some(staged) = self.top_down().find_map(|frame| frame.written(&place)) {
            return Ok(staged.clone());
        }
        if let Some(seen) = self.top_down().find_map(|frame| frame.reads.get(&place)) {
            return Ok(seen.clone());
        }
        let value = snapshot.get(dbi, key)?;
        self.top().reads.insert(place, value.clone());
        Ok(value)
    }

    pub fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) {
        self.top().stage((dbi, key.to_vec()), Some(value.to_vec()));
    }

    pub fn delete(&mut self, dbi: Dbi, key: &[u8]) {
        self.top().stage((dbi, key.to_vec()), None);
    }

    /// Keeps an intent, if it can be written at all.
    pub fn intend(&mut self, intent: Intent) -> Result<(), Status> {
        intent.view().encoded_len()?;
        self.top().intents.push(intent);
        Ok(())
    }

    pub fn push(&mut self) {
        self.nested.push(Frame::default());
    }

    /// Merges the top frame into the one below. Without a nested frame it is [`Status::Busy`]; when the two saw the same
    /// key differently it is [`Status::Conflict`] and nothing is merged.
    pub fn commit_top(&mut self) -> Result<(), Status> {
        let top = self.nested.pop().ok_or(Status::Busy)?;
        if let Err(conflict) = self.top().check_merge(&top) {
            self.nested.push(top);
            return Err(conflict);
        }
        self.top().merge(top);
        Ok(())
    }

    /// Drops the top frame. Without a nested frame it is [`Status::Busy`].
    pub fn abort_top(&mut self) -> Result<(), Status> {
        self.nested.pop().map(drop).ok_or(Status::Busy)
    }

    pub fn intents(&self) -> &[Intent] {
        &self.root.intents
    }

    /// Whether everything the attempt read is still so; otherwise [`Status::Conflict`].
    pub fn validate<T: KvTx + ?Sized>(&self, tx: &mut T) -> Result<(), Status> {
        self.check_single()?;
        for ((dbi, key), seen) in &self.root.reads {
            if tx.get(*dbi, key)? != *seen {
                return Err(Status::Conflict);
            }
        }
        Ok(())
    }

    /// Writes what was staged, in the order of staging. Deleting what is not there is fine.
    pub fn apply<T: KvTx + ?Sized>(&self, tx: &mut T) -> Result<(), Status> {
        self.check_single()?;
        for ((dbi, key), value) in &self.root.staged {
            match value {
                Some(value) => tx.put(*dbi, key, value)?,
                None => drop(tx.delete(*dbi, key)?),
            }
        }
        Ok(())
    }

    /// Routes the intents, in order.
    pub fn publish<T: KvTx + ?Sized>(
        &self,
        tx: &mut T,
        sink: &Sink,
    ) -> Result<Vec<Published>, Status> {
        self.check_single()?;
        self.root
            .intents
            .iter()
            .map(|intent| sink.publish(tx, &intent.view()))
            .collect()
    }

    /// An attempt with open nested frames has not decided yet.
    pub(super) fn check_single(&self) -> Result<(), Status> {
        if self.nested.is_empty() {
            Ok(())
        } else {
            Err(Status::Busy)
        }
    }

    fn top(&mut self) -> &mut Frame {
        self.nested.last_mut().unwrap_or(&mut self.root)
    }

    fn top_down(&self) -> impl Iterator<Item = &Frame> {
        self.nested.iter().rev().chain([&self.root])
    }
}

impl Default for Stack {
    fn default() -> Self {
        Self::new()
    }
}

impl Frame {
    fn written(&self, place: &Place) -> Option<&Option<Vec<u8>>> {
        self.writes.get(place).map(|index| &self.staged[*index].1)
    }

    fn stage(&mut self, place: Place, value: Option<Vec<u8>>) {
        if let Some(index) = self.writes.get(&place) {
            self.staged[*index].1 = value;
            return;
        }
        self.writes.insert(place.clone(), self.staged.len());
        self.staged.push((place, value));
    }

    fn check_merge(&self, top: &Self) -> Result<(), Status> {
        let agrees = |(place, seen)| self.reads.get(place).is_none_or(|before| before == seen);
        if top.reads.iter().all(agrees) {
            Ok(())
        } else {
            Err(Status::Conflict)
        }
    }

    fn merge(&mut self, top: Self) {
        for (place, seen) in top.reads {
            if !self.writes.contains_key(&place) {
                self.reads.entry(place).or_insert(seen);
            }
        }
        for (place, value) in top.staged {
            self.stage(place, value);
        }
        self.intents.extend(top.intents);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kv, MemoryKv};

    const APP: Dbi = Dbi::APP_STATE;

    fn seeded() -> MemoryKv {
        let kv = MemoryKv::new();
        kv.write(|tx| tx.put(APP, b"a", b"1")).unwrap();
        kv
    }

    #[test]
    fn a_later_change_of_what_was_read_is_a_conflict() {
        let kv = seeded();
        let stack = kv
            .read(|tx| {
                let mut stack = Stack::new();
                stack.get(tx, APP, b"a")?;
                stack.get(tx, APP, b"a")?;
                stack.get(tx, APP, b"absent")?;
                Ok(stack)
            })
            .unwrap();
        assert_eq!(stack.root.reads.len(), 2);
        let validate = |stack: &Stack| {
            let stack = stack.clone();
            kv.read(move |tx| stack.validate(tx))
        };
        assert_eq!(validate(&stack), Ok(()));
        kv.write(|tx| tx.put(APP, b"absent", b"now there")).unwrap();
        assert_eq!(validate(&stack), Err(Status::Conflict));
        kv.write(|tx| tx.delete(APP, b"absent")).unwrap();
        kv.write(|tx| tx.put(APP, b"a", b"2")).unwrap();
        assert_eq!(validate(&stack), Err(Status::Conflict));
    }

    #[test]
    fn writes_of_one_key_become_one() {
        let kv = seeded();
        let mut stack = Stack::new();
        stack.put(APP, b"b", b"1");
        stack.put(APP, b"a", b"2");
        stack.put(APP, b"b", b"3");
        stack.delete(APP, b"a");
        assert_eq!(stack.root.staged.len(), 2);
        kv.write(move |tx| stack.apply(tx)).unwrap();
        let rows = kv.read(|tx| tx.scan(APP, &[], None, 9)).unwrap();
        assert_eq!(rows, [(b"b".to_vec(), b"3".to_vec())]);
    }

    #[test]
    fn an_attempt_reads_its_own_writes_and_does_not_depend_on_them() {
        let kv = seeded();
        kv.read(|tx| {
            let mut stack = Stack::new();
            stack.put(APP, b"a", b"mine");
            assert_eq!(stack.get(tx, APP, b"a")?, Some(b"mine".to_vec()));
            stack.delete(APP, b"a");
            assert_eq!(stack.get(tx, APP, b"a")?, None);
            assert!(stack.root.reads.is_empty());
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_nested_frame_is_merged_or_dropped() {
        let kv = seeded();
        kv.read(|tx| {
            let mut stack = Stack::new();
            stack.put(APP, b"outer", b"1");
            stack.push();
            assert_eq!(stack.get(tx, APP, b"outer")?, Some(b"1".to_vec()));
            stack.put(APP, b"kept", b"2");
            stack.intend(Intent::OutboxEmit { message: vec![1] })?;
            stack.commit_top()?;
            stack.push();
            stack.put(APP, b"dropped", b"3");
            stack.intend(Intent::OutboxEmit { message: vec![2] })?;
            stack.abort_top()?;
            assert_eq!(stack.get(tx, APP, b"kept")?, Some(b"2".to_vec()));
            assert_eq!(stack.get(tx, APP, b"dropped")?, None);
            assert_eq!(stack.intents(), [Intent::OutboxEmit { message: vec![1] }]);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_frame_that_saw_something_else_cannot_be_merged() {
        let mut stack = Stack::new();
        stack
            .root
            .reads
            .insert((APP, b"a".to_vec()), Some(b"1".to_vec()));
        stack.push();
        stack
            .top()
            .reads
            .insert((APP, b"a".to_vec()), Some(b"2".to_vec()));
        assert_eq!(stack.commit_top(), Err(Status::Conflict));
        assert_eq!(stack.depth(), 2);
    }

    #[test]
    fn guards_refuse_what_makes_no_sense_at_this_depth() {
        let mut stack = Stack::new();
        assert_eq!(stack.commit_top(), Err(Status::Busy));
        assert_eq!(stack.abort_top(), Err(Status::Busy));
        stack.push();
        let kv = MemoryKv::new();
        let open = stack.clone();
        assert_eq!(kv.write(move |tx| open.validate(tx)), Err(Status::Busy));
        assert_eq!(kv.write(move |tx| stack.apply(tx)), Err(Status::Busy));
        assert!(
            Stack::new()
                .intend(Intent::OutboxEmit { message: vec![] })
                .is_err()
        );
    }
}
