use serde_json::{Value, json};

use super::door::Door;
use super::on_both_engines;

on_both_engines! {
    a_line_has_its_points_in_order_with_their_boundaries,
    a_line_can_be_exported_as_csv,
    a_line_can_be_seen_as_a_picture,
    a_change_is_marked_when_it_is_asked_for,
    a_query_that_names_nothing_or_something_unknown_is_refused,
    branches_are_compared_without_a_threshold,
    what_cannot_be_compared_is_named,
}

const MAIN: &str = "branches=main&testbeds=host&benchmarks=adder&measures=latency";

async fn a_line_has_its_points_in_order_with_their_boundaries(door: Door) {
    let (one, two) = ("1".repeat(40), "2".repeat(40));
    door.report_on("main", &[("adder", 1.0)], json!({"hash": one}))
        .await;
    door.report_on("main", &[("adder", 2.0)], json!({"hash": two}))
        .await;
    door.threshold(&json!({"test": "static", "upper_boundary": 2.5}))
        .await;
    // The older commit once more: it belongs before the newer one.
    door.report_on(
        "main",
        &[("adder", 3.0)],
        json!({"hash": one, "start_time": "2026-11-15T08:16:17Z"}),
    )
    .await;
    let perf = door.get(&format!("perf?{MAIN}")).await;
    assert_eq!(perf["project"]["slug"], super::door::PROJECT);
    let line = &perf["results"][0];
    assert_eq!(line["benchmark"]["name"], "adder");
    let metrics = line["metrics"].as_array().unwrap();
    let values: Vec<f64> = metrics
        .iter()
        .map(|one| one["metric"]["value"].as_f64().unwrap())
        .collect();
    assert_eq!(values, [1.0, 3.0, 2.0]);
    assert_eq!(metrics[1]["version"], json!({"number": 0, "hash": one}));
    assert_eq!(metrics[1]["boundary"]["upper_limit"], 2.5);
    assert_eq!(metrics[1]["alert"]["status"], "active");
    assert_eq!(metrics[2]["alert"], Value::Null);
    assert_eq!(line.get("change_points"), None);
    let late = door
        .get(&format!("perf?{MAIN}&start_time=9999999999999"))
        .await;
    assert_eq!(late["results"], json!([]));
}

async fn a_line_can_be_exported_as_csv(door: Door) {
    door.report(&[("adder", 1.5)]).await;
    let answer = door
        .call("GET", &format!("perf?{MAIN}&format=csv"), &Value::Null)
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    let text = String::from_utf8(answer.body).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("branch,testbed,benchmark,measure,units,version,hash"));
    assert!(
        lines[1].starts_with("main,host,adder,latency,nanoseconds (ns),0,,"),
        "{}",
        lines[1]
    );
    assert!(
        lines[1].contains(",2026-11-15T08:16:16Z,0,1.5,,,"),
        "{}",
        lines[1]
    );
}

async fn a_line_can_be_seen_as_a_picture(door: Door) {
    door.report(&[("adder", 1.5)]).await;
    let path = format!("perf/img?{MAIN}&title=Adder");
    let png = door.call("GET", &path, &Value::Null).await;
    assert_eq!(
        (png.status, png.header("content-type")),
        (200, Some("image/png"))
    );
    assert!(png.body.starts_with(b"\x89PNG"));
    let path = format!("{path}&format=svg&x_axis=version");
    let svg = door.call("GET", &path, &Value::Null).await;
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    let svg = String::from_utf8(svg.body).unwrap();
    assert!(
        svg.contains(">Adder<") && svg.contains(">main / host / adder / Latency<"),
        "{svg}"
    );
}

async fn a_change_is_marked_when_it_is_asked_for(door: Door) {
    for number in 0..20 {
        let level = if number < 10 { 100.0 } else { 120.0 };
        door.report(&[("adder", level + f64::from(number % 3))])
            .await;
    }
    let perf = door.get(&format!("perf?{MAIN}&change_points=true")).await;
    let changes = perf["results"][0]["change_points"].as_array().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["index"], 10);
    assert_eq!(
        (&changes[0]["before"], &changes[0]["after"]),
        (&json!(101.0), &json!(121.0))
    );
}

async fn a_query_that_names_nothing_or_something_unknown_is_refused(door: Door) {
    door.report(&[("adder", 1.0)]).await;
    let empty = "perf?branches=&testbeds=host&benchmarks=adder&measures=latency";
    assert_eq!(door.call("GET", empty, &Value::Null).await.status, 400);
    let unknown = "perf?branches=main&testbeds=host&benchmarks=other&measures=latency";
    assert_eq!(door.call("GET", unknown, &Value::Null).await.status, 404);
}

async fn what_cannot_be_compared_is_named(door: Door) {
    let results = |benchmark: &str, errors: u32| {
        let both = json!({"latency": {"value": 1}, "errors": {"value": errors}});
        let one = json!({"latency": {"value": 2}});
        json!({"results": [json!({"adder": both, benchmark: one}).to_string()]})
    };
    door.report_on("main", &[], results("gone", 0)).await;
    door.report_on("feature", &[], results("new", 3)).await;
    let compared = door.get("compare?base=main&head=feature").await;
    assert_eq!(compared["results"].as_array().unwrap().len(), 1);
    let left_out = compared["left_out"].as_array().unwrap();
    let left_out: Vec<[&str; 3]> = left_out
        .iter()
        .map(|one| ["benchmark", "measure", "reason"].map(|field| one[field].as_str().unwrap()))
        .collect();
    assert_eq!(
        left_out,
        [
            ["adder", "errors", "not_positive"],
            ["gone", "latency", "only_base"],
            ["new", "latency", "only_head"]
        ]
    );
}

async fn branches_are_compared_without_a_threshold(door: Door) {
    let bmf = |values: &[f64]| -> Vec<String> {
        values
            .iter()
            .map(|value| json!({"adder": {"latency": {"value": value}}}).to_string())
            .collect()
    };
    let base = json!({"results": bmf(&[100.0, 101.0, 99.0, 100.5, 99.5, 100.0])});
    let head = json!({"results": bmf(&[120.0, 121.0, 119.0, 120.5, 119.5, 120.0])});
    door.report_on("main", &[], base).await;
    door.report_on("feature", &[], head).await;
    let compared = door.get("compare?base=main&head=feature").await;
    let line = &compared["results"][0];
    assert_eq!(line["verdict"], "slower");
    assert_eq!(
        (&line["base_count"], &line["head_count"]),
        (&json!(6), &json!(6))
    );
    assert!(
        (line["effect"].as_f64().unwrap() - 0.2).abs() < 0.01,
        "{line}"
    );
    assert!(line["low"].as_f64().unwrap() < 0.2 && line["high"].as_f64().unwrap() > 0.2);
    assert!(line["detectable"].as_f64().unwrap() < 0.05, "{line}");
    let base_value = line["base_value"].as_f64().unwrap();
    assert!((base_value - 100.0).abs() < 0.1, "{line}");
    assert_eq!(compared["left_out"], json!([]));
    let same = door.get("compare?base=main&head=main").await;
    assert_eq!(same["results"][0]["verdict"], "same");
    assert_eq!(
        door.call("GET", "compare?base=main&head=nowhere", &Value::Null)
            .await
            .status,
        404
    );
}
