use serde_json::{Value, json};

use super::door::Door;
use super::on_both_engines;

on_both_engines! {
    a_report_looks_as_stock_clients_expect,
    a_list_leaves_results_out_unless_it_is_expanded,
    results_that_cannot_be_read_are_refused_and_leave_nothing,
    the_same_commit_is_the_same_version,
    a_deleted_report_is_gone_with_its_metrics,
    a_report_of_another_project_does_not_exist,
    unknown_names_are_created_and_unknown_uuids_are_not,
    a_large_report_is_stored_and_judged_whole,
    what_an_organization_measured_is_counted,
}

async fn a_report_looks_as_stock_clients_expect(door: Door) {
    let report = door.report(&[("adder", 88.0)]).await;
    assert_eq!(report["adapter"], "json");
    assert_eq!(report["status"], "ready");
    assert_eq!(
        report["branch"]["head"]["version"],
        json!({"number": 0, "hash": null})
    );
    assert_eq!(report["branch"]["head"]["start_point"], Value::Null);
    assert_eq!(report["testbed"]["spec"], Value::Null);
    assert_eq!(report["alerts"], json!([]));
    assert_eq!(
        report["counts"],
        json!({"results": [{"benchmarks": 1, "measures": 1}], "alerts": {"total": 0, "active": 0}})
    );
    assert_eq!(report.get("job"), None);
    let result = &report["results"][0][0];
    assert_eq!(result["iteration"], 0);
    assert_eq!(result["benchmark"]["name"], "adder");
    assert_eq!(result["benchmark"]["archived"], Value::Null);
    let measure = &result["measures"][0];
    assert_eq!(measure["measure"]["name"], "Latency");
    assert_eq!(measure["measure"]["slug"], "latency");
    assert_eq!(measure["measure"]["units"], "nanoseconds (ns)");
    assert_eq!(measure["metric"]["value"], 88.0);
    assert_eq!(measure["metric"]["lower_value"], Value::Null);
    assert!(measure["metric"]["uuid"].is_string());
    assert_eq!(measure["threshold"], Value::Null);
    assert_eq!(measure["boundary"], Value::Null);
    let uuid = report["uuid"].as_str().unwrap();
    assert_eq!(door.get(&format!("reports/{uuid}")).await, report);
}

async fn a_list_leaves_results_out_unless_it_is_expanded(door: Door) {
    for value in [1.0, 2.0, 3.0] {
        door.report(&[("adder", value)]).await;
    }
    let answer = door.call("GET", "reports?per_page=2", &Value::Null).await;
    let list = answer.body_of(200);
    assert_eq!(answer.header("x-total-count"), Some("3"));
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(list[0].get("results"), None);
    assert_eq!(list[0]["counts"]["results"][0]["benchmarks"], 1);
    let whole = door.get("reports?expand=true&page=2&per_page=2").await;
    assert_eq!(whole.as_array().unwrap().len(), 1);
    assert!(whole[0]["results"].is_array());
    assert_eq!(
        door.get("reports?branch=main&testbed=host")
            .await
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        door.get("reports?start_time=9999999999999").await,
        json!([])
    );
}

async fn results_that_cannot_be_read_are_refused_and_leave_nothing(door: Door) {
    let report = json!({
        "branch": "main", "testbed": "host", "results": ["not bmf"], "settings": {"adapter": "json"},
        "start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:16Z",
    });
    let refused = door.call("POST", "reports", &report).await.body_of(400);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("json") && message.contains("line 1"),
        "{message}"
    );
    assert_eq!(door.get("reports").await, json!([]));
    assert_eq!(door.get("branches").await, json!([]));
}

async fn the_same_commit_is_the_same_version(door: Door) {
    let (one, two) = ("1".repeat(40), "2".repeat(40));
    let mut numbers = Vec::new();
    for hash in [&one, &two, &one] {
        let report = door
            .report_on("main", &[("a", 1.0)], json!({"hash": hash}))
            .await;
        numbers.push(report["branch"]["head"]["version"]["number"].clone());
    }
    let without = door.report(&[("a", 1.0)]).await;
    numbers.push(without["branch"]["head"]["version"]["number"].clone());
    assert_eq!(numbers, [json!(0), json!(1), json!(0), json!(2)]);
}

