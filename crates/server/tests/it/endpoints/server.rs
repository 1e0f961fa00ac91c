use serde_json::json;

use super::on_both_engines;
use super::town::Town;
use crate::ways::Ways;

on_both_engines! {
    fn anybody_may_ask_for_the_version_with_two_slashes_too(town: &Town) {
        for path in ["/v0/server/version", "//v0/server/version"] {
            let answer = town.send("GET", path, None, None);
            assert!(answer.expect(200)["version"].is_string());
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        }
        let console = town.send("GET", "/v0/server/config/console", None, None).expect(200);
        assert!(console["url"].as_str().unwrap().ends_with('/'));
    }

    fn configuration_counts_and_the_audit_log_are_for_administrators(town: &Town) {
        let key = town.person("v-person");
        for path in ["/v0/server/config", "/v0/server/stats", "/v0/server/audit"] {
            town.get(path).expect(200);
            town.send("GET", path, Some(&key), None).expect(403);
        }
        let stats = town.get("/v0/server/stats").expect(200);
        assert!(stats["users"].as_i64().unwrap() >= 2, "{stats}");
        assert_eq!(stats["jobs"]["pending"], 0);
    }

    fn what_administrators_do_is_written_down(town: &Town) {
        let runner = town.runner("v-audited");
        town.patch("/v0/runners/v-audited", &json!({"archived": true})).expect(200);
        let subject = format!("runner:{}", runner["uuid"].as_str().unwrap());
        let answer = town.get(&format!("/v0/server/audit?search={subject}"));
        assert_eq!(answer.total(), "2");
        let log = answer.expect(200);
        assert_eq!((log[0]["action"].as_str(), log[1]["action"].as_str()), (Some("runner.update"), Some("runner.create")));
        assert!(log[0]["actor"].as_str().unwrap().starts_with("user:"), "{log}");
        let page = town.get(&format!("/v0/server/audit?search={subject}&per_page=1&page=2")).expect(200);
        assert_eq!(page[0], log[1]);
    }

    fn browsers_are_told_what_a_path_takes(town: &Town) {
        let answer = town.send("OPTIONS", "/v0/runners/any/specs", None, None);
        assert!(answer.expect(200).is_null());
        assert_eq!(answer.header("access-control-allow-methods"), Some("GET, POST"));
        town.send("OPTIONS", "/v0/nowhere", None, None).expect(404);
        town.send("DELETE", "/v0/runners", Some(&town.key), None).expect(405);
    }

    fn a_body_that_is_no_json_is_a_bad_request(town: &Town) {
        let answer = town.post("/v0/runners", &json!([1, 2]));
        assert!(answer.expect(400)["message"].as_str().unwrap().starts_with("unable to parse JSON body"));
        let answer = town.send("POST", "/v0/runners", Some(&town.key), None);
        answer.expect(400);
    }

    fn what_is_left_to_others_says_what_to_do_instead(town: &Town) {
        let key = town.person("v-stock");
        for (method, path) in [
            ("POST", "/v0/auth/signup"), ("POST", "/v0/auth/login"), ("POST", "/v0/auth/confirm"), ("POST", "/v0/auth/accept"),
            ("GET", "/v0/auth/github"), ("POST", "/v0/auth/github"), ("GET", "/v0/auth/google"), ("POST", "/v0/auth/google"),
            ("POST", "/v0/checkout"),
        ] {
            let refused = town.send(method, path, None, Some(&json!({}))).expect(501);
            assert_eq!(refused["error_code"], "not_supported", "{path}");
        }
        town.project(&key, "v-sso", "public");
        let path = "/v0/organizations/v-sso/sso";
        assert_eq!(town.send("GET", path, Some(&key), None).expect(200), json!([]));
        town.send("POST", path, Some(&key), Some(&json!({"domain": "example.com"}))).expect(501);
        town.send("GET", &format!("{path}/example.com"), Some(&key), None).expect(404);
        town.send("DELETE", &format!("{path}/example.com"), Some(&key), None).expect(404);
    }

    fn a_database_without_a_file_is_not_backed_up_here(town: &Town) {
        let refused = town.post("/v0/server/backup", &json!({})).expect(501);
        assert!(refused["message"].as_str().unwrap().contains("backed up"), "{refused}");
        let key = town.person("v-backup");
        town.send("POST", "/v0/server/backup", Some(&key), Some(&json!({}))).expect(403);
    }

    fn an_array_is_not_taken_for_an_object(town: &Town) {
        town.post("/v0/runners", &json!(["v-array"])).expect(400);
        town.get("/v0/runners/v-array").expect(404);
    }
}

#[test]
fn a_backup_is_a_file_of_its_own_and_smaller_when_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("kiln.db");
    let backups = tempfile::tempdir().unwrap();
    let ways = Ways {
        backups: Some(backups.path().to_owned()),
        ..Ways::default()
    };
    let town = Town::open(database.to_str().unwrap(), ways);
    let back_up = |body| {
        let made = town.post("/v0/server/backup", &body).expect(201);
        assert!(made["created"].is_string(), "{made}");
        std::fs::read(backups.path().join(made["file"].as_str().unwrap())).unwrap()
    };
    let plain = back_up(json!({}));
    assert!(plain.starts_with(b"SQLite format 3\0"));
    let squeezed = back_up(json!({"compress": true}));
    assert!(squeezed.starts_with(&[0x1f, 0x8b]));
    assert!(squeezed.len() < plain.len());
    let elsewhere = json!({"data_store": "aws_s3"});
    town.post("/v0/server/backup", &elsewhere).expect(501);
    assert_eq!(std::fs::read_dir(backups.path()).unwrap().count(), 2);
}
