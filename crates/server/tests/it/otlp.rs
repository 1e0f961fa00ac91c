//! Metrics on their way to a collector.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use kiln_server::{Otlp, ServerConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::town::{Engine, Town, completed};

const OFTEN: Duration = Duration::from_millis(100);

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

fn server(engine: Engine, url: String) -> Town {
    Town::start_with(engine, move |config| ServerConfig {
        otlp: Some(Otlp { url, every: OFTEN }),
        ..config
    })
}

async fn run_a_job(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(completed(&job)).await;
    channel.hear().await;
    town.until(&place, &job, "process").await;
}

fn metric<'a>(export: &'a Value, name: &str) -> Option<&'a Value> {
    let metrics = export["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array()?;
    metrics.iter().find(|metric| metric["name"] == name)
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

async fn metrics_are_pushed_as_the_specification_has_them(engine: Engine) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, mut told) = mpsc::unbounded_channel();
    let routes = Router::new()
        .route("/v1/metrics", post(export))
        .with_state(tell);
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    let town = server(engine, url);
    run_a_job(&town).await;
    let export = loop {
        let export = told.recv().await.unwrap();
        if metric(&export, "job.complete.duration").is_some() {
            break export;
        }
    };
    let resource = &export["resourceMetrics"][0]["resource"]["attributes"];
    let named = resource.as_array().unwrap();
    assert!(
        named.contains(&attribute("service.name", "kiln")),
        "{named:?}"
    );
    let claims = metric(&export, "runner.job.claim").unwrap();
    assert_eq!(claims["unit"], "1");
    assert_eq!(claims["sum"]["aggregationTemporality"], 2);
    assert_eq!(claims["sum"]["isMonotonic"], true);
    let point = &claims["sum"]["dataPoints"][0];
    assert_eq!(point["asInt"], "1");
    let time = |name: &str| point[name].as_str().unwrap().parse::<u64>().unwrap();
    assert!(time("startTimeUnixNano") <= time("timeUnixNano"), "{point}");
    assert!(
        time("startTimeUnixNano") > 1_700_000_000_000_000_000,
        "{point}"
    );
    let updates = &metric(&export, "runner.job.update").unwrap()["sum"]["dataPoints"];
    let is_completed =
        |point: &&Value| point["attributes"][0] == attribute("job.status", "completed");
    let points = updates.as_array().unwrap();
    assert_eq!(points.iter().filter(is_completed).count(), 1, "{points:?}");
    let queue = metric(&export, "job.queue.duration").unwrap();
    assert_eq!(queue["unit"], "s");
    assert_eq!(queue["histogram"]["aggregationTemporality"], 2);
    let point = &queue["histogram"]["dataPoints"][0];
    assert_eq!(
        point["attributes"][0],
        attribute("priority.tier", "enterprise")
    );
    assert_eq!(point["count"], "1");
    let (bounds, counts) = (&point["explicitBounds"], &point["bucketCounts"]);
    let (bounds, counts) = (bounds.as_array().unwrap(), counts.as_array().unwrap());
    assert_eq!(bounds.len() + 1, counts.len());
    let number = |count: &Value| count.as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(counts.iter().map(number).sum::<u64>(), 1);
    let runners = metric(&export, "runner.connected").unwrap();
    assert!(
        runners["gauge"]["dataPoints"][0]["asInt"].is_string(),
        "{runners}"
    );
}

/// Nobody listens at the address.
async fn a_dead_collector_disturbs_nothing(engine: Engine) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let town = server(engine, url);
    run_a_job(&town).await;
}

#[tokio::test]
async fn metrics_are_pushed_as_the_specification_has_them_on_sqlite() {
    metrics_are_pushed_as_the_specification_has_them(Engine::Sqlite).await;
}

#[tokio::test]
async fn metrics_are_pushed_as_the_specification_has_them_on_postgresql() {
    metrics_are_pushed_as_the_specification_has_them(Engine::Postgres).await;
}

#[tokio::test]
async fn a_dead_collector_disturbs_nothing_on_sqlite() {
    a_dead_collector_disturbs_nothing(Engine::Sqlite).await;
}

#[tokio::test]
async fn a_dead_collector_disturbs_nothing_on_postgresql() {
    a_dead_collector_disturbs_nothing(Engine::Postgres).await;
}
