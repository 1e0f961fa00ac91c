//! The exchanges that were recorded of a stock server, in the order in which they were made: the same requests get the same
//! statuses, headers and shapes. Values that vary are compared by their type.

use serde_json::{Value, json};

use super::town::Town;
use crate::answer::Answer;
use crate::towns::MEMORY;
use crate::ways::Ways;

#[test]
fn a_stock_server_answered_the_same_on_sqlite() {
    replay(&Town::open(MEMORY, Ways::default()));
}

#[test]
fn a_stock_server_answered_the_same_on_postgresql() {
    replay(&Town::open(
        &kiln_store::testing::postgres_database(),
        Ways::default(),
    ));
}

#[test]
fn a_stock_server_answered_the_same_on_two_servers() {
    replay(&Town::open_two(Ways::default()));
}

const ANY: &str = "GET, POST, PUT, PATCH, DELETE, OPTIONS";

/// One exchange after the other, each by the name of its recording.
struct Replay<'a> {
    town: &'a Town,
}

impl Replay<'_> {
    #[track_caller]
    fn good(&self, method: &str, path: &str, body: &Value, expected: (u16, &str)) -> Value {
        let answer = self.send(method, path, body);
        let (status, total) = expected;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.json());
        assert_eq!(answer.total(), total, "{method} {path}");
        assert_eq!(answer.header("access-control-allow-methods"), Some(method));
        assert_eq!(
            answer.header("access-control-expose-headers"),
            Some("X-Total-Count")
        );
        answer.json()
    }

    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: &Value, status: u16) {
        let answer = self.send(method, path, body);
        answer.expect(status);
        assert_eq!(answer.header("access-control-allow-methods"), Some(ANY));
        assert_eq!(answer.header("x-total-count"), None);
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = Some(body).filter(|body| !body.is_null());
        self.town.send(method, path, Some(&self.town.key), body)
    }
}

fn replay(town: &Town) {
    let replay = Replay { town };
    setup(&replay);
    specs(&replay);
    runners(&replay);
    runs(&replay);
    server(town);
}

fn setup(replay: &Replay<'_>) {
    let none = &Value::Null;
    let listed = replay.good("GET", "/v0/organizations", none, (200, "1"));
    assert_eq!(shape(&listed[0]), organization());
    let key = replay.good(
        "POST",
        "/v0/users/admin/keys",
        &json!({"name": "refkey"}),
        (201, "1"),
    );
    let expected = json!({
        "uuid": "uuid", "user": "uuid", "name": "text", "key": "text", "creation": "time", "expiration": "time",
    });
    assert_eq!(shape(&key), expected);
    replay.refused(
        "POST",
        "/v0/users/admin/tokens",
        &json!({"name": "ref", "ttl": 31_536_000}),
        403,
    );
    let made = json!({"name": "Ref Org", "slug": "ref-org"});
    let made = replay.good("POST", "/v0/organizations", &made, (201, "1"));
    assert_eq!(shape(&made), organization());
    let made = json!({"name": "Ref Project", "slug": "ref-project", "visibility": "public"});
    let made = replay.good(
        "POST",
        "/v0/organizations/ref-org/projects",
        &made,
        (201, "1"),
    );
    let expected = json!({
        "uuid": "uuid", "organization": "uuid", "name": "text", "slug": "text", "url": "null",
        "visibility": "text", "created": "time", "modified": "time", "claimed": "time",
    });
    assert_eq!(shape(&made), expected);
    let made = replay.good(
        "POST",
        "/v0/projects/ref-project/keys",
        &json!({"name": "refkey"}),
        (201, "1"),
    );
    let expected = json!({
        "uuid": "uuid", "project": "uuid", "name": "text", "key": "text", "creation": "time", "expiration": "time",
    });
    assert_eq!(shape(&made), expected);
    let made = json!({
        "name": "Local Spec", "slug": "local-spec", "os": "linux", "architecture": "x86_64", "cpu": 1,
        "memory": 1_073_741_824, "disk": 1_073_741_824, "network": false, "fallback": true,
    });
    let made = replay.good("POST", "/v0/specs", &made, (201, "1"));
    assert_eq!(shape(&made), spec("null", "time", "null"));
    let made = json!({"name": "Runner One", "slug": "runner-one"});
    let made = replay.good("POST", "/v0/runners", &made, (201, "1"));
    assert_eq!(shape(&made), json!({"uuid": "uuid", "key": "text"}));
    let made = replay.good(
        "POST",
        "/v0/runners/runner-one/specs",
        &json!({"spec": "local-spec"}),
        (201, "1"),
    );
    assert_eq!(shape(&made), spec("null", "time", "null"));
}

