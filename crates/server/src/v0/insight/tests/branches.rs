use serde_json::{Value, json};

use super::door::Door;
use super::on_both_engines;

on_both_engines! {
    a_branch_that_starts_from_another_is_judged_by_its_history,
    a_reset_branch_begins_anew_and_its_alerts_are_silenced,
    a_start_point_that_there_is_not_is_refused,
    a_head_that_was_replaced_is_shown_and_plotted_still,
}

async fn a_branch_that_starts_from_another_is_judged_by_its_history(door: Door) {
    for value in [99.0, 101.0] {
        door.report(&[("adder", value)]).await;
    }
    door.threshold(&json!({"test": "percentage", "upper_boundary": 0.1}))
        .await;
    let start = json!({"start_point": {"branch": "main", "clone_thresholds": true}});
    let report = door.report_on("feature", &[("adder", 150.0)], start).await;
    assert_eq!(report["counts"]["alerts"]["total"], 1, "{report}");
    assert_eq!(report["alerts"][0]["boundary"]["baseline"], 100.0);
    let head = &report["branch"]["head"];
    assert_eq!(head["version"]["number"], 2);
    assert_eq!(head["start_point"]["version"]["number"], 1);
    let main = door.get("branches/main").await;
    assert_eq!(head["start_point"]["branch"], main["uuid"]);
    assert_eq!(main["head"]["version"]["number"], 1);
}

async fn a_reset_branch_begins_anew_and_its_alerts_are_silenced(door: Door) {
    door.report(&[("adder", 1.0)]).await;
    door.threshold(&json!({"test": "static", "upper_boundary": 0.5}))
        .await;
    let before = door.report(&[("adder", 1.0)]).await;
    assert_eq!(before["counts"]["alerts"]["active"], 1);
    let branch = door
        .patch("branches/main", &json!({"start_point": {"reset": true}}))
        .await;
    assert_ne!(branch["head"]["uuid"], before["branch"]["head"]["uuid"]);
    assert_eq!(branch["head"]["version"], Value::Null);
    assert_eq!(door.get("alerts").await[0]["status"], "silenced");
    let after = door.report(&[("adder", 1.0)]).await;
    assert_eq!(after["branch"]["head"]["version"]["number"], 0);
    let path = format!("reports/{}", before["uuid"].as_str().unwrap());
    let kept = door.get(&path).await;
    assert_eq!(
        kept["branch"]["head"]["uuid"],
        before["branch"]["head"]["uuid"]
    );
    assert!(kept["branch"]["head"]["replaced"].is_string());
}

async fn a_start_point_that_there_is_not_is_refused(door: Door) {
    door.report(&[("adder", 1.0)]).await;
    for start in [
        json!({"branch": "nowhere"}),
        json!({"branch": "main", "hash": "f".repeat(40)}),
    ] {
        let new = json!({"name": "feature", "start_point": start});
        assert_eq!(door.call("POST", "branches", &new).await.status, 404);
    }
    assert_eq!(door.get("branches").await.as_array().unwrap().len(), 1);
}

async fn a_head_that_was_replaced_is_shown_and_plotted_still(door: Door) {
    let before = door.report(&[("adder", 1.0)]).await;
    door.patch("branches/main", &json!({"start_point": {"reset": true}}))
        .await;
    door.report(&[("adder", 2.0)]).await;
    let old = before["branch"]["head"]["uuid"].as_str().unwrap();
    let shown = door.get(&format!("branches/main?head={old}")).await;
    assert_eq!(shown["head"]["uuid"], old);
    assert!(shown["head"]["replaced"].is_string(), "{shown}");
    let nothing = "branches/main?head=0197d1de-4848-7ff0-94d6-cb394167098c";
    assert_eq!(door.call("GET", nothing, &Value::Null).await.status, 404);
    // Entries of the query stand for branches by their place, and an empty one for the head of now.
    let perf = async |heads: &str| {
        let path = "perf?branches=main,main&testbeds=host&benchmarks=adder&measures=latency";
        let perf = door.get(&format!("{path}&heads={heads}")).await;
        let lines = perf["results"].as_array().unwrap().clone();
        let value = |line: &Value| line["metrics"][0]["metric"]["value"].as_f64().unwrap();
        lines.iter().map(value).collect::<Vec<f64>>()
    };
    assert_eq!(perf("").await, [2.0, 2.0]);
    assert_eq!(perf(old).await, [1.0, 2.0]);
    assert_eq!(perf(&format!(",{old}")).await, [2.0, 1.0]);
}
