//! Who is told of minutes.

use std::fmt;

use kiln_store::sql::billing_minute::Minute;

/// Where minutes go. A minute may come twice: after a crash, or when nobody heard the answer. Whoever keeps them knows it again
/// by its [`idempotency_key`].
pub trait Sink: Send + Sync + fmt::Debug {
    /// Tells of these minutes, in this order.
    fn deliver(&self, minutes: &[Minute]) -> Delivery;
}

/// How far a delivery came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// What became of each minute, as far as there is an answer.
    pub told: Vec<Told>,
    /// Why there is no answer for the others. It may pass.
    pub trouble: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Taken,
    /// It will not be taken as it is, however often it is tried.
    Refused(String),
}

/// The same minute has the same key, for ever.
pub fn idempotency_key(minute: &Minute) -> String {
    format!("{}:{}", minute.job, minute.minute)
}

/// Nobody wants to know: minutes are counted, and that is all.
#[derive(Clone, Copy, Debug)]
pub struct NoBilling;

impl Sink for NoBilling {
    fn deliver(&self, minutes: &[Minute]) -> Delivery {
        Delivery {
            told: vec![Told::Taken; minutes.len()],
            trouble: None,
        }
    }
}
