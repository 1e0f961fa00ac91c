use serde_json::{Value, json};

use super::door::{Door, PROJECT};
use super::on_both_engines;

on_both_engines! {
    a_testbed_forgets_its_spec_when_it_is_told_to,
}

/// Submits a run on testbed `host` and answers the spec that the testbed has then.
async fn spec_after(door: &Door, more: Value) -> Value {
    let mut run = json!({"project": PROJECT, "testbed": "host"});
    for (field, value) in more.as_object().unwrap() {
        run[field] = value.clone();
    }
    door.post("/v0/run", &run).await;
    door.get("testbeds/host").await["spec"]["slug"].clone()
}

async fn a_testbed_forgets_its_spec_when_it_is_told_to(door: Door) {
    for (name, fallback) in [("large", false), ("usual", true)] {
        let spec = json!({
            "name": name, "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1 << 28, "disk": 1 << 26,
            "fallback": fallback,
        });
        door.post("/v0/specs", &spec).await;
    }
    door.post("testbeds", &json!({"name": "host", "spec": "large"}))
        .await;
    let image = format!("{PROJECT}@sha256:{}", "ab".repeat(32));
    let job = json!({"image": image});
    assert_eq!(spec_after(&door, json!({"job": job})).await, "large");
    let other = door.get("testbeds/host?spec=usual").await;
    assert_eq!(other["spec"]["slug"], "usual");
    let unknown = door.call("GET", "testbeds/host?spec=nothing", &Value::Null);
    assert_eq!(unknown.await.status, 404);
    assert_eq!(
        spec_after(&door, json!({"job": job, "spec_reset": true})).await,
        "usual"
    );
    let results = json!({
        "results": [r#"{"adder": {"latency": {"value": 1}}}"#],
        "start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:17Z",
    });
    assert_eq!(spec_after(&door, results.clone()).await, "usual");
    let mut reset = results;
    reset["spec_reset"] = json!(true);
    assert_eq!(spec_after(&door, reset).await, Value::Null);
}
