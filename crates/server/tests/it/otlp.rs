//! Metrics on their way to a collector.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::town::{Town, completed, text};
use crate::towns::on_both_engines_anew;
use crate::ways::Ways;

on_both_engines_anew!(
    collector => metrics_are_pushed_as_the_specification_has_them,
    nobody => a_dead_collector_disturbs_nothing,
);

/// Only there to end a failing test.
const PATIENCE: Duration = Duration::from_secs(30);

/// Takes exports as a collector does: at the path of the specification, as JSON.
async fn export(
    State(tell): State<UnboundedSender<Value>>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, &'static str) {
    assert_eq!(headers["content-type"], "application/json");
    // The test may be over.
    tell.send(serde_json::from_str(&body).unwrap()).ok();
    (StatusCode::OK, "{}")
}

/// What was pushed, and servers that push.
fn collector() -> (Mutex<UnboundedReceiver<Value>>, Ways) {
    let (tell, told) = mpsc::unbounded_channel();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let ways = Ways {
        otlp: Some(format!("http://{}", listener.local_addr().unwrap())),
        ..Ways::default()
    };
    let routes = Router::new()
        .route("/v1/metrics", post(export))
        .with_state(tell);
    let listener = TcpListener::from_std(listener).unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (Mutex::new(told), ways)
}

/// Nobody listens at the address.
fn nobody() -> ((), Ways) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ways = Ways {
        otlp: Some(format!("http://{}", listener.local_addr().unwrap())),
        ..Ways::default()
    };
    ((), ways)
}

async fn run_a_job(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(completed(&job)).await;
    channel.hear().await;
    town.until(&place, &job, "process").await;
}

/// What each server told last, by the name of the server.
#[derive(Default)]
struct Told(BTreeMap<String, Value>);

impl Told {
    fn hear(&mut self, export: Value) {
        let resource = &export["resourceMetrics"][0]["resource"]["attributes"];
        let named = resource.as_array().unwrap();
        let is_kiln = named.contains(&attribute("service.name", "kiln"));
        assert!(is_kiln, "{named:?}");
        let mut named = named.iter();
        let instance = named.find(|named| named["key"] == "service.instance.id");
        let instance = text(&instance.unwrap()["value"]["stringValue"]);
        self.0.insert(instance, export);
    }

    /// As each server that has any tells it.
    fn metrics(&self, name: &str) -> impl Iterator<Item = &Value> {
        let metrics = self.0.values().filter_map(|export| {
            export["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array()
        });
        metrics
            .flatten()
            .filter(move |metric| metric["name"] == name)
    }

    /// Of the servers together, the only point that has the attribute.
    fn only(&self, name: &str, kind: &str, attribute: Option<&Value>) -> Option<&Value> {
        let points = self
            .metrics(name)
            .filter_map(|metric| metric[kind]["dataPoints"].as_array());
        let mut points = points
            .flatten()
            .filter(|point| attribute.is_none_or(|attribute| point["attributes"][0] == *attribute));
        let only = points.next();
        assert_eq!(points.next(), None, "{name} is told twice");
        only
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

async fn metrics_are_pushed_as_the_specification_has_them(
    pushed: &Mutex<UnboundedReceiver<Value>>,
    town: &Town,
) {
    let counting = town.every_door();
    run_a_job(town).await;
    let mut pushed = pushed.lock().await;
    let mut told = Told::default();
    let all_are_heard = async {
        while told.0.len() < counting.len() {
            told.hear(pushed.recv().await.unwrap());
        }
    };
    let heard = tokio::time::timeout(PATIENCE, all_are_heard).await;
    heard.expect("each server tells under a name of its own");
    let (completed, tier) = (
        attribute("job.status", "completed"),
        attribute("priority.tier", "enterprise"),
    );
    let (claimed, updated, queued) = loop {
        told.hear(pushed.recv().await.unwrap());
        let claimed = told.only("runner.job.claim", "sum", None);
        let updated = told.only("runner.job.update", "sum", Some(&completed));
        let queued = told.only("job.queue.duration", "histogram", Some(&tier));
        let processed = told.only("job.complete.duration", "histogram", None);
        if let (Some(claimed), Some(updated), Some(queued), Some(_)) =
            (claimed, updated, queued, processed)
        {
            break (claimed, updated, queued);
        }
    };
    for claims in told.metrics("runner.job.claim") {
        assert_eq!(claims["unit"], "1");
        assert_eq!(claims["sum"]["aggregationTemporality"], 2);
        assert_eq!(claims["sum"]["isMonotonic"], true);
    }
    assert_eq!(
        (&claimed["asInt"], &updated["asInt"]),
        (&json!("1"), &json!("1"))
    );
    let time = |name: &str| claimed[name].as_str().unwrap().parse::<u64>().unwrap();
    let start = time("startTimeUnixNano");
    assert!(start <= time("timeUnixNano"), "{claimed}");
    assert!(start > 1_700_000_000_000_000_000, "{claimed}");
    for queue in told.metrics("job.queue.duration") {
        assert_eq!(queue["unit"], "s");
        assert_eq!(queue["histogram"]["aggregationTemporality"], 2);
    }
    assert_eq!(queued["count"], "1");
    let (bounds, counts) = (&queued["explicitBounds"], &queued["bucketCounts"]);
    let (bounds, counts) = (bounds.as_array().unwrap(), counts.as_array().unwrap());
    assert_eq!(bounds.len() + 1, counts.len());
    let number = |count: &Value| count.as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(counts.iter().map(number).sum::<u64>(), 1);
    for runners in told.metrics("runner.connected") {
        let level = &runners["gauge"]["dataPoints"][0]["asInt"];
        assert!(level.is_string(), "{runners}");
    }
}

async fn a_dead_collector_disturbs_nothing((): &(), town: &Town) {
    run_a_job(town).await;
}
