use serde_json::{Value, json};

use super::door::Door;
use super::on_both_engines;

on_both_engines! {
    a_metric_outside_of_its_boundary_is_an_alert,
    an_alert_can_be_dismissed_and_comes_last_then,
    a_threshold_of_one_benchmark_comes_before_that_of_all,
    an_ignored_benchmark_has_a_boundary_and_no_alert,
    a_benchmark_that_asks_for_no_alert_by_its_name_gets_none,
    false_discoveries_are_controlled_over_the_whole_report,
    a_model_can_be_replaced_and_removed,
    a_model_that_cannot_be_meant_is_refused,
    the_thresholds_of_a_report_are_made_and_others_reset,
}

fn uuid(value: &Value) -> &str {
    value["uuid"].as_str().unwrap()
}

async fn a_metric_outside_of_its_boundary_is_an_alert(door: Door) {
    door.report(&[("adder", 100.0)]).await;
    door.threshold(&json!({"test": "percentage", "upper_boundary": 0.1}))
        .await;
    let fine = door.report(&[("adder", 105.0)]).await;
    let measured = &fine["results"][0][0]["measures"][0];
    assert_eq!(
        measured["boundary"],
        json!({"baseline": 100.0, "lower_limit": null, "upper_limit": 110.0})
    );
    assert_eq!(measured["threshold"]["model"]["test"], "percentage");
    assert_eq!(fine["alerts"], json!([]));
    let slow = door.report(&[("adder", 150.0)]).await;
    assert_eq!(slow["counts"]["alerts"], json!({"total": 1, "active": 1}));
    let alert = &slow["alerts"][0];
    assert_eq!(alert["limit"], "upper");
    assert_eq!(alert["status"], "active");
    assert_eq!(alert["benchmark"]["name"], "adder");
    assert_eq!(alert["metric"]["value"], 150.0);
    assert_eq!(alert["boundary"]["baseline"], 102.5);
    assert_eq!(alert["threshold"]["branch"]["name"], "main");
    assert_eq!(alert["report"], slow["uuid"]);
    assert_eq!(&door.get(&format!("alerts/{}", uuid(alert))).await, alert);
}

async fn an_alert_can_be_dismissed_and_comes_last_then(door: Door) {
    door.report(&[("adder", 100.0)]).await;
    door.threshold(&json!({"test": "static", "upper_boundary": 10.0}))
        .await;
    let first = door.report(&[("adder", 100.0)]).await;
    door.report(&[("adder", 100.0)]).await;
    let path = format!("alerts/{}", uuid(&first["alerts"][0]));
    let dismissed = door.patch(&path, &json!({"status": "dismissed"})).await;
    assert_eq!(dismissed["status"], "dismissed");
    let list = door.get("alerts").await;
    assert_eq!(list[0]["status"], "active");
    assert_eq!(list[1]["status"], "dismissed");
    let active = door.get("alerts?status=active").await;
    assert_eq!(active.as_array().unwrap().len(), 1);
    let refused = door.call("PATCH", &path, &json!({"status": "gone"})).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        door.patch(&path, &json!({"status": "silenced"})).await["status"],
        "silenced"
    );
}

async fn a_threshold_of_one_benchmark_comes_before_that_of_all(door: Door) {
    door.report(&[("strict", 100.0), ("loose", 100.0)]).await;
    door.threshold(&json!({"test": "percentage", "upper_boundary": 0.5}))
        .await;
    door.threshold(&json!({"test": "percentage", "upper_boundary": 0.01, "benchmark": "strict"}))
        .await;
    let report = door.report(&[("strict", 110.0), ("loose", 110.0)]).await;
    let alerts = report["alerts"].as_array().unwrap();
    assert_eq!(alerts.len(), 1);
    assert_eq!(alerts[0]["benchmark"]["name"], "strict");
}

async fn an_ignored_benchmark_has_a_boundary_and_no_alert(door: Door) {
    door.report(&[("flaky::io", 100.0)]).await;
    door.threshold(&json!({"test": "percentage", "upper_boundary": 0.1, "ignore": ["flaky::*"]}))
        .await;
    let report = door.report(&[("flaky::io", 900.0)]).await;
    assert_eq!(report["alerts"], json!([]));
    let boundary = &report["results"][0][0]["measures"][0]["boundary"];
    assert!((boundary["upper_limit"].as_f64().unwrap() - 110.0).abs() < 1e-9);
}

