//! How servers of tests differ from everybody's.

use std::path::PathBuf;
use std::time::Duration;

use kiln_server::{Billing, JobTimes, Otlp, Releases, ServerConfig, Stripe};
use serde::{Deserialize, Serialize};

use crate::stripe::{METER, SECRET};

/// Short enough to wait for, and long enough for a busy machine.
const IMPATIENT: JobTimes = JobTimes {
    heartbeat_timeout: Duration::from_secs(5),
    grace: Duration::from_secs(1),
    set_up: Duration::from_mins(10),
    pending_expiry: Some(Duration::from_secs(5)),
};
/// Metrics are pushed this often.
const OFTEN: Duration = Duration::from_millis(100);

/// What a server is told beside where its data is. It can be written down for a server in a process of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ways {
    /// Without this it has the times of stock servers, so that slow machines do not matter.
    pub(crate) impatient: bool,
    pub(crate) plans: bool,
    /// Takes nothing from strangers.
    pub(crate) private: bool,
    pub(crate) releases: Option<PathBuf>,
    pub(crate) backups: Option<PathBuf>,
    /// The provider that it bills to.
    pub(crate) stripe: Option<String>,
    /// The collector that it pushes metrics to.
    pub(crate) otlp: Option<String>,
    pub(crate) limits: Option<String>,
    /// Where its objects are.
    pub(crate) objects: Option<String>,
    pub(crate) output_limit: Option<u64>,
}

impl Ways {
    pub(crate) fn of(self, mut config: ServerConfig) -> ServerConfig {
        if let Some(objects) = self.objects {
            config.store.objects = objects;
        }
        let billing = self.stripe.map(|url| {
            Billing::Stripe(Stripe {
                url,
                secret: SECRET.to_owned(),
                meter: METER.to_owned(),
            })
        });
        ServerConfig {
            trusted_proxies: vec![[127, 0, 0, 1].into()],
            times: if self.impatient {
                IMPATIENT
            } else {
                config.times
            },
            plans: self.plans,
            anonymous_runs: !self.private,
            releases: self.releases.map(Releases::Directory),
            backups: self.backups,
            billing: billing.unwrap_or_default(),
            otlp: self.otlp.map(|url| Otlp { url, every: OFTEN }),
            output_limit: self.output_limit.unwrap_or(config.output_limit),
            limits: self
                .limits
                .map_or(config.limits, |limits| limits.parse().unwrap()),
            ..config
        }
    }
}
