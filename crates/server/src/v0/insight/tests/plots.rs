use serde_json::{Value, json};

use super::door::Door;
use super::on_both_engines;

on_both_engines! {
    plots_are_kept_in_the_order_they_are_put,
    a_plot_needs_things_that_the_project_has,
}

async fn plot(door: &Door, title: &str, index: Option<u8>) -> Value {
    let report = door.report(&[("adder", 1.0)]).await;
    let result = &report["results"][0][0];
    json!({
        "title": title, "index": index, "lower_value": false, "upper_value": false, "lower_boundary": true,
        "upper_boundary": true, "x_axis": "date_time", "window": 3600,
        "branches": [report["branch"]["uuid"]], "testbeds": [report["testbed"]["uuid"]],
        "benchmarks": [result["benchmark"]["uuid"]], "measures": [result["measures"][0]["measure"]["uuid"]],
    })
}

async fn plots_are_kept_in_the_order_they_are_put(door: Door) {
    let titles = async |door: &Door| -> Vec<String> {
        let list = door.get("plots").await;
        let list = list.as_array().unwrap();
        list.iter()
            .map(|plot| plot["title"].as_str().unwrap_or("-").to_owned())
            .collect()
    };
    for (title, index) in [
        ("one", None),
        ("two", None),
        ("zero", Some(0)),
        ("middle", Some(2)),
    ] {
        let new = plot(&door, title, index).await;
        let made = door.post("plots", &new).await;
        assert_eq!(made["y_axis"], "auto");
        assert_eq!(made["branches"], new["branches"]);
    }
    assert_eq!(titles(&door).await, ["zero", "one", "middle", "two"]);
    let last = door.get("plots?title=two").await;
    let path = format!("plots/{}", last[0]["uuid"].as_str().unwrap());
    let patched = door
        .patch(&path, &json!({"title": null, "index": 0, "window": 60}))
        .await;
    assert_eq!(
        (&patched["title"], &patched["window"]),
        (&Value::Null, &json!(60))
    );
    assert_eq!(titles(&door).await, ["-", "zero", "one", "middle"]);
    assert_eq!(door.delete(&path).await, 204);
    assert_eq!(door.call("GET", &path, &Value::Null).await.status, 404);
}

async fn a_plot_needs_things_that_the_project_has(door: Door) {
    let mut new = plot(&door, "plot", None).await;
    new["branches"] = json!([]);
    assert_eq!(door.call("POST", "plots", &new).await.status, 400);
    new["branches"] = json!(["01a1de47-48fa-70c1-9547-548003ffc36f"]);
    assert_eq!(door.call("POST", "plots", &new).await.status, 404);
}