async fn a_benchmark_that_asks_for_no_alert_by_its_name_gets_none(door: Door) {
    door.report(&[("adder", 100.0)]).await;
    door.threshold(&json!({"test": "percentage", "upper_boundary": 0.1}))
        .await;
    let slow = door.report(&[("adder_bencher_ignore", 150.0)]).await;
    let result = &slow["results"][0][0];
    assert_eq!(result["benchmark"]["name"], "adder");
    assert_eq!(result["measures"][0]["boundary"]["upper_limit"], 110.0);
    assert_eq!(slow["alerts"], json!([]));
}

async fn false_discoveries_are_controlled_over_the_whole_report(door: Door) {
    let names: Vec<String> = (0..20).map(|number| format!("b{number}")).collect();
    let all = |value: f64| -> Vec<(&str, f64)> {
        names.iter().map(|name| (name.as_str(), value)).collect()
    };
    for value in [99.0, 100.0, 101.0, 100.0, 99.5, 100.5] {
        door.report(&all(value)).await;
    }
    door.threshold(
        &json!({"test": "t_test", "upper_boundary": 0.95, "false_discovery_rate": 0.01}),
    )
    .await;
    let mut values = all(100.0);
    // Just outside of its own boundary, and far outside.
    values[0].1 = 101.8;
    values[1].1 = 150.0;
    let report = door.report(&values).await;
    let found: Vec<&Value> = report["alerts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|alert| &alert["benchmark"]["name"])
        .collect();
    assert_eq!(found, ["b1"]);
}

async fn a_model_can_be_replaced_and_removed(door: Door) {
    door.report(&[("adder", 100.0)]).await;
    let made = door
        .threshold(&json!({"test": "percentage", "upper_boundary": 0.1}))
        .await;
    let path = format!("thresholds/{}", uuid(&made));
    let twice = door.call("POST", "thresholds", &json!({
        "branch": "main", "testbed": "host", "measure": "latency", "test": "static", "upper_boundary": 1.0,
    })).await;
    assert_eq!(twice.status, 409);
    let changed = door
        .call(
            "PUT",
            &path,
            &json!({"test": "z_score", "upper_boundary": 0.99}),
        )
        .await
        .body_of(200);
    assert_eq!(changed["model"]["test"], "z_score");
    let old = door
        .get(&format!("{path}?model={}", uuid(&made["model"])))
        .await;
    assert_eq!(old["model"]["test"], "percentage");
    assert!(old["model"]["replaced"].is_string());
    let removed = door
        .call("PUT", &path, &json!({"test": null}))
        .await
        .body_of(200);
    assert_eq!(removed["model"], Value::Null);
    assert_eq!(door.report(&[("adder", 900.0)]).await["alerts"], json!([]));
    assert_eq!(door.delete(&path).await, 204);
    assert_eq!(door.get("thresholds").await, json!([]));
}

async fn a_model_that_cannot_be_meant_is_refused(door: Door) {
    door.report(&[("adder", 100.0)]).await;
    for model in [
        json!({"test": "t_test"}),
        json!({"test": "t_test", "upper_boundary": 1.5}),
        json!({"test": "magic", "upper_boundary": 0.9}),
        json!({"test": "static", "upper_boundary": 1.0, "window": 60}),
        json!({"test": "iqr", "upper_boundary": 1.0, "min_sample_size": 5, "max_sample_size": 2}),
    ] {
        let mut threshold = json!({"branch": "main", "testbed": "host", "measure": "latency"});
        for (field, value) in model.as_object().unwrap() {
            threshold[field] = value.clone();
        }
        assert_eq!(
            door.call("POST", "thresholds", &threshold).await.status,
            400,
            "{model}"
        );
    }
}

async fn the_thresholds_of_a_report_are_made_and_others_reset(door: Door) {
    let models = json!({"thresholds": {"models": {"latency": {"test": "percentage", "upper_boundary": 0.1}}}});
    door.report_on("main", &[("adder", 100.0)], models.clone())
        .await;
    let slow = door.report_on("main", &[("adder", 200.0)], models).await;
    assert_eq!(slow["counts"]["alerts"]["total"], 1);
    let list = door.get("thresholds?branch=main").await;
    assert_eq!(list.as_array().unwrap().len(), 1);
    let reset = json!({"thresholds": {"models": {"throughput": {"test": "static", "lower_boundary": 1.0}}, "reset": true}});
    let after = door.report_on("main", &[("adder", 900.0)], reset).await;
    assert_eq!(after["counts"]["alerts"]["total"], 0);
    let list = door.get("thresholds?measure=latency").await;
    assert_eq!(list[0]["model"], Value::Null);
}
