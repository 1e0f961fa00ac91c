//! How much of something one may do in a minute, an hour and a day. Nothing is limited unless somebody configured it.
//!
//! Counts are kept in memory: a server that starts again begins anew, and each server beside others counts for itself.
//! They protect a server from being swamped; what must hold exactly is a limit of the database.

mod counters;
mod rate;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use kiln_model::Millis;

use crate::Denied;
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
    RunnerConnects,
}

impl Limited {
    pub const ALL: [Self; 9] = [
        Self::AddressRequests,
        Self::AddressAttempts,
        Self::AddressRuns,
        Self::UserRequests,
        Self::UserRuns,
        Self::ProjectRequests,
        Self::ProjectRuns,
        Self::OrganizationRuns,
        Self::RunnerConnects,
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
        }
    }

    /// What stock servers allow. They know no limit for organizations.
    const fn stock(self) -> Option<Rate> {
        match self {
            Self::AddressRequests => Some(Rate::new(1_024, 4_096, 8_192)),
            Self::AddressAttempts => Some(Rate::new(32, 64, 128)),
            Self::AddressRuns => Some(Rate::new(64, 128, 256)),
            Self::UserRequests | Self::ProjectRequests => Some(Rate::new(2_048, 8_192, 16_384)),
            Self::UserRuns | Self::ProjectRuns => Some(Rate::new(64, 1_024, 4_096)),
            Self::OrganizationRuns => None,
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
}

/// Somebody did as much as they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many {}: {allowed} {per} are allowed", limited.what())]
pub struct Exceeded {
    pub limited: Limited,
    pub allowed: u32,
    /// Such as "a minute".
    pub per: &'static str,
    /// After which there is room again.
    pub again: Duration,
}

/// Which rates are configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits(BTreeMap<Limited, Rate>);

impl RateLimits {
    pub fn stock() -> Self {
        let rates = Limited::ALL.map(|limited| Some((limited, limited.stock()?)));
        Self(rates.into_iter().flatten().collect())
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
}

/// `off`, `stock`, or `address-requests=60/600/6000,project-runs=…`.
impl FromStr for RateLimits {
    type Err = NotRateLimits;

    fn from_str(text: &str) -> Result<Self, NotRateLimits> {
        match text.trim() {
            "off" | "" => return Ok(Self::default()),
            "stock" => return Ok(Self::stock()),
            _ => {}
        }
        let mut rates = BTreeMap::new();
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
            let rate: Rate = rate.trim().parse()?;
            rates.insert(limited, rate);
        }
        Ok(Self(rates))
    }
}

impl fmt::Display for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("off");
        }
        for (number, (limited, rate)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{}={rate}", limited.name())?;
        }
        Ok(())
    }
}

/// The rates, and what was done so far.
#[derive(Debug, Default)]
pub struct Limits {
    rates: RateLimits,
    counters: Counters,
}

impl Limits {
    pub fn new(rates: RateLimits) -> Self {
        Self {
            rates,
            counters: Counters::default(),
        }
    }

    pub const fn rates(&self) -> &RateLimits {
        &self.rates
    }

    /// Whether there is room for one more. Has no effect, so that a transaction may ask that has to run again.
    pub fn check(&self, limited: Limited, who: Who, wall: Millis) -> Result<(), Denied> {
        let Some(rate) = self.rates.0.get(&limited) else {
            return Ok(());
        };
        let counts = self.counters.get(limited, who.grouped(), wall);
        match rate.exceeded_by(&counts, wall) {
            Some((allowed, per, again)) => Err(Denied::TooMany(Exceeded {
                limited,
                allowed,
                per,
                again,
            })),
            None => Ok(()),
        }
    }

    pub fn count(&self, limited: Limited, who: Who, wall: Millis) {
        if self.rates.0.contains_key(&limited) {
            self.counters.add(limited, who.grouped(), wall);
        }
    }

    /// Counts one more if there is room. What is refused is not counted.
    pub fn take(&self, limited: Limited, who: Who, wall: Millis) -> Result<(), Denied> {
        self.check(limited, who, wall)?;
        self.count(limited, who, wall);
        Ok(())
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
            Self::Address(IpAddr::V4(_)) | Self::Row(_) => self,
        }
    }
}

#[cfg(test)]
mod tests;
