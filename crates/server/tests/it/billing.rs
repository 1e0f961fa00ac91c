//! Runner minutes on their way to a payment provider.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stripe::{CUSTOMER, Stripe};
use crate::town::{Town, completed, text};
use crate::towns::on_both_engines_anew;
use crate::ways::Ways;

on_both_engines_anew!(
    || provider(&[429, 500]) => a_minute_is_told_until_it_is_taken,
    || provider(&[]) => a_refused_minute_is_a_dead_letter_with_its_reason,
);

/// A provider, and servers that bill to it.
fn provider(bad_days: &[u16]) -> (Stripe, Ways) {
    let stripe = Stripe::start(bad_days);
    let ways = Ways {
        stripe: Some(stripe.url.clone()),
        ..Ways::default()
    };
    (stripe, ways)
}

async fn run_a_job(town: &Town) -> String {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(completed(&job)).await;
    channel.hear().await;
    town.until(&place, &job, "process").await;
    job
}

/// The administrator's own, to which the projects of these tests belong.
async fn organization(town: &Town) -> String {
    let listed = town.get("/v0/organizations").await;
    text(&listed.body[0]["uuid"])
}

async fn set_customer(town: &Town, organization: &str) {
    let path = format!("/v0/organizations/{organization}/plan");
    let body = Some(json!({"customer": CUSTOMER}));
    let set = town
        .send(reqwest::Method::PATCH, &path, Some(&town.admin), body)
        .await;
    assert_eq!(set.status, 200, "{set:?}");
    assert_eq!(set.body["customer"], CUSTOMER);
}

/// A provider that has too much to do, and then a bad day, is asked again until it takes the minute.
async fn a_minute_is_told_until_it_is_taken(stripe: &Stripe, town: &Town) {
    set_customer(town, &organization(town).await).await;
    let job = run_a_job(town).await;
    for status in [429, 500, 200] {
        let told = stripe.hear(&job).await;
        assert_eq!(told.status, status, "{told:?}");
        assert_eq!(told.identifier, format!("{job}:1"));
        assert_eq!(told.customer, CUSTOMER);
    }
    assert_eq!(stripe.taken().len(), 1);
    let usage = format!("/v0/organizations/{}/usage", organization(town).await);
    let usage = async |query: &str| town.get(&format!("{usage}{query}")).await;
    let this_month = usage("").await.body;
    assert_eq!(this_month["kind"], "self_hosted_licensed");
    assert_eq!(this_month["plan"]["customer"], CUSTOMER);
    let long_ago = usage("?start_time=0&end_time=1").await.body;
    for (field, now) in [("runner_minutes", 1), ("metrics", 1), ("active_series", 1)] {
        assert_eq!(this_month[field], now, "{field}");
        assert_eq!(long_ago[field], 0, "{field}");
    }
    assert_eq!(usage("?start_time=2&end_time=1").await.status, 400);
}

/// What a provider refuses for good is a dead letter that says why, and can be replayed once that is mended.
async fn a_refused_minute_is_a_dead_letter_with_its_reason(stripe: &Stripe, town: &Town) {
    let organization = organization(town).await;
    let job = run_a_job(town).await;
    for _ in 0..2 {
        let told = stripe.hear(&job).await;
        assert_eq!((told.status, told.customer), (400, organization.clone()));
    }
    let letter = tokio::time::timeout(Duration::from_mins(1), dead_letter(town));
    let letter = letter.await.unwrap();
    let frame = kiln_kernel::hex::decode(&text(&letter["frame"])).unwrap();
    let frame = String::from_utf8_lossy(&frame);
    assert!(frame.contains("No such customer"), "{frame}");
    set_customer(town, &organization).await;
    let (worker, sequence) = (&letter["worker"], &letter["seq"]);
    let path = format!("/v0/server/kernel/dead-letters/{worker}/{sequence}/replay");
    assert_eq!(town.post(&path, Value::Null).await.status, 200);
    assert_eq!(stripe.hear(&job).await.status, 200);
}

async fn dead_letter(town: &Town) -> Value {
    loop {
        let letters = town.get("/v0/server/kernel/dead-letters").await.body;
        if let Some(letter) = letters.get(0) {
            return letter.clone();
        }
    }
}
