use serde_json::json;

use super::on_both_engines;
use super::town::Town;

on_both_engines! {
    fn a_runners_key_is_shown_when_it_is_made_and_never_again(town: &Town) {
        let made = town.runner("r-made");
        let key = made["key"].as_str().unwrap();
        assert_eq!(key.len(), "bencher_runner_".len() + 30);
        let shown = town.get("/v0/runners/r-made").expect(200);
        assert_eq!(shown["uuid"], made["uuid"]);
        assert!(!shown.to_string().contains(key));
    }

    fn a_runner_is_found_by_uuid_and_by_slug(town: &Town) {
        let made = town.runner("r-found");
        let by_uuid = town.get(&format!("/v0/runners/{}", made["uuid"].as_str().unwrap()));
        assert_eq!(by_uuid.expect(200), town.get("/v0/runners/r-found").expect(200));
        town.get("/v0/runners/r-nowhere").expect(404);
    }

    fn a_second_runner_of_the_same_name_is_refused(town: &Town) {
        town.runner("r-twice");
        town.post("/v0/runners", &json!({"name": "r-twice"})).expect(409);
    }

    fn runners_are_filtered_searched_sorted_and_paged(town: &Town) {
        for name in ["r-page a", "r-page b", "r-page c"] {
            town.runner(name);
        }
        let names = |query: &str| {
            let answer = town.get(&format!("/v0/runners?search=r-PAGE&{query}"));
            let total = answer.total().to_owned();
            let listed = answer.expect(200);
            let names: Vec<String> = listed.as_array().unwrap().iter()
                .map(|runner| runner["name"].as_str().unwrap().to_owned()).collect();
            (names, total)
        };
        assert_eq!(names("per_page=2"), (vec!["r-page a".into(), "r-page b".into()], "3".into()));
        assert_eq!(names("per_page=2&page=2"), (vec!["r-page c".into()], "3".into()));
        assert_eq!(names("per_page=1&page=0&direction=desc"), (vec!["r-page c".into()], "3".into()));
        assert_eq!(names("sort=created&direction=asc&per_page=1"), (vec!["r-page a".into()], "3".into()));
        assert_eq!(names("name=r-page%20b"), (vec!["r-page b".into()], "1".into()));
        // The wildcard of the database is nothing special here.
        assert_eq!(town.get("/v0/runners?search=r_page").total(), "0");
        town.get("/v0/runners?sort=colour").expect(400);
        town.get("/v0/runners?per_page=256").expect(400);
    }

    fn a_runner_is_renamed_archived_and_taken_back(town: &Town) {
        town.runner("r-change");
        let renamed = town.patch("/v0/runners/r-change", &json!({"name": "Other", "slug": "r-changed"}));
        assert_eq!(renamed.expect(200)["slug"], "r-changed");
        let archived = town.patch("/v0/runners/r-changed", &json!({"archived": true})).expect(200);
        assert!(archived["archived"].is_string());
        assert_eq!(town.get("/v0/runners?search=r-changed").total(), "0");
        assert_eq!(town.get("/v0/runners?search=r-changed&archived=true").total(), "1");
        let back = town.patch("/v0/runners/r-changed", &json!({"archived": false})).expect(200);
        assert!(back["archived"].is_null());
        town.runner("r-other");
        town.patch("/v0/runners/r-other", &json!({"slug": "r-changed"})).expect(409);
    }

    fn one_credential_is_live_whichever_form_it_has(town: &Town) {
        let made = town.runner("r-rotate");
        let connect = |credential: &str| town.upgrade("/v0/runners/r-rotate/channel", credential);
        let first = made["key"].as_str().unwrap().to_owned();
        assert_eq!(connect(&first), 101);
        let token = town.send("POST", "/v0/runners/r-rotate/token", Some(&town.key), None).expect(201);
        let token = token["token"].as_str().unwrap().to_owned();
        assert_eq!(token.len(), "bencher_runner_".len() + 64);
        assert_eq!((connect(&first), connect(&token)), (401, 101));
        let key = town.send("POST", "/v0/runners/r-rotate/key", Some(&town.key), None).expect(201);
        let key = key["key"].as_str().unwrap().to_owned();
        assert_eq!((connect(&token), connect(&key)), (401, 101));
    }

    fn an_archived_runner_gets_no_credential_and_its_own_opens_nothing(town: &Town) {
        let made = town.runner("r-archived");
        town.patch("/v0/runners/r-archived", &json!({"archived": true})).expect(200);
        town.send("POST", "/v0/runners/r-archived/key", Some(&town.key), None).expect(409);
        town.send("POST", "/v0/runners/r-archived/token", Some(&town.key), None).expect(409);
        let key = made["key"].as_str().unwrap();
        assert_eq!(town.upgrade("/v0/runners/r-archived/channel", key), 401);
    }

    fn specs_are_linked_to_a_runner_once_and_unlinked_once(town: &Town) {
        town.runner("r-linked");
        let spec = town.spec("r-linked-spec");
        let body = json!({"spec": "r-linked-spec"});
        let linked = town.post("/v0/runners/r-linked/specs", &body).expect(201);
        assert_eq!(linked["uuid"], spec["uuid"]);
        town.post("/v0/runners/r-linked/specs", &body).expect(409);
        town.post("/v0/runners/r-linked/specs", &json!({"spec": "r-nowhere"})).expect(404);
        assert_eq!(town.get("/v0/runners/r-linked").expect(200)["specs"], json!([spec["uuid"]]));
        assert_eq!(town.get("/v0/runners/r-linked/specs").expect(200)[0]["uuid"], spec["uuid"]);
        let path = "/v0/runners/r-linked/specs/r-linked-spec";
        town.delete(path).expect(204);
        town.delete(path).expect(404);
    }

    fn runners_are_for_administrators(town: &Town) {
        let key = town.person("r-person");
        for (method, path) in [
            ("GET", "/v0/runners"),
            ("GET", "/v0/runners/any"),
            ("POST", "/v0/runners/any/key"),
            ("POST", "/v0/runners/any/token"),
            ("GET", "/v0/runners/any/specs"),
            ("DELETE", "/v0/runners/any/specs/any"),
        ] {
            town.send(method, path, Some(&key), None).expect(403);
            town.send(method, path, Some("bencher_user_wrong"), None).expect(401);
            // As stock servers have it.
            town.send(method, path, None, None).expect(400);
        }
    }
}
