//! Metrics are pushed to a collector, again and again, whether or not it is there.

use std::time::Duration;

use kiln_model::{Millis, ServerUuid};
use reqwest::header::CONTENT_TYPE;
use tokio_util::sync::CancellationToken;

use crate::app::Shared;
use crate::metrics::otlp::{Period, Teller, request};

/// How long a collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest rest after failures.
const MAX_BACKOFF: Duration = Duration::from_mins(5);
const PATH: &str = "/v1/metrics";

/// Where metrics are pushed to, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otlp {
    /// Such as `http://collector:4318`.
    pub url: String,
    pub every: Duration,
}

impl Otlp {
    /// As often as collectors expect it.
    pub const EVERY: Duration = Duration::from_mins(1);

    /// The path of the specification, unless it is there.
    fn place(&self) -> String {
        let base = self.url.trim_end_matches('/');
        let base = base.strip_suffix(PATH).unwrap_or(base);
        format!("{base}{PATH}")
    }
}

/// Pushes until the server stops. Nothing waits for it, and what it cannot push it pushes with the next.
pub(crate) async fn push(app: Shared, otlp: Otlp, stop: CancellationToken) {
    let http = match reqwest::Client::builder().timeout(TIMEOUT).build() {
        Ok(http) => http,
        Err(error) => {
            tracing::error!(%error, "metrics cannot be pushed");
            return;
        }
    };
    let (place, start) = (otlp.place(), app.wall());
    let teller = Teller {
        server: ServerUuid::mint(start, &*app.entropy),
        public_url: app.public_url.clone(),
    };
    let mut failures = 0;
    loop {
        tokio::select! {
            () = tokio::time::sleep(rest(otlp.every, failures)) => {}
            () = stop.cancelled() => return,
        }
        let pushed = tokio::select! {
            pushed = push_once(&app, &http, (&place, &teller), start) => pushed,
            () = stop.cancelled() => return,
        };
        match pushed {
            Ok(()) if failures > 0 => {
                tracing::info!(place, "metrics are pushed again");
                failures = 0;
            }
            Ok(()) => {}
            Err(error) => {
                // One line for each silence, not for each push.
                if failures == 0 {
                    tracing::warn!(place, error, "metrics are not taken; trying again");
                }
                failures += 1;
            }
        }
    }
}

async fn push_once(
    app: &Shared,
    http: &reqwest::Client,
    (place, teller): (&str, &Teller),
    start: Millis,
) -> Result<(), String> {
    let families = app.metrics.read(app.channels.count());
    let period = Period {
        start,
        end: app.wall(),
    };
    let body = request(&families, period, teller).to_string();
    let answer = http
        .post(place)
        .header(CONTENT_TYPE, "application/json")
        .body(body)
        .send()
        .await
        .map_err(|error| error.to_string())?;
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(answer.status().to_string())
    }
}

fn rest(every: Duration, failures: u32) -> Duration {
    let doubled = every.saturating_mul(1 << failures.min(16));
    doubled.min(MAX_BACKOFF.max(every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_once() {
        for url in [
            "http://c:4318",
            "http://c:4318/",
            "http://c:4318/v1/metrics",
        ] {
            let url = url.to_owned();
            let every = Otlp::EVERY;
            assert_eq!(Otlp { url, every }.place(), "http://c:4318/v1/metrics");
        }
    }

    #[test]
    fn failures_make_the_rest_longer_up_to_a_bound() {
        let seconds = Duration::from_secs;
        assert_eq!(rest(seconds(60), 0), seconds(60));
        assert_eq!(rest(seconds(60), 1), seconds(120));
        assert_eq!(rest(seconds(60), 40), MAX_BACKOFF);
        assert_eq!(rest(seconds(600), 3), seconds(600));
    }
}
