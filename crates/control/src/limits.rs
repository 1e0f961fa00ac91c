//! How much of something one may do in a minute, an hour and a day. Nothing is limited unless somebody configured it.
//!
//! Counts are kept in memory: a server that starts again forgets all of them, also the bytes of the day, and each server
//! beside others counts for itself. They protect a server from being swamped; what must hold exactly is a limit of the database.

mod bandwidth;
mod counters;
mod rate;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use kiln_model::Millis;

use crate::Denied;
use crate::bench::Tier;
use bandwidth::Moved;
pub use bandwidth::{Bandwidth, NotABandwidth};
use counters::Counters;
pub use rate::{NotARate, Rate};

/// What is counted, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limited {
    /// Requests of somebody unknown, by address.
    AddressRequests,
    /// Requests with wrong credentials, by address.
    AddressAttempts,
    AddressRuns,
    UserRequests,
    UserRuns,
    /// Requests with a project's key.
    ProjectRequests,
    ProjectRuns,
    OrganizationRuns,
    /// Channels that are opened, and claims by long poll.
    RunnerConnects,
    /// Bytes of an organization that are pushed and pulled.
    RegistryBytes,
}

impl Limited {
    pub const ALL: [Self; 10] = [
        Self::AddressRequests,
        Self::AddressAttempts,
        Self::AddressRuns,
        Self::UserRequests,
        Self::UserRuns,
        Self::ProjectRequests,
        Self::ProjectRuns,
        Self::OrganizationRuns,
        Self::RunnerConnects,
        Self::RegistryBytes,
    ];

    /// As it stands in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AddressRequests => "address-requests",
            Self::AddressAttempts => "address-attempts",
            Self::AddressRuns => "address-runs",
            Self::UserRequests => "user-requests",
            Self::UserRuns => "user-runs",
            Self::ProjectRequests => "project-requests",
            Self::ProjectRuns => "project-runs",
            Self::OrganizationRuns => "organization-runs",
            Self::RunnerConnects => "runner-connects",
            Self::RegistryBytes => "registry-bytes",
        }
    }

    const fn what(self) -> &'static str {
        match self {
            Self::AddressRequests => "requests from this address",
            Self::AddressAttempts => "requests with wrong credentials from this address",
            Self::AddressRuns => "runs from this address",
            Self::UserRequests => "requests of this user",
            Self::UserRuns => "runs of this user",
            Self::ProjectRequests => "requests with keys of this project",
            Self::ProjectRuns => "runs in this project",
            Self::OrganizationRuns => "runs in this organization",
            Self::RunnerConnects => "connections of this runner",
            Self::RegistryBytes => "bytes that this organization pushed and pulled",
        }
    }

    /// What stock servers allow. They know no limit for the runs of organizations; bytes are no rate.
    const fn stock(self) -> Option<Rate> {
        match self {
            Self::AddressRequests => Some(Rate::new(1_024, 4_096, 8_192)),
            Self::AddressAttempts => Some(Rate::new(32, 64, 128)),
            Self::AddressRuns => Some(Rate::new(64, 128, 256)),
            Self::UserRequests | Self::ProjectRequests => Some(Rate::new(2_048, 8_192, 16_384)),
            Self::UserRuns | Self::ProjectRuns => Some(Rate::new(64, 1_024, 4_096)),
            Self::OrganizationRuns | Self::RegistryBytes => None,
            Self::RunnerConnects => Some(Rate::new(16, 256, 4_096)),
        }
    }
}

/// Whose count it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    Address(IpAddr),
    /// Of a row: a person, a project, an organization, a runner.
    Row(i64),
    /// Of one slot of a runner: each has as many connections as a runner without slots.
    Slot(i64, u32),
}

/// Somebody did as much as they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many {}: {allowed} {per} are allowed", limited.what())]
pub struct Exceeded {
    pub limited: Limited,
    pub allowed: u64,
    /// Such as "a minute".
    pub per: &'static str,
    /// After which there is room again.
    pub again: Duration,
}

/// Which rates are configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    rates: BTreeMap<Limited, Rate>,
    bandwidth: Option<Bandwidth>,
}

