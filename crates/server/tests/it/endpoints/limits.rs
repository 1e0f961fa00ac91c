//! How much anybody may do, on a server where it is configured. Each rate is the same for all three windows, so that none
//! of them can begin anew between two requests of a test.

use kiln_store::testing::postgres_database;
use serde_json::{Value, json};

use super::town::Town;
use crate::answer::Answer;
use crate::towns::MEMORY;
use crate::ways::Ways;

/// Opens a server with these limits. Each counts for itself, so there is nothing to be seen of two.
type Open = fn(&str) -> Town;

fn open(database: &str, limits: &str) -> Town {
    let ways = Ways {
        limits: Some(limits.to_owned()),
        ..Ways::default()
    };
    Town::open(database, ways)
}

macro_rules! on_both_engines {
    ($(fn $name:ident($town:ident: Open) $body:block)*) => {
        $(fn $name($town: Open) $body)*

        mod sqlite {
            $(#[test] fn $name() {
                super::$name(|limits| super::open(super::MEMORY, limits));
            })*
        }

        mod postgres {
            $(#[test] fn $name() {
                super::$name(|limits| super::open(&super::postgres_database(), limits));
            })*
        }
    };
}

fn run(project: &str) -> Value {
    json!({
        "project": project,
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z",
        "results": ["{}"],
        "settings": {"adapter": "json"},
    })
}

#[track_caller]
fn refused(answer: &Answer) {
    let body = answer.expect(429);
    assert_eq!(body["error_code"], "too_many_requests");
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=86_400).contains(&seconds), "{seconds}");
}

