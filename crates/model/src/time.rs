//! Time is an argument. Nothing below the binary reads a clock by itself.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds on some time line: wall clock (since 1970) or kernel time (since the store was made).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(i64::MAX);

    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// The span from `earlier` to `self`, zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }

    /// Whole seconds, rounded down.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

impl Add<Duration> for Millis {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}

impl Sub<Duration> for Millis {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Where time comes from. The wall clock is for the record and may jump; decisions use the monotonic one.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since 1970, as the host believes.
    fn wall(&self) -> Millis;
    /// Milliseconds since an arbitrary point of this process; never goes back.
    fn monotonic(&self) -> Millis;
}

/// Where randomness comes from.
pub trait Entropy: Send + Sync + fmt::Debug {
    fn fill(&self, bytes: &mut [u8]);
}
