//! Limits of `setrlimit`, which each process of a command has for itself.

use std::fmt;
use std::str::FromStr;

use kiln_guest_init::protocol::{ResourceLimit, UNLIMITED};

/// What is limited, in the units of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    CpuSeconds,
    FileBytes,
    DataBytes,
    StackBytes,
    CoreBytes,
    ResidentBytes,
    Processes,
    OpenFiles,
    LockedBytes,
    AddressSpaceBytes,
    Locks,
    PendingSignals,
    QueueBytes,
    Nice,
    RealTimePriority,
    RealTimeMicros,
}

/// In the order of their numbers, with the names that shells and container engines have for them.
const RESOURCES: [(Resource, &str); 16] = [
    (Resource::CpuSeconds, "cpu"),
    (Resource::FileBytes, "fsize"),
    (Resource::DataBytes, "data"),
    (Resource::StackBytes, "stack"),
    (Resource::CoreBytes, "core"),
    (Resource::ResidentBytes, "rss"),
    (Resource::Processes, "nproc"),
    (Resource::OpenFiles, "nofile"),
    (Resource::LockedBytes, "memlock"),
    (Resource::AddressSpaceBytes, "as"),
    (Resource::Locks, "locks"),
    (Resource::PendingSignals, "sigpending"),
    (Resource::QueueBytes, "msgqueue"),
    (Resource::Nice, "nice"),
    (Resource::RealTimePriority, "rtprio"),
    (Resource::RealTimeMicros, "rttime"),
];

impl Resource {
    /// The number Linux gives it.
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::CpuSeconds => 0,
            Self::FileBytes => 1,
            Self::DataBytes => 2,
            Self::StackBytes => 3,
            Self::CoreBytes => 4,
            Self::ResidentBytes => 5,
            Self::Processes => 6,
            Self::OpenFiles => 7,
            Self::LockedBytes => 8,
            Self::AddressSpaceBytes => 9,
            Self::Locks => 10,
            Self::PendingSignals => 11,
            Self::QueueBytes => 12,
            Self::Nice => 13,
            Self::RealTimePriority => 14,
            Self::RealTimeMicros => 15,
        }
    }
}

/// One limit that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceBound {
    pub resource: Resource,
    pub soft: u64,
    /// How far the command may raise it.
    pub hard: u64,
}

impl ResourceBound {
    pub const fn new(resource: Resource, value: u64) -> Self {
        Self {
            resource,
            soft: value,
            hard: value,
        }
    }

    pub(crate) const fn message(self) -> ResourceLimit {
        ResourceLimit {
            resource: self.resource.number(),
            soft: self.soft,
            hard: self.hard,
        }
    }
}

/// Why a text is no limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotABound {
    #[error("it is not NAME=SOFT or NAME=SOFT:HARD")]
    Form,
    #[error("there is no {name:?}; there are {}", Names)]
    Name { name: String },
    #[error("{value:?} is neither a whole number nor -1 for unlimited")]
    Value { value: String },
    #[error("the soft limit is above the hard one")]
    Order,
}

/// All of them, for people.
struct Names;

impl fmt::Display for Names {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = RESOURCES.iter().map(|(_, name)| *name).collect();
        formatter.write_str(&names.join(", "))
    }
}

impl FromStr for ResourceBound {
    type Err = NotABound;

    /// `NAME=SOFT[:HARD]`, as container engines take it.
    fn from_str(text: &str) -> Result<Self, NotABound> {
        let (name, values) = text.split_once('=').ok_or(NotABound::Form)?;
        let known = RESOURCES.iter().find(|(_, known)| *known == name);
        let (resource, _) = known.ok_or_else(|| NotABound::Name {
            name: name.to_owned(),
        })?;
        let (soft, hard) = match values.split_once(':') {
            Some((soft, hard)) => (value(soft)?, value(hard)?),
            None => (value(values)?, value(values)?),
        };
        if soft > hard {
            return Err(NotABound::Order);
        }
        Ok(Self {
            resource: *resource,
            soft,
            hard,
        })
    }
}

fn value(text: &str) -> Result<u64, NotABound> {
    if text == "-1" {
        return Ok(UNLIMITED);
    }
    text.parse().map_err(|_| NotABound::Value {
        value: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Resource, u64, u64), NotABound> {
        let bound: ResourceBound = text.parse()?;
        Ok((bound.resource, bound.soft, bound.hard))
    }

    #[test]
    fn limits_are_read_as_container_engines_write_them() {
        assert_eq!(read("nofile=1024"), Ok((Resource::OpenFiles, 1024, 1024)));
        assert_eq!(read("stack=8:16"), Ok((Resource::StackBytes, 8, 16)));
        assert_eq!(
            read("memlock=7:-1"),
            Ok((Resource::LockedBytes, 7, u64::MAX))
        );
    }

    #[test]
    fn what_is_no_limit_says_why() {
        assert_eq!(read("nofile"), Err(NotABound::Form));
        assert_eq!(read("core=2:1"), Err(NotABound::Order));
        assert_eq!(read("core=-1:1"), Err(NotABound::Order));
        for value in ["", "x", "-2", "1k"] {
            let refused = read(&format!("core={value}"));
            assert!(matches!(refused, Err(NotABound::Value { .. })), "{value}");
        }
        let told = read("files=1").unwrap_err().to_string();
        assert!(told.contains("nofile, memlock"), "{told}");
    }

    #[test]
    fn names_and_numbers_are_in_the_same_order() {
        for (number, (resource, _)) in (0..).zip(RESOURCES) {
            assert_eq!(resource.number(), number);
        }
    }
}
