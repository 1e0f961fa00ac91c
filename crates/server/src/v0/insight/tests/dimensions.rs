use serde_json::{Value, json};

use super::door::Door;
use super::on_both_engines;

on_both_engines! {
    each_dimension_is_made_found_changed_archived_and_deleted,
    what_has_reports_is_archived_and_not_deleted,
    what_was_measured_on_an_archived_branch_is_archived_with_it,
    two_names_with_one_slug_are_two_branches,
    lists_are_searched_and_paged,
}

async fn each_dimension_is_made_found_changed_archived_and_deleted(door: Door) {
    for (plural, new) in [
        ("branches", json!({"name": "a/b"})),
        ("testbeds", json!({"name": "a b"})),
        ("benchmarks", json!({"name": "a::b"})),
        (
            "measures",
            json!({"name": "A B", "units": "bytes", "direction": "smaller_is_better"}),
        ),
    ] {
        let made = door.post(plural, &new).await;
        let slug = made["slug"].as_str().unwrap();
        assert_eq!(made["name"], new["name"]);
        assert_eq!(made["archived"], Value::Null);
        assert_eq!(
            door.call("POST", plural, &new).await.status,
            409,
            "{plural}"
        );
        let path = format!("{plural}/{slug}");
        assert_eq!(door.get(&path).await, made);
        let by_uuid = format!("{plural}/{}", made["uuid"].as_str().unwrap());
        assert_eq!(door.get(&by_uuid).await, made);
        let changed = door
            .patch(&path, &json!({"name": "other", "archived": true}))
            .await;
        assert_eq!(changed["name"], "other");
        assert!(changed["archived"].is_string());
        assert_eq!(door.get(plural).await, json!([]));
        assert_eq!(
            door.get(&format!("{plural}?archived=true")).await,
            json!([changed])
        );
        let back = door.patch(&path, &json!({"archived": false})).await;
        assert_eq!(back["archived"], Value::Null);
        assert_eq!(door.delete(&path).await, 204);
        assert_eq!(door.call("GET", &path, &Value::Null).await.status, 404);
    }
}

async fn what_has_reports_is_archived_and_not_deleted(door: Door) {
    door.report(&[("adder", 1.0)]).await;
    for path in [
        "branches/main",
        "testbeds/host",
        "benchmarks/adder",
        "measures/latency",
    ] {
        assert_eq!(door.delete(path).await, 409, "{path}");
    }
}

async fn what_was_measured_on_an_archived_branch_is_archived_with_it(door: Door) {
    door.report(&[("adder", 100.0)]).await;
    door.threshold(&json!({"test": "static", "upper_boundary": 10.0}))
        .await;
    door.report(&[("adder", 100.0)]).await;
    let counts = async |query: &str| {
        let mut counts = Vec::new();
        for plural in ["reports", "thresholds", "alerts"] {
            let list = door.get(&format!("{plural}?{query}")).await;
            counts.push(list.as_array().unwrap().len());
        }
        counts
    };
    assert_eq!(counts("archived=false").await, [2, 1, 1]);
    assert_eq!(counts("archived=true").await, [0, 0, 0]);
    door.patch("branches/main", &json!({"archived": true}))
        .await;
    assert_eq!(counts("").await, [0, 0, 0]);
    assert_eq!(counts("archived=true").await, [2, 1, 1]);
}

async fn two_names_with_one_slug_are_two_branches(door: Door) {
    let first = door.post("branches", &json!({"name": "a/b"})).await;
    let second = door.post("branches", &json!({"name": "a-b"})).await;
    assert_eq!(first["slug"], "a-b");
    assert_ne!(first["slug"], second["slug"]);
    assert!(second["slug"].as_str().unwrap().starts_with("a-b-"));
    assert_eq!(door.get("branches/a-b").await, first);
    let report = door.report_on("a-b", &[("adder", 1.0)], json!({})).await;
    assert_eq!(report["branch"]["uuid"], second["uuid"]);
}

async fn lists_are_searched_and_paged(door: Door) {
    for name in ["alpha", "beta", "gamma", "al_ha"] {
        door.post("benchmarks", &json!({"name": name})).await;
    }
    let names = |list: Value| -> Vec<String> {
        let list = list.as_array().unwrap().clone();
        list.iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(door.get("benchmarks?search=al_").await), ["al_ha"]);
    assert_eq!(names(door.get("benchmarks?name=beta").await), ["beta"]);
    assert_eq!(
        names(door.get("benchmarks?per_page=2&page=2").await),
        ["beta", "gamma"]
    );
    assert_eq!(
        names(door.get("benchmarks?direction=desc&per_page=1").await),
        ["gamma"]
    );
}