on_both_engines! {
    fn an_address_without_credentials_may_ask_so_often(town: Open) {
        let town = town("address-requests=2/2/2");
        let ask = || town.send("GET", "/v0/server/version", None, None);
        ask().expect(200);
        ask().expect(200);
        refused(&ask());
        town.get("/v0/server/version").expect(200);
        for watched in ["/healthz", "/metrics"] {
            assert_eq!(town.status("GET", watched), 200);
        }
    }

    fn an_address_may_guess_so_often(town: Open) {
        let town = town("address-attempts=2/2/2");
        let guess = |key: &str| town.send("GET", "/v0/users", Some(key), None);
        guess("bencher_user_wrong").expect(401);
        guess("bencher_user_wrong").expect(401);
        refused(&guess("bencher_user_wrong"));
        refused(&guess(&town.key));
        town.send("GET", "/v0/server/version", None, None)
            .expect(200);
    }

    fn a_person_may_ask_so_often_and_an_administrator_as_often_as_needed(town: Open) {
        let town = town("user-requests=2/2/2");
        let (one, other) = (town.person("one"), town.person("other"));
        let ask = |key: &str| town.send("GET", "/v0/organizations", Some(key), None);
        ask(&one).expect(200);
        ask(&one).expect(200);
        refused(&ask(&one));
        ask(&other).expect(200);
        for _ in 0..5 {
            ask(&town.key).expect(200);
        }
    }

    fn a_project_and_an_organization_take_so_many_runs_and_a_refused_one_leaves_nothing(town: Open) {
        let town = town("project-runs=2/2/2,organization-runs=3/3/3");
        let key = town.person("runs");
        let submit = |project| town.send("POST", "/v0/run", Some(&key), Some(&run(project)));
        submit("one").expect(201);
        submit("one").expect(201);
        refused(&submit("one"));
        submit("two").expect(201);
        refused(&submit("three"));
        let stats = town.get("/v0/server/stats").expect(200);
        assert_eq!(
            (&stats["reports"], &stats["projects"]),
            (&json!(3), &json!(2))
        );
    }

    fn a_run_that_is_sent_again_is_not_another_run(town: Open) {
        let town = town("project-runs=1/1/1,user-runs=9/9/9");
        let mut once = run("again");
        once["idempotency_key"] = json!("0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee");
        let first = town.post("/v0/run", &once).expect(201);
        assert_eq!(
            town.post("/v0/run", &once).expect(201)["uuid"],
            first["uuid"]
        );
        refused(&town.post("/v0/run", &run("again")));
    }

    fn runs_are_counted_by_address_or_by_person(town: Open) {
        let town = town("address-runs=1/1/1,user-runs=1/1/1");
        let key = town.person("runner-up");
        let submit =
            |key: Option<&str>, project| town.send("POST", "/v0/run", key, Some(&run(project)));
        submit(None, "open-one").expect(201);
        refused(&submit(None, "open-two"));
        submit(Some(&key), "mine").expect(201);
        refused(&submit(Some(&key), "mine"));
    }

    fn a_runner_connects_so_often(town: Open) {
        let town = town("runner-connects=1/1/1");
        let key = town.runner("eager")["key"].as_str().unwrap().to_owned();
        assert_eq!(town.upgrade("/v0/runners/eager/channel", &key), 101);
        assert_eq!(town.upgrade("/v0/runners/eager/channel", &key), 429);
    }

    fn a_runner_polls_so_often(town: Open) {
        let town = town("runner-connects=1/1/1");
        let key = town.runner("patient")["key"].as_str().unwrap().to_owned();
        let ask = json!({"poll_timeout": 0});
        let poll = || town.send("POST", "/v0/runners/patient/jobs", Some(&key), Some(&ask));
        poll().expect(200);
        refused(&poll());
    }

    fn a_report_counts_as_a_run_does(town: Open) {
        let town = town("project-runs=2/2/2");
        let key = town.person("reports");
        town.send("POST", "/v0/run", Some(&key), Some(&run("counted")))
            .expect(201);
        let report = json!({
            "branch": "main", "testbed": "host", "results": ["{}"],
            "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z",
            "settings": {"adapter": "json"},
        });
        let path = "/v0/projects/counted/reports";
        let submit = || town.send("POST", path, Some(&key), Some(&report));
        submit().expect(201);
        refused(&submit());
    }

    fn an_organization_moves_so_many_bytes_through_the_registry(town: Open) {
        let town = town("registry-bytes=100/100/100");
        let start = town.raw("POST", "/v2/heavy/blobs/uploads/", Some(&town.key), None);
        assert_eq!(start.status, 202);
        let place = start.header("location").unwrap().to_owned();
        let push = || {
            town.raw(
                "PATCH",
                &place,
                Some(&town.key),
                Some(&json!("x".repeat(200))),
            )
        };
        assert_eq!(push().status, 202);
        let answer = push();
        assert_eq!(answer.status, 429);
        assert_eq!(answer.json()["errors"][0]["code"], "TOOMANYREQUESTS");
    }

    fn the_registry_says_it_in_its_own_words(town: Open) {
        let town = town("address-requests=1/1/1");
        assert_eq!(town.status("GET", "/v2/"), 401);
        let answer = town.raw("GET", "/v2/", None, None);
        assert_eq!(answer.status, 429);
        assert_eq!(answer.json()["errors"][0]["code"], "TOOMANYREQUESTS");
        assert!(answer.header("retry-after").is_some());
    }

    fn refusals_are_counted_by_what_there_was_too_much_of(town: Open) {
        let town = town("address-requests=1/1/1,user-runs=1/1/1,registry-bytes=1/1/1");
        let key = town.person("counted");
        for _ in 0..2 {
            town.raw("GET", "/v2/", None, None);
            town.raw("POST", "/v0/run", Some(&key), Some(&run("counted")));
        }
        let start = town.raw("POST", "/v2/heavy/blobs/uploads/", Some(&town.key), None);
        let place = start.header("location").unwrap().to_owned();
        for _ in 0..2 {
            town.raw("PATCH", &place, Some(&town.key), Some(&json!("x")));
        }
        let text = Town::metrics(&town.every_door());
        for line in [
            "request_max_total 1\n",
            "run_claimed_max_total 1\n",
            "oci_bandwidth_max_total 1\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    fn what_is_limited_is_shown(town: Open) {
        let shown = |limits| town(limits).get("/v0/server/config").expect(200)["rate_limits"].clone();
        assert_eq!(shown("off"), "off");
        assert_eq!(shown("user-runs=1/2/3"), "user-runs=1/2/3");
    }
}