fn specs(replay: &Replay<'_>) {
    let none = &Value::Null;
    let new = json!({
        "name": "FC Spec", "os": "linux", "architecture": "x86_64", "sandbox": "firecracker", "cpu": 2,
        "memory": 4_294_967_296_u64, "disk": 10_737_418_240_u64,
    });
    let made = replay.good("POST", "/v0/specs", &new, (201, "1"));
    assert_eq!(made["slug"], "fc-spec");
    assert_eq!(shape(&made), spec("text", "null", "null"));
    let twin = json!({"name": "FC Spec", "os": "linux", "architecture": "x86_64", "cpu": 2, "memory": 1, "disk": 1});
    let twin = replay.good("POST", "/v0/specs", &twin, (201, "1"));
    assert_eq!(
        twin["slug"].as_str().unwrap().len(),
        "fc-spec-tojaz4vg".len()
    );
    let bad = json!({"name": "Bad", "os": "linux", "architecture": "x86_64", "cpu": 0, "memory": 1, "disk": 1});
    replay.refused("POST", "/v0/specs", &bad, 400);
    replay.refused("POST", "/v0/specs", &json!({"name": "Bad"}), 400);
    let listed = replay.good("GET", "/v0/specs", none, (200, "3"));
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let path = "/v0/specs?search=fc&per_page=1&page=1&sort=created&direction=asc";
    let listed = replay.good("GET", path, none, (200, "2"));
    assert_eq!(
        (listed[0]["slug"].as_str(), listed.as_array().unwrap().len()),
        (Some("fc-spec"), 1)
    );
    replay.good("GET", "/v0/specs/fc-spec", none, (200, "1"));
    replay.refused("GET", "/v0/specs/nope", none, 404);
    let renamed = replay.good(
        "PATCH",
        "/v0/specs/fc-spec",
        &json!({"name": "FC Spec 2"}),
        (200, "1"),
    );
    assert_eq!(
        (renamed["name"].as_str(), renamed["slug"].as_str()),
        (Some("FC Spec 2"), Some("fc-spec"))
    );
    replay.town.send("GET", "/v0/specs", None, None).expect(400);
}