impl RateLimits {
    pub fn stock() -> Self {
        let rates = Limited::ALL.map(|limited| Some((limited, limited.stock()?)));
        Self {
            rates: rates.into_iter().flatten().collect(),
            bandwidth: Some(Bandwidth::STOCK),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRateLimits {
    #[error("{name:?} is not one of {}", Limited::ALL.map(Limited::name).join(", "))]
    Name { name: String },
    #[error("{0:?} is not a name and a rate with `=` between")]
    Pair(String),
    #[error(transparent)]
    Rate(#[from] NotARate),
    #[error(transparent)]
    Bandwidth(#[from] NotABandwidth),
}

/// `off`, `stock`, or `address-requests=60/600/6000,project-runs=…,registry-bytes=…`.
impl FromStr for RateLimits {
    type Err = NotRateLimits;

    fn from_str(text: &str) -> Result<Self, NotRateLimits> {
        match text.trim() {
            "off" | "" => return Ok(Self::default()),
            "stock" => return Ok(Self::stock()),
            _ => {}
        }
        let mut limits = Self::default();
        for part in text.split(',').map(str::trim) {
            let (name, rate) = part
                .split_once('=')
                .ok_or_else(|| NotRateLimits::Pair(part.to_owned()))?;
            let limited = Limited::ALL
                .into_iter()
                .find(|limited| limited.name() == name.trim())
                .ok_or_else(|| NotRateLimits::Name {
                    name: name.trim().to_owned(),
                })?;
            if limited == Limited::RegistryBytes {
                limits.bandwidth = Some(rate.trim().parse()?);
            } else {
                limits.rates.insert(limited, rate.trim().parse()?);
            }
        }
        Ok(limits)
    }
}

impl fmt::Display for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = self.rates.iter();
        let rates = rates.map(|(limited, rate)| format!("{}={rate}", limited.name()));
        let name = Limited::RegistryBytes.name();
        let bytes = self.bandwidth.map(|bytes| format!("{name}={bytes}"));
        let all: Vec<String> = rates.chain(bytes).collect();
        if all.is_empty() {
            return f.write_str("off");
        }
        f.write_str(&all.join(","))
    }
}

/// The rates, and what was done so far.
#[derive(Debug, Default)]
pub struct Limits {
    rates: RateLimits,
    counters: Counters,
    moved: Moved,
}

impl Limits {
    pub fn new(rates: RateLimits) -> Self {
        Self {
            rates,
            counters: Counters::default(),
            moved: Moved::default(),
        }
    }

    pub const fn rates(&self) -> &RateLimits {
        &self.rates
    }

    /// Whether there is room for one more. Has no effect, so that a transaction may ask that has to run again.
    pub fn check(&self, limited: Limited, who: Who, wall: Millis) -> Result<(), Denied> {
        let Some(rate) = self.rates.rates.get(&limited) else {
            return Ok(());
        };
        let counts = self.counters.get(limited, who.grouped(), wall);
        match rate.exceeded_by(&counts, wall) {
            Some((allowed, per, again)) => Err(Denied::TooMany(Exceeded {
                limited,
                allowed: u64::from(allowed),
                per,
                again,
            })),
            None => Ok(()),
        }
    }

    pub fn count(&self, limited: Limited, who: Who, wall: Millis) {
        if self.rates.rates.contains_key(&limited) {
            self.counters.add(limited, who.grouped(), wall);
        }
    }

    /// Counts one more if there is room. What is refused is not counted.
    pub fn take(&self, limited: Limited, who: Who, wall: Millis) -> Result<(), Denied> {
        self.check(limited, who, wall)?;
        self.count(limited, who, wall);
        Ok(())
    }

    /// Whether bytes are worth counting.
    pub const fn has_bandwidth(&self) -> bool {
        self.rates.bandwidth.is_some()
    }

    /// Whether an organization may move more bytes today. What is under way is not cut off.
    pub fn check_bytes(&self, organization: i64, tier: Tier, wall: Millis) -> Result<(), Denied> {
        let Some(bandwidth) = self.rates.bandwidth else {
            return Ok(());
        };
        let allowed = bandwidth.of(tier);
        if self.moved.get(organization, wall) < allowed {
            return Ok(());
        }
        Err(Denied::TooMany(Exceeded {
            limited: Limited::RegistryBytes,
            allowed,
            per: "a day",
            again: bandwidth::rest_of_day(wall),
        }))
    }

    pub fn count_bytes(&self, organization: i64, bytes: u64, wall: Millis) {
        self.moved.add(organization, bytes, wall);
    }
}

impl Who {
    /// Whoever has one address of the newer kind has 2^64 of them.
    fn grouped(self) -> Self {
        match self {
            Self::Address(IpAddr::V6(address)) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                Self::Address(IpAddr::V6(network.into()))
            }
            Self::Address(IpAddr::V4(_)) | Self::Row(_) | Self::Slot(..) => self,
        }
    }
}

#[cfg(test)]
mod tests;
