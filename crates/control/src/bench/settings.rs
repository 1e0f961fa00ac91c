//! The numbers of the bench door, and the settings a run may carry.

use std::str::FromStr;
use std::time::Duration;

use kiln_insight::{Adapter, Average, Fold, Settings};
use kiln_model::v0;

use crate::Denied;
use crate::access::Caller;

/// What a server is configured to do with bench jobs.
#[derive(Clone, Debug)]
pub struct BenchSettings {
    /// How long a runner may be silent.
    pub heartbeat_timeout: Duration,
    /// How much longer than its timeout a job may take.
    pub grace: Duration,
    /// How long pulling and unpacking may take.
    pub set_up: Duration,
    /// The timeout of a job that asks for none, where its plan does not say.
    pub default_timeout: Duration,
    /// How long a job may wait for a runner; `None` is for ever.
    pub pending_expiry: Option<Duration>,
    /// Where runners pull images from.
    pub registry_url: String,
    /// Whether plans decide about priorities, limits and timeouts. Without them every organization is `enterprise`.
    pub plans: bool,
    /// Whether strangers may submit to projects that nobody has.
    pub anonymous_runs: bool,
}

impl BenchSettings {
    /// The defaults of stock servers; the set-up deadline is ours.
    pub fn new(registry_url: String) -> Self {
        Self {
            heartbeat_timeout: Duration::from_secs(90),
            grace: Duration::from_mins(1),
            set_up: Duration::from_mins(10),
            default_timeout: Duration::from_hours(1),
            pending_expiry: None,
            registry_url,
            plans: false,
            anonymous_runs: true,
        }
    }

    /// Whether this server takes anything from the caller at all. A private one wants to know who it is.
    pub fn admits(&self, caller: &Caller) -> Result<(), Denied> {
        if caller.is_anonymous() && !self.anonymous_runs {
            return Err(Denied::Unauthorized);
        }
        Ok(())
    }
}

/// How the output of a run is to be read: checked at submission, so that a typo does not cost a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct RunSettings {
    pub adapter: Adapter,
    pub parse: Settings,
}

impl RunSettings {
    pub fn check(settings: Option<&v0::Settings>) -> Result<Self, Denied> {
        let text = |pick: fn(&v0::Settings) -> &Option<String>| {
            settings.and_then(|settings| pick(settings).as_deref())
        };
        let adapter = settings
            .and_then(|settings| settings.adapter)
            .unwrap_or_default();
        let parse = Settings {
            average: read::<Average>(text(|settings| &settings.average))?,
            fold: read::<Fold>(text(|settings| &settings.fold))?,
        };
        Ok(Self { adapter, parse })
    }
}

fn read<T: FromStr>(text: Option<&str>) -> Result<Option<T>, Denied>
where
    T::Err: std::fmt::Display,
{
    text.map(|text| {
        text.parse()
            .map_err(|error: T::Err| Denied::Invalid(error.to_string()))
    })
    .transpose()
}
