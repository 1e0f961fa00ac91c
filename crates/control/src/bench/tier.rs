//! What an organization's plan means for its jobs. On one's own server nobody is throttled: without configured plans every
//! organization is `enterprise`.

use std::time::Duration;

use kiln_model::Priority;
use kiln_model::v0::PlanLevel;
use kiln_store::Query;
use kiln_store::sql::{member, organization};

use crate::Denied;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    Enterprise,
    /// `pro` counts as this.
    Team,
    Free,
    /// An organization without members.
    Unclaimed,
}

/// Both the default and the most.
const FREE_TIMEOUT: Duration = Duration::from_mins(5);
const UNCLAIMED_TIMEOUT: Duration = Duration::from_mins(1);

impl Tier {
    pub const ALL: [Self; 4] = [Self::Enterprise, Self::Team, Self::Free, Self::Unclaimed];

    /// The tier of an organization, where plans are in force.
    pub fn of<Q: Query + ?Sized>(query: &mut Q, organization: i64) -> Result<Self, Denied> {
        if member::count(query, organization)? == 0 {
            return Ok(Self::Unclaimed);
        }
        let found = organization::find(query, organization)?;
        let found = found.ok_or(Denied::NotFound("organization"))?;
        Ok(match found.plan {
            PlanLevel::Free => Self::Free,
            PlanLevel::Pro | PlanLevel::Team => Self::Team,
            PlanLevel::Enterprise => Self::Enterprise,
        })
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Enterprise => "enterprise",
            Self::Team => "team",
            Self::Free => "free",
            Self::Unclaimed => "unclaimed",
        }
    }

    /// Whether somebody pays for what its jobs use.
    pub const fn is_metered(self) -> bool {
        matches!(self, Self::Enterprise | Self::Team)
    }

    /// Fixed at submission; a later change of the plan does not move a job.
    pub const fn priority(self) -> Priority {
        match self {
            Self::Enterprise => Priority::ENTERPRISE,
            Self::Team => Priority::TEAM,
            Self::Free => Priority::FREE,
            Self::Unclaimed => Priority::UNCLAIMED,
        }
    }

    /// The tier whose jobs have this priority.
    pub const fn of_priority(priority: Priority) -> Self {
        match priority.0 {
            300.. => Self::Enterprise,
            200..300 => Self::Team,
            100..200 => Self::Free,
            _ => Self::Unclaimed,
        }
    }

    /// What at most one job in flight may share.
    pub fn limit_key(self, organization: i64, source_address: Option<&str>) -> Option<String> {
        match self {
            Self::Enterprise | Self::Team => None,
            Self::Free => Some(format!("organization:{organization}")),
            Self::Unclaimed => Some(format!("address:{}", source_address.unwrap_or("unknown"))),
        }
    }

    /// How long a job may run that asks for `asked`; `default` is for those that ask for nothing and have no limit.
    pub fn timeout(self, asked: Option<Duration>, default: Duration) -> Duration {
        let most = match self {
            Self::Enterprise | Self::Team => return asked.unwrap_or(default),
            Self::Free => FREE_TIMEOUT,
            Self::Unclaimed => UNCLAIMED_TIMEOUT,
        };
        asked.map_or(most, |asked| asked.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_clamped_by_plan() {
        let seconds = Duration::from_secs;
        for (tier, asked, given) in [
            (Tier::Enterprise, None, 3600),
            (Tier::Team, Some(100_000), 100_000),
            (Tier::Free, None, 300),
            (Tier::Free, Some(100_000), 300),
            (Tier::Free, Some(30), 30),
            (Tier::Unclaimed, None, 60),
            (Tier::Unclaimed, Some(600), 60),
        ] {
            let timeout = tier.timeout(asked.map(seconds), seconds(3600));
            assert_eq!(timeout, seconds(given), "{tier:?}");
        }
    }

    #[test]
    fn only_small_plans_have_a_limit() {
        assert_eq!(Tier::Enterprise.limit_key(7, Some("10.1.2.3")), None);
        assert_eq!(Tier::Team.limit_key(7, Some("10.1.2.3")), None);
        assert_eq!(
            Tier::Free.limit_key(7, Some("10.1.2.3")),
            Some("organization:7".to_owned())
        );
        assert_eq!(
            Tier::Unclaimed.limit_key(7, Some("10.1.2.3")),
            Some("address:10.1.2.3".to_owned())
        );
    }

    #[test]
    fn priorities_and_tiers_are_the_same_thing() {
        for tier in Tier::ALL {
            assert_eq!(Tier::of_priority(tier.priority()), tier);
        }
    }
}
