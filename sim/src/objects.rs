//! Where outputs come to rest: a map that outlives every server, and now and then does not answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kiln_control::tasks::Objects;
use kiln_model::Digest;
use kiln_store::{Error, ObjectErrorKind, ObjectKey};

#[derive(Debug, Default)]
pub(crate) struct SimObjects {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bodies: BTreeMap<String, Vec<u8>>,
    failures: u32,
}

impl SimObjects {
    /// The next `count` writes fail.
    pub(crate) fn fail_next(&self, count: u32) {
        self.lock().failures = count;
    }

    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.lock().bodies.get(key).cloned()
    }

    pub(crate) fn put(&self, key: &ObjectKey, body: Vec<u8>) -> Result<(), Error> {
        let mut state = self.lock();
        if state.failures > 0 {
            state.failures -= 1;
            return Err(Error::Object {
                kind: ObjectErrorKind::Io,
                message: "the object store does not answer".to_owned(),
            });
        }
        state.bodies.insert(key.to_string(), body);
        Ok(())
    }

    /// Whether some object has exactly these bytes.
    pub(crate) fn has_body(&self, bytes: &[u8]) -> bool {
        self.lock().bodies.values().any(|body| body == bytes)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objects for SimObjects {
    fn get(&self, key: &ObjectKey, _: &Digest) -> Result<Vec<u8>, Error> {
        let body = self.lock().bodies.get(key.as_str()).cloned();
        body.ok_or_else(|| Error::Object {
            kind: ObjectErrorKind::NotFound,
            message: format!("there is no {key}"),
        })
    }
}
