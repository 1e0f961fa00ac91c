//! Metrics as OTLP over HTTP has them in JSON: names with dots, sums since the server began, and what 64 bits hold as text.

use kiln_model::{Millis, ServerUuid};
use serde_json::{Value, json};

use super::{BUCKETS, Family, Histogram, Reading};

/// Sums grow from `startTimeUnixNano` on; nothing is taken off by an export.
const CUMULATIVE: u8 = 2;

/// When what is told happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    /// When the server began to count.
    pub(crate) start: Millis,
    pub(crate) end: Millis,
}

/// Who tells. Servers that share a database may share their URL too: what each of them counts is its own.
#[derive(Clone, Debug)]
pub(crate) struct Teller {
    pub(crate) server: ServerUuid,
    pub(crate) public_url: String,
}

/// The body of an `ExportMetricsServiceRequest`.
pub(crate) fn request(families: &[Family], period: Period, teller: &Teller) -> Value {
    let resource = [
        ("service.name", "kiln"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", &teller.server.to_string()),
        ("kiln.public_url", &teller.public_url),
    ];
    let metrics: Vec<Value> = families
        .iter()
        .map(|family| metric(family, period))
        .collect();
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": resource.map(|(key, value)| attribute(key, value)) },
            "scopeMetrics": [{
                "scope": { "name": "kiln_server", "version": env!("CARGO_PKG_VERSION") },
                "metrics": metrics,
            }],
        }],
    })
}

fn metric(family: &Family, period: Period) -> Value {
    let points: Vec<Value> = family
        .readings
        .iter()
        .map(|(attributes, reading)| {
            let attributes = attributes.iter();
            let attributes: Vec<Value> = attributes
                .map(|(key, value)| attribute(key, value))
                .collect();
            point(*reading, &attributes, period)
        })
        .collect();
    let name = family.name;
    match family.readings.first() {
        Some((_, Reading::Count(_))) => json!({
            "name": name, "unit": "1",
            "sum": {
                "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true,
            },
        }),
        Some((_, Reading::Spread(_))) => json!({
            "name": name, "unit": "s",
            "histogram": { "dataPoints": points, "aggregationTemporality": CUMULATIVE },
        }),
        Some((_, Reading::Level(_))) | None => json!({
            "name": name, "unit": "1",
            "gauge": { "dataPoints": points },
        }),
    }
}

fn point(reading: Reading, attributes: &[Value], period: Period) -> Value {
    let (start, end) = (nanoseconds(period.start), nanoseconds(period.end));
    match reading {
        Reading::Count(value) => json!({
            "attributes": attributes, "startTimeUnixNano": start, "timeUnixNano": end,
            "asInt": value.to_string(),
        }),
        Reading::Level(value) => json!({
            "attributes": attributes, "timeUnixNano": end, "asInt": value.to_string(),
        }),
        Reading::Spread(histogram) => json!({
            "attributes": attributes, "startTimeUnixNano": start, "timeUnixNano": end,
            "count": histogram.count.to_string(), "sum": histogram.sum,
            "explicitBounds": BUCKETS, "bucketCounts": buckets(&histogram),
        }),
    }
}

/// Between bounds, where ours count up to a bound; and one more for what is beyond the last.
fn buckets(histogram: &Histogram) -> Vec<String> {
    let up_to = histogram.buckets.into_iter().chain([histogram.count]);
    let mut before = 0;
    up_to
        .map(|count| {
            let between = count - before;
            before = count;
            between.to_string()
        })
        .collect()
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn nanoseconds(time: Millis) -> String {
    format!("{}000000", time.0)
}