fn runners(replay: &Replay<'_>) {
    let none = &Value::Null;
    let two = "/v0/runners/runner-two";
    let made = replay.good(
        "POST",
        "/v0/runners",
        &json!({"name": "Runner Two"}),
        (201, "1"),
    );
    assert_eq!(shape(&made), json!({"uuid": "uuid", "key": "text"}));
    replay.refused("POST", "/v0/runners", &json!({"name": "Runner Two"}), 409);
    replay.refused("POST", "/v0/runners", &json!({}), 400);
    replay
        .town
        .send("POST", "/v0/runners", None, Some(&json!({"name": "X"})))
        .expect(400);
    let listed = replay.good("GET", "/v0/runners", none, (200, "2"));
    assert_eq!(listed[0]["specs"].as_array().unwrap().len(), 1);
    replay.good(
        "GET",
        "/v0/runners?search=two&archived=true",
        none,
        (200, "1"),
    );
    let found = replay.good("GET", two, none, (200, "1"));
    assert_eq!(shape(&found), runner("null"));
    let by_uuid = format!("/v0/runners/{}", made["uuid"].as_str().unwrap());
    assert_eq!(replay.good("GET", &by_uuid, none, (200, "1")), found);
    replay.refused("GET", "/v0/runners/nope", none, 404);
    replay.good("PATCH", two, &json!({"name": "Runner 2"}), (200, "1"));
    let rotated = replay.good("POST", &format!("{two}/key"), none, (201, "1"));
    assert_eq!(shape(&rotated), shape(&made));
    let specs = format!("{two}/specs");
    let added = replay.good("POST", &specs, &json!({"spec": "fc-spec"}), (201, "1"));
    assert_eq!(shape(&added), spec("text", "null", "null"));
    replay.refused("POST", &specs, &json!({"spec": "fc-spec"}), 409);
    replay.refused("POST", &specs, &json!({"spec": "nope"}), 404);
    replay.good("GET", &specs, none, (200, "1"));
    replay.refused("DELETE", "/v0/specs/fc-spec", none, 409);
    let link = format!("{specs}/fc-spec");
    assert!(replay.good("DELETE", &link, none, (204, "0")).is_null());
    replay.refused("DELETE", &link, none, 404);
    let archived = replay.good("PATCH", two, &json!({"archived": true}), (200, "1"));
    assert_eq!(shape(&archived), runner("time"));
    replay.refused("POST", &format!("{two}/key"), none, 409);
    replay.good("GET", "/v0/runners", none, (200, "1"));
    let back = replay.good("PATCH", two, &json!({"archived": false}), (200, "1"));
    assert_eq!(shape(&back), runner("null"));
    let archived = replay.good(
        "PATCH",
        "/v0/specs/fc-spec",
        &json!({"archived": true}),
        (200, "1"),
    );
    assert_eq!(shape(&archived), spec("text", "null", "time"));
    replay.good(
        "PATCH",
        "/v0/specs/fc-spec",
        &json!({"archived": false}),
        (200, "1"),
    );
    assert!(
        replay
            .good("DELETE", "/v0/specs/fc-spec", none, (204, "0"))
            .is_null()
    );
}

fn runs(replay: &Replay<'_>) {
    let none = &Value::Null;
    let mut run = json!({
        "project": "ref-project", "branch": "main", "testbed": "tb", "start_time": "2026-11-15T08:16:16Z",
        "end_time": "2026-11-15T08:16:16Z", "results": [], "settings": {"adapter": "json"},
        "job": {"image": format!("ref-project@sha256:{}", "ab".repeat(32)), "spec": "local-spec"},
    });
    let with_job = replay.good("POST", "/v0/run", &run, (201, "1"));
    let mut expected = report(&spec("null", "time", "null"));
    expected["job"] = json!("uuid");
    assert_eq!(shape(&with_job), expected);
    let job = format!(
        "/v0/projects/ref-project/jobs/{}",
        with_job["job"].as_str().unwrap()
    );
    let pending = json!({
        "uuid": "uuid", "status": "text", "spec": spec("null", "time", "null"), "runner": "null", "claimed": "null",
        "started": "null", "completed": "null", "created": "time", "modified": "time",
    });
    assert_eq!(shape(&replay.good("GET", &job, none, (200, "1"))), pending);
    let path = "/v0/projects/ref-project/jobs?status=pending&per_page=2";
    let listed = replay.good("GET", path, none, (200, "1"));
    assert_eq!(shape(&listed), json!([pending]));
    for method in ["POST", "PATCH", "DELETE"] {
        replay.refused(method, &job, none, 405);
    }
    run.as_object_mut().unwrap().remove("job");
    run["results"] = json!([
        r#"{"adder": {"latency": {"value": 88.0, "lower_value": 87.42, "upper_value": 88.88}}}"#
    ]);
    let direct = replay.good("POST", "/v0/run", &run, (201, "1"));
    let named = |more: Value| {
        let mut named = json!({
            "uuid": "uuid", "project": "uuid", "name": "text", "slug": "text", "created": "time", "modified": "time",
            "archived": "null",
        });
        for (name, value) in more.as_object().unwrap() {
            named[name] = value.clone();
        }
        named
    };
    let mut expected = report(&json!("null"));
    expected["results"] = json!([[{
        "iteration": "number", "benchmark": named(json!({})),
        "measures": [{
            // The direction is ours.
            "measure": named(json!({"units": "text", "direction": "text"})),
            "metric": {"uuid": "uuid", "value": "number", "lower_value": "number", "upper_value": "number"},
            "threshold": "null", "boundary": "null",
        }],
    }]]);
    expected["counts"]["results"] = json!([{"benchmarks": "number", "measures": "number"}]);
    assert_eq!(shape(&direct), expected);
}

