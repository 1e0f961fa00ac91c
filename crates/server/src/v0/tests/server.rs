use serde_json::json;

use super::on_both_engines;
use super::town::Town;

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

    fn an_array_is_not_taken_for_an_object(town: &Town) {
        town.post("/v0/runners", &json!(["v-array"])).expect(400);
        town.get("/v0/runners/v-array").expect(404);
    }
}
