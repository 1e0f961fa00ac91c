//! The store as it is: every row of the kernel, and the marks that handlers left.

use std::collections::BTreeMap;

use kiln_kernel::records::{DeadLetter, RetryCount};
use kiln_kernel::{Dbi, InboxKey, MessageView, Status, TimerKey};
use kiln_model::Millis;
use kiln_store::{Error, Query};

/// Where handlers leave their marks: the first database that is not the kernel's.
pub(super) const EFFECTS: Dbi = Dbi(7);

#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) inbox: Vec<(InboxKey, Vec<u8>)>,
    pub(super) timers: Vec<(TimerKey, Vec<u8>)>,
    pub(super) dead: Vec<(InboxKey, DeadLetter)>,
    pub(super) leases: Vec<Vec<u8>>,
    pub(super) failures: BTreeMap<String, u32>,
    pub(super) effects: BTreeMap<String, Vec<Effect>>,
    /// In how many places each message waits: as a row, a timer or a dead letter.
    places: BTreeMap<String, usize>,
}

/// That a handler's second half was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) order: u64,
    pub(super) at: Millis,
    pub(super) due: Option<Millis>,
}

impl Content {
    pub(super) fn read(query: &mut dyn Query) -> Result<Self, Error> {
        let mut content = Self::default();
        let rows = query.query("SELECT dbi, key, value FROM kernel ORDER BY dbi, key", &[])?;
        for row in rows {
            content
                .take(Dbi(row.get(0)?), row.get(1)?, row.get(2)?)
                .map_err(|status| Error::Corrupt {
                    what: status.to_string(),
                })?;
        }
        let rows = content.inbox.iter().map(|(_, frame)| frame);
        let timers = content.timers.iter().map(|(_, frame)| frame);
        let dead = content.dead.iter().map(|(_, letter)| &letter.frame);
        for id in rows
            .chain(timers)
            .chain(dead)
            .filter_map(|frame| id_of(frame))
        {
            *content.places.entry(id).or_default() += 1;
        }
        Ok(content)
    }

    fn take(&mut self, dbi: Dbi, key: Vec<u8>, value: Vec<u8>) -> Result<(), Status> {
        match dbi {
            Dbi::INBOX => self.inbox.push((InboxKey::decode(&key)?, value)),
            Dbi::TIMERS => self.timers.push((TimerKey::decode(&key)?, value)),
            Dbi::DEAD_LETTER => {
                let letter = DeadLetter::decode(&value)?;
                self.dead.push((InboxKey::decode(&key)?, letter));
            }
            Dbi::LEASES => self.leases.push(key),
            Dbi::DEDUPE => {
                if let Some(id) = key.strip_prefix(b"retry:") {
                    let count = RetryCount::decode(&value)?;
                    self.failures.insert(text(id), count.0);
                }
            }
            EFFECTS => {
                let id = key.rsplitn(2, |byte| *byte == b'#').last().unwrap_or(&[]);
                let effects = self.effects.entry(text(id)).or_default();
                effects.push(Effect::decode(&value)?);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn places(&self, id: &str) -> usize {
        self.places.get(id).copied().unwrap_or_default()
    }

    /// How many dead letters a message has.
    pub(super) fn letters(&self, id: &str) -> usize {
        let letters = self.dead.iter().map(|(_, letter)| letter);
        letters
            .filter(|letter| id_of(&letter.frame).as_deref() == Some(id))
            .count()
    }

    pub(super) fn effects_of(&self, id: &str) -> &[Effect] {
        self.effects.get(id).map_or(&[], Vec::as_slice)
    }
}

impl Effect {
    pub(super) fn key(id: &str, number: usize) -> Vec<u8> {
        format!("{id}#{number}").into_bytes()
    }

    pub(super) fn is_of(key: &[u8], id: &str) -> bool {
        key.strip_prefix(id.as_bytes())
            .is_some_and(|rest| rest.starts_with(b"#"))
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let due = self.due.map_or(i64::MIN, |due| due.0);
        [
            self.order.to_le_bytes(),
            self.at.0.to_le_bytes(),
            due.to_le_bytes(),
        ]
        .concat()
    }

    fn decode(bytes: &[u8]) -> Result<Self, Status> {
        let number = |at: usize| {
            let bytes = bytes
                .get(at..at + 8)
                .and_then(|slice| slice.try_into().ok());
            bytes.ok_or_else(|| Status::Corrupt("an effect has 24 bytes".into()))
        };
        let due = i64::from_le_bytes(number(16)?);
        Ok(Self {
            order: u64::from_le_bytes(number(0)?),
            at: Millis(i64::from_le_bytes(number(8)?)),
            due: (due != i64::MIN).then_some(Millis(due)),
        })
    }
}

pub(super) fn id_of(frame: &[u8]) -> Option<String> {
    MessageView::decode(frame).ok().map(|view| text(view.id))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