async fn a_deleted_report_is_gone_with_its_metrics(door: Door) {
    let report = door.report(&[("adder", 1.0)]).await;
    let path = format!("reports/{}", report["uuid"].as_str().unwrap());
    let metric = &report["results"][0][0]["measures"][0]["metric"]["uuid"];
    let metric = format!("metrics/{}", metric.as_str().unwrap());
    assert_eq!(door.get(&metric).await["benchmark"]["name"], "adder");
    assert_eq!(door.delete(&path).await, 204);
    assert_eq!(door.call("GET", &path, &Value::Null).await.status, 404);
    assert_eq!(door.call("GET", &metric, &Value::Null).await.status, 404);
    assert_eq!(door.delete(&path).await, 404);
}

async fn a_report_of_another_project_does_not_exist(door: Door) {
    let report = door.report(&[("adder", 1.0)]).await;
    let uuid = report["uuid"].as_str().unwrap();
    let elsewhere = format!("/v0/projects/another-project/reports/{uuid}");
    assert_eq!(door.call("GET", &elsewhere, &Value::Null).await.status, 404);
    assert_eq!(door.delete(&elsewhere).await, 404);
}

async fn unknown_names_are_created_and_unknown_uuids_are_not(door: Door) {
    door.report_on("feature/one", &[("a", 1.0)], json!({}))
        .await;
    assert_eq!(
        door.get("branches/feature-one").await["name"],
        "feature/one"
    );
    let unknown = "01a1de47-48fa-70c1-9547-548003ffc36f";
    let report = json!({
        "branch": unknown, "testbed": "host", "results": [],
        "start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:16Z",
    });
    assert_eq!(door.call("POST", "reports", &report).await.status, 404);
}

/// More than is written or asked for at a time, and no multiple of it.
const MANY: usize = 150;

async fn a_large_report_is_stored_and_judged_whole(door: Door) {
    let results = |worst: usize| {
        let value = |place| if place == worst { 900.0 } else { 100.0 };
        let all: serde_json::Map<String, Value> = (0..MANY)
            .map(|place| {
                let metric = json!({"latency": {"value": value(place)}, "size": {"value": 1}});
                (format!("b{place:03}"), metric)
            })
            .collect();
        let text = Value::Object(all).to_string();
        json!({"results": [text, text]})
    };
    door.report_on("main", &[], results(MANY)).await;
    door.threshold(&json!({"test": "percentage", "upper_boundary": 0.5}))
        .await;
    let report = door.report_on("main", &[], results(130)).await;
    let counts = json!([{"benchmarks": MANY, "measures": 2}, {"benchmarks": MANY, "measures": 2}]);
    assert_eq!(report["counts"]["results"], counts);
    for iteration in report["results"].as_array().unwrap() {
        for (place, result) in iteration.as_array().unwrap().iter().enumerate() {
            assert_eq!(result["benchmark"]["name"], format!("b{place:03}"));
            let boundary = &result["measures"][0]["boundary"];
            assert_eq!(boundary["baseline"], 100.0, "{result}");
            assert_eq!(result["measures"][1]["boundary"], Value::Null, "{result}");
        }
    }
    let alerts = report["alerts"].as_array().unwrap();
    let alerts: Vec<(&Value, &Value)> = alerts
        .iter()
        .map(|alert| (&alert["benchmark"]["name"], &alert["iteration"]))
        .collect();
    let worst = json!("b130");
    assert_eq!(alerts, [(&worst, &json!(0)), (&worst, &json!(1))]);
}

async fn what_an_organization_measured_is_counted(door: Door) {
    door.report(&[("adder", 1.0), ("other", 2.0)]).await;
    door.report(&[("adder", 1.0)]).await;
    let project = door.get("/v0/projects/the-project").await;
    let usage = format!(
        "/v0/organizations/{}/usage",
        project["organization"].as_str().unwrap()
    );
    let used = door.get(&usage).await;
    assert_eq!(
        (&used["metrics"], &used["active_series"]),
        (&json!(3), &json!(2))
    );
    let before = door.get(&format!("{usage}?start_time=0&end_time=1")).await;
    assert_eq!(before["metrics"], 0);
}
