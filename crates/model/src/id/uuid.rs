//! UUID v7, one type per resource of the bench door, so that a runner's id cannot stand where a job's belongs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

use crate::{Entropy, Millis};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a UUID")]
pub struct NotAUuid(String);

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id that sorts by `wall` time.
            pub fn mint(wall: Millis, entropy: &dyn Entropy) -> Self {
                let mut random = [0; 10];
                entropy.fill(&mut random);
                let millis = wall.0.max(0).unsigned_abs();
                Self(Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
            }
        }

        impl FromStr for $name {
            type Err = NotAUuid;
            fn from_str(text: &str) -> Result<Self, NotAUuid> {
                // Only the hyphenated form: it is the one that is stored and compared.
                if text.len() != 36 {
                    return Err(NotAUuid(text.chars().take(64).collect()));
                }
                Uuid::parse_str(text).map(Self).map_err(|_| NotAUuid(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

uuid_ids! {
    AlertUuid,
    BenchmarkUuid,
    BranchUuid,
    HeadUuid,
    JobUuid,
    /// A user's, project's or runner's key.
    KeyUuid,
    MeasureUuid,
    MetricUuid,
    ModelUuid,
    OrganizationUuid,
    PlotUuid,
    ProjectUuid,
    ReportUuid,
    RunnerUuid,
    /// A server as long as it runs; the next start is another.
    ServerUuid,
    SpecUuid,
    TestbedUuid,
    ThresholdUuid,
    UserUuid,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(u8);
    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn ids_are_version_seven_and_sort_by_time() {
        let early = JobUuid::mint(Millis(1_700_000_000_000), &Fixed(0xff));
        let late = JobUuid::mint(Millis(1_700_000_000_001), &Fixed(0));
        assert_eq!(early.0.get_version_num(), 7);
        assert!(early < late);
        assert!(early.to_string() < late.to_string());
    }

    #[test]
    fn only_the_hyphenated_form_parses() {
        let id = JobUuid::mint(Millis(1), &Fixed(7));
        assert_eq!(id.to_string().parse::<JobUuid>().unwrap(), id);
        assert!(id.0.simple().to_string().parse::<JobUuid>().is_err());
        assert!(format!("{{{id}}}").parse::<JobUuid>().is_err());
    }
}