fn server(town: &Town) {
    let options = town.send("OPTIONS", "/v0/runners", Some(&town.key), None);
    assert_eq!(
        (options.status, options.body.as_slice()),
        (200, b"null".as_slice())
    );
    assert_eq!(
        options.header("access-control-allow-methods"),
        Some("GET, POST")
    );
    assert_eq!(
        options.header("access-control-allow-headers"),
        Some("Content-Type, Authorization")
    );
    let console = town
        .send("GET", "/v0/server/config/console", None, None)
        .expect(200);
    assert_eq!(shape(&console), json!({"url": "text"}));
    let version = town
        .send("GET", "/v0/server/version", None, None)
        .expect(200);
    assert_eq!(shape(&version), json!({"version": "text"}));
    let nowhere = town.get("/v0/nope");
    assert_eq!(nowhere.expect(404)["message"], "Not Found");
    // What is a registry's own stays there.
    let header = "docker-distribution-api-version";
    assert_eq!(nowhere.header(header), None);
    assert!(
        town.raw("GET", "/v2/nope", None, None)
            .header(header)
            .is_some()
    );
}

fn organization() -> Value {
    json!({
        "uuid": "uuid", "name": "text", "slug": "text", "license": "null", "created": "time", "modified": "time",
        "claimed": "time",
    })
}

fn spec(sandbox: &str, fallback: &str, archived: &str) -> Value {
    json!({
        "uuid": "uuid", "name": "text", "slug": "text", "os": "text", "architecture": "text", "sandbox": sandbox,
        "cpu": "number", "memory": "number", "disk": "number", "network": "bool", "fallback": fallback,
        "created": "time", "modified": "time", "archived": archived,
    })
}

/// Without results; its status is ours.
fn report(spec: &Value) -> Value {
    json!({
        "uuid": "uuid", "user": {"uuid": "uuid", "name": "text", "slug": "text"},
        "project": {
            "uuid": "uuid", "organization": "uuid", "name": "text", "slug": "text", "url": "null", "visibility": "text",
            "created": "time", "modified": "time", "claimed": "time",
        },
        "branch": {
            "uuid": "uuid", "project": "uuid", "name": "text", "slug": "text",
            "head": {
                "uuid": "uuid", "start_point": "null", "version": {"number": "number", "hash": "null"},
                "created": "time", "replaced": "null",
            },
            "created": "time", "modified": "time", "archived": "null",
        },
        "testbed": {
            "uuid": "uuid", "project": "uuid", "name": "text", "slug": "text", "spec": spec, "created": "time",
            "modified": "time", "archived": "null",
        },
        "start_time": "time", "end_time": "time", "adapter": "text", "results": [], "alerts": [],
        "counts": {"results": [], "alerts": {"total": "number", "active": "number"}}, "created": "time",
        "status": "text",
    })
}

fn runner(archived: &str) -> Value {
    json!({
        "uuid": "uuid", "name": "text", "slug": "text", "specs": [], "archived": archived, "last_heartbeat": "null",
        "created": "time", "modified": "time",
        // Ours.
        "state": "text",
    })
}

/// The names of all members, and what kind of value each has.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("bool"),
        Value::Number(_) => json!("number"),
        Value::String(text) if text.parse::<kiln_model::KeyUuid>().is_ok() => json!("uuid"),
        Value::String(text) if is_time(text) => json!("time"),
        Value::String(_) => json!("text"),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect(),
    }
}

fn is_time(text: &str) -> bool {
    serde_json::from_value::<kiln_model::v0::DateTime>(json!(text)).is_ok()
}
