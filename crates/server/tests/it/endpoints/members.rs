use serde_json::json;

use super::on_both_engines;
use super::town::Town;

on_both_engines! {
    fn whoever_makes_an_organization_leads_it(town: &Town) {
        let key = town.person("m-maker");
        let new = json!({"name": "M Org"});
        let made = town.send("POST", "/v0/organizations", Some(&key), Some(&new)).expect(201);
        assert!(made["claimed"].is_string());
        let members = town.send("GET", "/v0/organizations/m-org/members", Some(&key), None).expect(200);
        assert_eq!((members[0]["slug"].as_str(), members[0]["role"].as_str()), (Some("m-maker"), Some("leader")));
        let mine = town.send("GET", "/v0/organizations?search=m-", Some(&key), None);
        // Their own, and this one.
        assert_eq!(mine.total(), "2");
    }

    fn people_who_come_join_and_claim_are_counted(town: &Town) {
        let counting = town.every_door();
        let (one, other) = (town.person("m-counted"), town.person("m-counts"));
        town.project(&one, "m-count", "private");
        let invite = json!({"email": "m-counts@example.com", "role": "member"});
        town.send("POST", "/v0/organizations/m-count/members", Some(&one), Some(&invite)).expect(202);
        let run = json!({"project": "m-claimed", "branch": "main", "testbed": "here", "results": ["{}"],
            "start_time": "2024-01-01T00:00:00Z", "end_time": "2024-01-01T00:00:01Z"});
        let report = town.send("POST", "/v0/run", None, Some(&run)).expect(201);
        let organization = report["project"]["organization"].as_str().unwrap();
        let path = format!("/v0/organizations/{organization}/claim");
        town.send("POST", &path, Some(&other), Some(&json!({}))).expect(201);
        let text = Town::metrics(&counting);
        for name in ["user_create_total ", "user_invite_total ", "user_claim_total "] {
            assert!(text.contains(name), "{name} is not in\n{text}");
        }
    }

    fn an_organization_is_hidden_from_those_who_are_not_in_it(town: &Town) {
        let (owner, other) = (town.person("m-owner"), town.person("m-other"));
        town.project(&owner, "m-hidden", "private");
        for path in ["", "/members", "/plan", "/usage", "/sso", "/projects", "/allowed/view"] {
            let path = format!("/v0/organizations/m-hidden{path}");
            town.send("GET", &path, Some(&owner), None).expect(200);
            town.send("GET", &path, Some(&other), None).expect(404);
        }
        let renamed = json!({"name": "Mine"});
        town.send("PATCH", "/v0/organizations/m-hidden", Some(&other), Some(&renamed)).expect(404);
        town.send("DELETE", "/v0/organizations/m-hidden", Some(&other), None).expect(404);
        town.send("POST", "/v0/organizations/m-hidden/claim", Some(&other), None).expect(404);
    }

    fn members_are_invited_promoted_and_removed(town: &Town) {
        let (leader, plain) = (town.person("m-leader"), town.person("m-plain"));
        town.project(&leader, "m-team", "private");
        let call = |method: &str, path: &str, key: &str, body: Option<serde_json::Value>| {
            town.send(method, &format!("/v0/organizations/m-team{path}"), Some(key), body.as_ref())
        };
        let invite = json!({"email": "m-plain@example.com", "role": "member"});
        let invited = call("POST", "/members", &leader, Some(invite.clone())).expect(202);
        assert_eq!(invited, json!({"email": "m-plain@example.com"}));
        call("POST", "/members", &leader, Some(invite.clone())).expect(409);
        // A member sees, but does not manage.
        call("GET", "/members/m-plain", &plain, None).expect(200);
        call("POST", "/members", &plain, Some(invite)).expect(403);
        call("PATCH", "", &plain, Some(json!({"name": "x"}))).expect(403);
        call("DELETE", "/members/m-leader", &plain, None).expect(403);
        assert_eq!(call("GET", "/allowed/create", &plain, None).expect(200)["allowed"], true);
        assert_eq!(call("GET", "/allowed/delete", &plain, None).expect(200)["allowed"], false);
        let promoted = call("PATCH", "/members/m-plain", &leader, Some(json!({"role": "leader"})));
        assert_eq!(promoted.expect(200)["role"], "leader");
        call("DELETE", "/members/m-leader", &plain, None).expect(204);
        call("GET", "", &leader, None).expect(404);
        // Somebody has to stay.
        call("DELETE", "/members/m-plain", &plain, None).expect(409);
        call("PATCH", "/members/m-plain", &plain, Some(json!({"role": "member"}))).expect(409);
    }

    fn an_invitation_makes_an_account_for_somebody_new(town: &Town) {
        let leader = town.person("m-host");
        town.project(&leader, "m-guests", "private");
        let invite = json!({"email": "m-guest@example.com", "role": "member"});
        town.send("POST", "/v0/organizations/m-guests/members", Some(&leader), Some(&invite)).expect(202);
        assert_eq!(town.get("/v0/users/m-guest").expect(200)["email"], "m-guest@example.com");
        let strange = json!({"email": "m-guest@example.com", "role": "king"});
        town.send("POST", "/v0/organizations/m-guests/members", Some(&leader), Some(&strange)).expect(400);
    }

    fn plans_are_enterprise_until_an_administrator_says_otherwise(town: &Town) {
        let key = town.person("m-payer");
        town.project(&key, "m-plan", "public");
        let path = "/v0/organizations/m-plan/plan";
        assert_eq!(town.send("GET", path, Some(&key), None).expect(200)["level"], "enterprise");
        let free = json!({"level": "free"});
        town.send("PATCH", path, Some(&key), Some(&free)).expect(403);
        assert_eq!(town.patch(path, &free).expect(200)["level"], "free");
        assert_eq!(town.get(path).expect(200)["level"], "free");
        town.patch(path, &json!({"level": "gold"})).expect(400);
        town.patch(path, &json!({})).expect(400);
        let named = town.patch(path, &json!({"customer": "cus_1"})).expect(200);
        assert_eq!((&named["level"], &named["customer"]), (&json!("free"), &json!("cus_1")));
        assert_eq!(town.patch(path, &json!({"customer": ""})).expect(200).get("customer"), None);
        let team = json!({"level": "team", "customer": "cus_2"});
        town.send("POST", path, Some(&key), Some(&team)).expect(403);
        assert_eq!(town.post(path, &team).expect(201)["level"], "team");
        town.send("DELETE", path, Some(&key), None).expect(403);
        town.send("DELETE", path, Some(&town.key), None).expect(204);
        let after = town.get(path).expect(200);
        assert_eq!((&after["level"], after.get("customer")), (&json!("enterprise"), None));
    }

    fn a_deleted_organization_takes_its_projects_along_and_gives_its_slug_back(town: &Town) {
        let key = town.person("m-deleter");
        town.project(&key, "m-deleted", "public");
        town.send("DELETE", "/v0/organizations/m-deleted", Some(&key), None).expect(204);
        town.send("GET", "/v0/organizations/m-deleted", Some(&key), None).expect(404);
        town.send("GET", "/v0/projects/m-deleted", Some(&key), None).expect(404);
        let again = json!({"name": "x", "slug": "m-deleted"});
        let made = town.send("POST", "/v0/organizations", Some(&key), Some(&again)).expect(201);
        assert_eq!(made["slug"], "m-deleted");
    }
}
