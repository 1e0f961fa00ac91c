use serde_json::json;

use super::on_both_engines;
use super::town::Town;

on_both_engines! {
    fn people_are_made_listed_and_shown(town: &Town) {
        let new = json!({"name": "P Made", "email": "p-made@example.com"});
        let made = town.post("/v0/users", &new).expect(201);
        assert_eq!((made["slug"].as_str(), made["admin"].as_bool()), (Some("p-made"), Some(false)));
        assert_eq!(town.get("/v0/users?search=p-made").expect(200)[0], made);
        assert_eq!(town.get("/v0/users/p-made").expect(200), made);
        town.post("/v0/users", &new).expect(409);
        let bad = json!({"name": "P Bad", "email": "nowhere"});
        town.post("/v0/users", &bad).expect(400);
    }

    fn people_see_themselves_and_nobody_else(town: &Town) {
        let (one, _) = (town.person("p-one"), town.person("p-two"));
        let get = |path: &str| town.send("GET", path, Some(&one), None);
        get("/v0/users/p-one").expect(200);
        let forbidden = get("/v0/users/p-two").expect(404);
        let unknown = get("/v0/users/p-nobody").expect(404);
        assert_eq!(forbidden["message"], unknown["message"]);
        get("/v0/users").expect(403);
        town.send("GET", "/v0/users/p-one", None, None).expect(400);
    }

    fn people_rename_themselves_and_only_administrators_do_more(town: &Town) {
        let key = town.person("p-rename");
        let patch = |body| town.send("PATCH", "/v0/users/p-rename", Some(&key), Some(&body));
        assert_eq!(patch(json!({"name": "Renamed"})).expect(200)["name"], "Renamed");
        patch(json!({"admin": true})).expect(403);
        patch(json!({"locked": false})).expect(403);
        patch(json!({"email": "other@example.com"})).expect(403);
    }

    // The only test that makes a second administrator: while there is one, the first may leave.
    fn administrators_come_and_go_and_the_last_one_stays(town: &Town) {
        town.person("p-admin");
        let made = town.patch("/v0/users/p-admin", &json!({"admin": true})).expect(200);
        assert_eq!(made["admin"], true);
        town.patch("/v0/users/p-admin", &json!({"admin": false})).expect(200);
        town.patch("/v0/users/admin", &json!({"admin": false})).expect(409);
        town.patch("/v0/users/admin", &json!({"locked": true})).expect(409);
    }

    fn a_locked_persons_keys_open_nothing(town: &Town) {
        let key = town.person("p-locked");
        town.send("GET", "/v0/users/p-locked", Some(&key), None).expect(200);
        town.patch("/v0/users/p-locked", &json!({"locked": true})).expect(200);
        town.send("GET", "/v0/users/p-locked", Some(&key), None).expect(401);
        town.patch("/v0/users/p-locked", &json!({"locked": false})).expect(200);
        town.send("GET", "/v0/users/p-locked", Some(&key), None).expect(200);
    }

    fn a_key_is_shown_once_renamed_and_revoked(town: &Town) {
        let key = town.person("p-keys");
        let call = |method: &str, path: &str, body: Option<&serde_json::Value>| {
            town.send(method, &format!("/v0/users/p-keys/keys{path}"), Some(&key), body)
        };
        let made = call("POST", "", Some(&json!({"name": "laptop", "ttl": 3600}))).expect(201);
        let second = made["key"].as_str().unwrap().to_owned();
        assert_eq!(second.len(), "bencher_user_".len() + 30);
        let path = format!("/{}", made["uuid"].as_str().unwrap());
        let shown = call("GET", &path, None).expect(200);
        assert!(shown.get("key").is_none() && shown.get("revoked").is_none(), "{shown}");
        assert_eq!(call("PATCH", &path, Some(&json!({"name": "desk"}))).expect(200)["name"], "desk");
        assert_eq!(call("GET", "?name=desk", None).total(), "1");
        town.send("GET", "/v0/users/p-keys", Some(&second), None).expect(200);
        call("DELETE", &path, None).expect(204);
        town.send("GET", "/v0/users/p-keys", Some(&second), None).expect(401);
        assert_eq!(call("GET", "?name=desk", None).total(), "0");
        assert_eq!(call("GET", "?name=desk&revoked=true", None).total(), "1");
        call("POST", "", Some(&json!({"name": "never", "ttl": 0}))).expect(400);
    }

    fn keys_of_others_are_out_of_reach(town: &Town) {
        let (key, _) = (town.person("p-thief"), town.person("p-victim"));
        let own = town.get("/v0/users/p-victim/keys").expect(200)[0]["uuid"].as_str().unwrap().to_owned();
        let path = format!("/v0/users/p-victim/keys/{own}");
        for method in ["GET", "DELETE"] {
            town.send(method, &path, Some(&key), None).expect(404);
        }
        // Nor by the way of one's own account.
        let path = format!("/v0/users/p-thief/keys/{own}");
        town.send("GET", &path, Some(&key), None).expect(404);
        let new = json!({"name": "x"});
        town.send("POST", "/v0/users/p-victim/keys", Some(&key), Some(&new)).expect(404);
    }

    fn tokens_are_a_thing_of_the_past(town: &Town) {
        town.post("/v0/users/admin/tokens", &json!({"name": "x", "ttl": 1})).expect(403);
        assert_eq!(town.get("/v0/users/admin/tokens").expect(200), json!([]));
    }
}
