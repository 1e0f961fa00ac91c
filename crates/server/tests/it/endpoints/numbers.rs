use serde_json::{Value, json};

use super::on_both_engines;
use super::town::Town;

/// Paths of a project's numbers that can be read without knowing an id.
const READABLE: [&str; 9] = [
    "reports",
    "branches",
    "testbeds",
    "benchmarks",
    "measures",
    "thresholds",
    "alerts",
    "plots",
    "perf?branches=main&testbeds=host&benchmarks=adder&measures=latency",
];

fn report() -> Value {
    json!({
        "branch": "main",
        "testbed": "host",
        "start_time": "2026-11-15T08:16:16Z",
        "end_time": "2026-11-15T08:16:17Z",
        "results": [r#"{"adder": {"latency": {"value": 88}}}"#],
        "settings": {"adapter": "json"},
    })
}

fn threshold() -> Value {
    json!({"branch": "main", "testbed": "host", "measure": "latency", "test": "static", "upper_boundary": 90})
}

on_both_engines! {
    fn numbers_of_a_private_project_do_not_exist_for_others(town: &Town) {
        let (owner, other) = (town.person("n-private-owner"), town.person("n-private-other"));
        town.project(&owner, "n-private", "private");
        let base = "/v0/projects/n-private";
        town.send("POST", &format!("{base}/reports"), Some(&owner), Some(&report())).expect(201);
        for path in READABLE {
            let path = format!("{base}/{path}");
            town.send("GET", &path, Some(&owner), None).expect(200);
            for key in [None, Some(other.as_str())] {
                town.send("GET", &path, key, None).expect(404);
            }
        }
        for key in [None, Some(other.as_str())] {
            town.send("POST", &format!("{base}/reports"), key, Some(&report())).expect(404);
            town.send("POST", &format!("{base}/thresholds"), key, Some(&threshold())).expect(404);
            town.send("DELETE", &format!("{base}/branches/main"), key, None).expect(404);
        }
    }

    fn numbers_of_a_public_project_are_read_by_anybody_and_changed_by_its_own(town: &Town) {
        let (owner, other) = (town.person("n-public-owner"), town.person("n-public-other"));
        town.project(&owner, "n-public", "public");
        let base = "/v0/projects/n-public";
        let made = town.send("POST", &format!("{base}/reports"), Some(&owner), Some(&report())).expect(201);
        let report_path = format!("{base}/reports/{}", made["uuid"].as_str().unwrap());
        for path in READABLE {
            let path = format!("{base}/{path}");
            town.send("GET", &path, None, None).expect(200);
            town.send("GET", &path, Some(&other), None).expect(200);
        }
        for (key, refused) in [(None, 401), (Some(other.as_str()), 403)] {
            town.send("POST", &format!("{base}/reports"), key, Some(&report())).expect(refused);
            town.send("POST", &format!("{base}/thresholds"), key, Some(&threshold())).expect(refused);
            town.send("PATCH", &format!("{base}/branches/main"), key, Some(&json!({"archived": true}))).expect(refused);
            town.send("DELETE", &report_path, key, None).expect(refused);
        }
        town.send("POST", &format!("{base}/thresholds"), Some(&owner), Some(&threshold())).expect(201);
        town.send("DELETE", &report_path, Some(&owner), None).expect(204);
    }

    fn a_project_key_submits_results_and_deletes_nothing(town: &Town) {
        let owner = town.person("n-key-owner");
        town.project(&owner, "n-key", "private");
        let base = "/v0/projects/n-key";
        let new = json!({"name": "ci"});
        let made = town.send("POST", &format!("{base}/keys"), Some(&owner), Some(&new)).expect(201);
        let key = made["key"].as_str();
        let made = town.send("POST", &format!("{base}/reports"), key, Some(&report())).expect(201);
        assert!(made["user"].is_null());
        let path = format!("{base}/reports/{}", made["uuid"].as_str().unwrap());
        town.send("GET", &path, key, None).expect(200);
        town.send("DELETE", &path, key, None).expect(403);
    }
}
