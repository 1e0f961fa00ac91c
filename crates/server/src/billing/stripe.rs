//! Minutes as meter events of Stripe, or of whoever takes the same: one `POST /v1/billing/meter_events` each, a form with the
//! minute's key as `identifier` and as `Idempotency-Key`.

use std::fmt;
use std::time::Duration;

use kiln_control::billing::{Delivery, Sink, Told, idempotency_key};
use kiln_store::sql::billing_minute::Minute;
use reqwest::header::{CONTENT_TYPE, HeaderName};
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// Longer than a healthy provider takes.
const TIMEOUT: Duration = Duration::from_secs(20);
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Where meter events go.
#[derive(Clone, PartialEq, Eq)]
pub struct Stripe {
    /// Such as `https://api.stripe.com`.
    pub url: String,
    pub secret: String,
    /// The name of the meter.
    pub meter: String,
}

impl fmt::Debug for Stripe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stripe")
            .field("url", &self.url)
            .field("meter", &self.meter)
            .finish_non_exhaustive()
    }
}

impl Stripe {
    pub(super) fn connect(
        &self,
        handle: Handle,
        stop: CancellationToken,
    ) -> Result<Meter, reqwest::Error> {
        // The secret goes to the host that was named and to no other.
        let http = Client::builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let url = format!("{}/v1/billing/meter_events", self.url.trim_end_matches('/'));
        Ok(Meter {
            stripe: self.clone(),
            url,
            http,
            handle,
            stop,
        })
    }
}

/// The connection to a meter.
pub(super) struct Meter {
    stripe: Stripe,
    url: String,
    http: Client,
    handle: Handle,
    stop: CancellationToken,
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stripe.fmt(f)
    }
}

impl Sink for Meter {
    fn deliver(&self, minutes: &[Minute]) -> Delivery {
        let mut delivery = Delivery::default();
        self.handle.block_on(async {
            for minute in minutes {
                let told = tokio::select! {
                    told = self.tell(minute) => told,
                    () = self.stop.cancelled() => Err("the server stops".to_owned()),
                };
                match told {
                    Ok(told) => delivery.told.push(told),
                    Err(trouble) => {
                        delivery.trouble = Some(trouble);
                        return;
                    }
                }
            }
        });
        delivery
    }
}

/// What Stripe answers when it does not do it.
#[derive(Deserialize)]
struct Refusal {
    error: Reason,
}

#[derive(Deserialize)]
struct Reason {
    #[serde(default)]
    message: String,
}

impl Meter {
    /// Trouble that may pass is an error; a refusal is an answer.
    async fn tell(&self, minute: &Minute) -> Result<Told, String> {
        let key = idempotency_key(minute);
        let answer = self
            .http
            .post(&self.url)
            .bearer_auth(&self.stripe.secret)
            .header(IDEMPOTENCY_KEY, &key)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form(&self.stripe.meter, minute, &key))
            .send()
            .await
            .map_err(|error| error.without_url().to_string())?;
        let status = answer.status();
        if status.is_success() {
            return Ok(Told::Taken);
        }
        let body = answer.bytes().await.unwrap_or_default();
        let reason = serde_json::from_slice::<Refusal>(&body)
            .map(|refusal| refusal.error.message)
            .unwrap_or_default();
        let text = format!("{status}: {reason}");
        match status {
            // The key was forgotten since, the event was not.
            StatusCode::BAD_REQUEST if reason.contains("already exists with identifier") => {
                Ok(Told::Taken)
            }
            StatusCode::BAD_REQUEST
            | StatusCode::PAYMENT_REQUIRED
            | StatusCode::UNPROCESSABLE_ENTITY => Ok(Told::Refused(text)),
            // A wrong secret, a wrong address, too many requests, a bad day: none of it is the minute's fault.
            _ => Err(text),
        }
    }
}

/// The body. An organization that the provider does not know by a name of its own is called by its UUID.
fn form(meter: &str, minute: &Minute, key: &str) -> String {
    let customer = minute.customer.as_ref().unwrap_or(&minute.organization);
    let timestamp = minute.begun.as_secs().to_string();
    let fields = [
        ("event_name", meter),
        ("identifier", key),
        ("timestamp", &timestamp),
        ("payload[stripe_customer_id]", customer),
        ("payload[value]", "1"),
    ];
    // A query is a form.
    let mut url = Url::parse("http://form/").expect("a URL");
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}
