use serde_json::json;

use super::on_both_engines;
use super::town::Town;

on_both_engines! {
    fn a_quota_is_set_and_taken_away_in_so_many_words(town: &Town) {
        let key = town.person("quota-owner");
        town.project(&key, "quota-project", "public");
        let path = "/v0/server/registry/quotas/quota-project";
        let put = |body| town.send("PUT", path, Some(&town.key), Some(&body));
        assert_eq!(put(json!({"quota": 5})).expect(200)["quota"], 5);
        put(json!({"bytes": 0})).expect(400);
        put(json!({"quota": u64::MAX})).expect(400);
        assert_eq!(town.get(path).expect(200)["quota"], 5);
        assert!(put(json!({"quota": null})).expect(200)["quota"].is_null());
        town.send("PUT", path, Some(&key), Some(&json!({"quota": 6}))).expect(403);
    }

    fn an_array_is_no_start_point(town: &Town) {
        let run = json!({"project": "array-branches", "branch": "main", "testbed": "here", "results": ["{}"],
            "start_time": "2024-01-01T00:00:00Z", "end_time": "2024-01-01T00:00:01Z"});
        let report = town.post("/v0/run", &run).expect(201);
        let path = "/v0/projects/array-branches/branches/main";
        town.patch(path, &json!({"start_point": [null]})).expect(400);
        assert_eq!(town.get(path).expect(200)["head"]["uuid"], report["branch"]["head"]["uuid"]);
    }

    fn a_project_is_made_changed_and_deleted(town: &Town) {
        let key = town.person("q-owner");
        town.project(&key, "q-life", "public");
        let patch = |body| town.send("PATCH", "/v0/projects/q-life", Some(&key), Some(&body));
        let changed = patch(json!({"name": "Other", "url": "https://example.com/", "visibility": "private"}));
        let changed = changed.expect(200);
        assert_eq!((changed["url"].as_str(), changed["visibility"].as_str()), (Some("https://example.com/"), Some("private")));
        assert_eq!(patch(json!({})).expect(200)["url"], "https://example.com/");
        assert!(patch(json!({"url": null})).expect(200)["url"].is_null());
        patch(json!({"url": "javascript:alert(1)"})).expect(400);
        town.send("DELETE", "/v0/projects/q-life?hard=true", Some(&key), None).expect(400);
        town.send("DELETE", "/v0/projects/q-life", Some(&key), None).expect(204);
        town.send("GET", "/v0/projects/q-life", Some(&key), None).expect(404);
    }

    fn a_run_under_ones_own_name_claims_what_nobody_has(town: &Town) {
        let run = json!({
            "project": "q-nobodys", "results": ["{}"], "settings": {"adapter": "json"},
            "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z",
        });
        let submit = |key: Option<&str>| town.send("POST", "/v0/run", key, Some(&run));
        let (finder, other) = (town.person("q-finder"), town.person("q-late"));
        assert!(submit(None).expect(201)["project"]["claimed"].is_null());
        let organization = "/v0/organizations/q-nobodys";
        town.send("GET", organization, Some(&finder), None).expect(404);
        assert!(submit(Some(&finder)).expect(201)["project"]["claimed"].is_string());
        town.send("GET", organization, Some(&finder), None).expect(200);
        submit(None).expect(401);
        submit(Some(&other)).expect(403);
        submit(Some(&finder)).expect(201);
    }

    fn lists_refuse_orders_that_they_do_not_have(town: &Town) {
        let key = town.person("q-sorter");
        town.project(&key, "q-sorted", "public");
        for (list, sorts) in [
            ("branches", &["name"][..]),
            ("reports", &["date_time"]),
            ("thresholds", &["created", "modified"]),
            ("alerts", &["created", "modified"]),
            ("plots", &["index", "title"]),
            ("jobs", &["created"]),
        ] {
            let status = |query: &str| town.status("GET", &format!("/v0/projects/q-sorted/{list}?{query}"));
            for sort in sorts {
                assert_eq!(status(&format!("sort={sort}&direction=desc")), 200, "{list} by {sort}");
            }
            assert_eq!(status("sort=shoe_size"), 400, "{list}");
            assert_eq!(status("direction=up"), 400, "{list}");
        }
    }

    fn a_public_project_is_shown_to_anybody_and_changed_by_its_own(town: &Town) {
        let (owner, other) = (town.person("q-public-owner"), town.person("q-public-other"));
        town.project(&owner, "q-public", "public");
        let path = "/v0/projects/q-public";
        for key in [None, Some(other.as_str())] {
            town.send("GET", path, key, None).expect(200);
            let listed = town.send("GET", "/v0/projects?search=q-public", key, None);
            assert_eq!(listed.total(), "1");
        }
        let change = json!({"name": "Mine"});
        town.send("PATCH", path, None, Some(&change)).expect(401);
        town.send("PATCH", path, Some(&other), Some(&change)).expect(403);
        town.send("DELETE", path, None, None).expect(401);
        town.send("DELETE", path, Some(&other), None).expect(403);
        let allowed = |key: Option<&str>, what: &str| {
            town.send("GET", &format!("{path}/allowed/{what}"), key, None).expect(200)["allowed"].clone()
        };
        assert_eq!(allowed(None, "view"), true);
        assert_eq!(allowed(Some(&other), "edit"), false);
        assert_eq!(allowed(Some(&owner), "delete"), true);
    }

    fn a_private_project_does_not_exist_for_others(town: &Town) {
        let (owner, other) = (town.person("q-private-owner"), town.person("q-private-other"));
        town.project(&owner, "q-private", "private");
        for key in [None, Some(other.as_str())] {
            let hidden = town.send("GET", "/v0/projects/q-private", key, None).expect(404);
            let unknown = town.send("GET", "/v0/projects/q-nowhere", key, None).expect(404);
            assert_eq!(hidden["message"], unknown["message"]);
            assert_eq!(town.send("GET", "/v0/projects?search=q-private", key, None).total(), "0");
            town.send("DELETE", "/v0/projects/q-private", key, None).expect(404);
            town.send("GET", "/v0/projects/q-private/keys", key, None).expect(404);
        }
        assert_eq!(town.send("GET", "/v0/projects?search=q-private", Some(&owner), None).total(), "1");
        assert_eq!(town.get("/v0/projects?search=q-private").total(), "1");
    }

    fn a_projects_key_opens_that_project_only_and_manages_nothing(town: &Town) {
        let owner = town.person("q-key-owner");
        town.project(&owner, "q-keyed", "private");
        town.project(&owner, "q-locked", "private");
        let new = json!({"name": "ci"});
        let made = town.send("POST", "/v0/projects/q-keyed/keys", Some(&owner), Some(&new)).expect(201);
        let key = made["key"].as_str().unwrap().to_owned();
        assert_eq!(key.len(), "bencher_run_".len() + 30);
        let call = |method: &str, path: &str| town.send(method, path, Some(&key), Some(&new));
        call("GET", "/v0/projects/q-keyed").expect(200);
        call("GET", "/v0/projects/q-locked").expect(404);
        call("PATCH", "/v0/projects/q-keyed").expect(403);
        call("DELETE", "/v0/projects/q-keyed").expect(403);
        call("GET", "/v0/projects/q-keyed/keys").expect(403);
        call("POST", "/v0/projects/q-keyed/keys").expect(403);
        call("GET", "/v0/users").expect(403);
        call("GET", "/v0/runners").expect(403);
    }

    fn a_projects_keys_are_listed_renamed_and_revoked(town: &Town) {
        let owner = town.person("q-revoker");
        town.project(&owner, "q-revoked", "private");
        let call = |method: &str, path: &str, body: Option<serde_json::Value>| {
            town.send(method, &format!("/v0/projects/q-revoked/keys{path}"), Some(&owner), body.as_ref())
        };
        let made = call("POST", "", Some(json!({"name": "ci", "ttl": 60}))).expect(201);
        let (key, path) = (made["key"].as_str().unwrap(), format!("/{}", made["uuid"].as_str().unwrap()));
        let shown = call("GET", &path, None).expect(200);
        assert!(shown.get("key").is_none() && shown["creator"].is_string(), "{shown}");
        assert_eq!(call("PATCH", &path, Some(json!({"name": "nightly"}))).expect(200)["name"], "nightly");
        assert_eq!(call("GET", "?search=night", None).total(), "1");
        let get = || town.send("GET", "/v0/projects/q-revoked", Some(key), None);
        get().expect(200);
        call("DELETE", &path, None).expect(204);
        get().expect(401);
        assert_eq!(call("GET", "", None).total(), "0");
        assert!(call("GET", "?revoked=true", None).expect(200)[0]["revoked"].is_string());
    }

    fn a_slug_that_is_taken_gets_something_behind_it(town: &Town) {
        let key = town.person("q-twins");
        town.project(&key, "q-twin", "public");
        let new = json!({"name": "q-twin"});
        let second = town.send("POST", "/v0/organizations/q-twin/projects", Some(&key), Some(&new)).expect(201);
        assert!(second["slug"].as_str().unwrap().starts_with("q-twin-"), "{second}");
        let path = format!("/v0/projects/{}", second["uuid"].as_str().unwrap());
        town.send("PATCH", &path, Some(&key), Some(&json!({"slug": "q-twin"}))).expect(409);
        assert_eq!(town.send("GET", "/v0/organizations/q-twin/projects", Some(&key), None).total(), "2");
    }
}
