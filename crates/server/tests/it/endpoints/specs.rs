use serde_json::json;

use super::on_both_engines;
use super::town::Town;

on_both_engines! {
    fn a_name_that_is_taken_gets_a_slug_of_its_own(town: &Town) {
        town.spec("s-twin");
        let second = town.spec("s-twin");
        let slug = second["slug"].as_str().unwrap();
        assert!(slug.starts_with("s-twin-") && slug.len() == "s-twin-".len() + 8, "{slug}");
    }

    fn hardware_has_bounds(town: &Town) {
        let spec = |field: &str, value: u64| {
            let mut new = json!({
                "name": "s-bad", "os": "linux", "architecture": "aarch64", "cpu": 1, "memory": 1, "disk": 1,
            });
            new[field] = json!(value);
            town.post("/v0/specs", &new)
        };
        for field in ["cpu", "memory", "disk"] {
            spec(field, 0).expect(400);
        }
        spec("cpu", 2_147_483_648).expect(400);
        spec("memory", 9_223_372_036_854_775_808).expect(400);
        let mut new = json!({
            "name": "s-bad", "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1,
        });
        new["sandbox"] = json!("glass");
        town.post("/v0/specs", &new).expect(400);
        new["sandbox"] = json!("firecracker");
        new["os"] = json!("plan9");
        town.post("/v0/specs", &new).expect(400);
    }

    fn a_spec_that_asks_for_isolation_says_so_wherever_it_is_shown(town: &Town) {
        for (level, sandbox) in [
            ("namespace", json!(null)),
            // For runners that know only the word of stock servers.
            ("microvm", json!("firecracker")),
            ("firecracker", json!("firecracker")),
        ] {
            let slug = format!("s-isolated-{level}");
            let made = town.post("/v0/specs", &json!({
                "name": slug, "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1, "isolation": level,
            }));
            let made = made.expect(201);
            assert_eq!((&made["isolation"], &made["sandbox"]), (&json!(level), &sandbox), "{made}");
            assert_eq!(town.get(&format!("/v0/specs/{slug}")).expect(200), made);
            let renamed = town.patch(&format!("/v0/specs/{slug}"), &json!({"name": "Other", "isolation": "glass"}));
            assert_eq!(renamed.expect(200)["isolation"], level);
        }
    }

    fn a_spec_that_asks_for_no_isolation_is_shown_as_stock_servers_do(town: &Town) {
        let plain = town.spec("s-plain");
        assert!(plain.get("isolation").is_none() && plain["sandbox"].is_null(), "{plain}");
        let stock = town.post("/v0/specs", &json!({
            "name": "s-stock", "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1,
            "sandbox": "firecracker", "isolation": null,
        }));
        let stock = stock.expect(201);
        assert!(stock.get("isolation").is_none(), "{stock}");
        assert_eq!(stock["sandbox"], "firecracker");
    }

    fn an_isolation_that_does_not_exist_is_refused_with_those_that_do(town: &Town) {
        for wrong in [json!("glass"), json!("Microvm"), json!(""), json!(2)] {
            let refused = town.post("/v0/specs", &json!({
                "name": "s-bad", "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1, "isolation": wrong,
            }));
            let told = refused.expect(400).to_string();
            assert!(!wrong.is_string() || told.contains("namespace, microvm or firecracker"), "{told}");
        }
    }

    fn a_spec_is_renamed_and_its_hardware_stays(town: &Town) {
        let before = town.spec("s-change");
        let after = town.patch("/v0/specs/s-change", &json!({"name": "Other", "slug": "s-changed", "cpu": 9}));
        let after = after.expect(200);
        assert_eq!((after["name"].as_str(), after["slug"].as_str()), (Some("Other"), Some("s-changed")));
        assert_eq!(after["cpu"], before["cpu"]);
        assert_eq!(town.get("/v0/specs/s-changed").expect(200), after);
    }

    fn an_archived_spec_is_not_listed_until_it_is_taken_back(town: &Town) {
        town.spec("s-archive");
        let archived = town.patch("/v0/specs/s-archive", &json!({"archived": true, "fallback": true})).expect(200);
        assert!(archived["archived"].is_string() && archived["fallback"].is_null(), "{archived}");
        assert_eq!(town.get("/v0/specs?search=s-archive").total(), "0");
        assert_eq!(town.get("/v0/specs?search=s-archive&archived=true").total(), "1");
        let back = town.patch("/v0/specs/s-archive", &json!({"archived": false})).expect(200);
        assert!(back["archived"].is_null());
    }

    fn a_spec_that_is_in_use_is_not_deleted(town: &Town) {
        town.spec("s-used");
        town.runner("s-user");
        town.post("/v0/runners/s-user/specs", &json!({"spec": "s-used"})).expect(201);
        town.delete("/v0/specs/s-used").expect(409);
        town.delete("/v0/runners/s-user/specs/s-used").expect(204);
        town.delete("/v0/specs/s-used").expect(204);
        town.get("/v0/specs/s-used").expect(404);
    }

    fn specs_are_for_administrators_and_projects_show_them(town: &Town) {
        town.spec("s-shown");
        let key = town.person("s-person");
        town.send("GET", "/v0/specs", Some(&key), None).expect(403);
        town.send("GET", "/v0/specs/s-shown", Some(&key), None).expect(403);
        town.project(&key, "s-project", "private");
        let listed = town.send("GET", "/v0/projects/s-project/specs?search=s-shown", Some(&key), None);
        assert_eq!(listed.total(), "1");
        town.send("GET", "/v0/projects/s-project/specs/s-shown", Some(&key), None).expect(200);
        town.send("GET", "/v0/projects/s-project/specs", None, None).expect(404);
    }
}
