//! Who may pull from and push to whose projects, each rule on both engines.

use serde_json::{Value, json};

use super::client::{Door, sha256};
use crate::answer::Answer;

/// Every test twice, each on a server of its own.
macro_rules! on_both_engines {
    ($(async fn $name:ident($village:ident: &Village) $body:block)*) => {
        $(async fn $name($village: &Village) $body)*

        mod sqlite {
            $(#[tokio::test] async fn $name() {
                super::$name(&super::Village::on("sqlite::memory:").await).await;
            })*
        }

        mod postgres {
            $(#[tokio::test] async fn $name() {
                let database = kiln_store::testing::postgres_database();
                super::$name(&super::Village::on(&database).await).await;
            })*
        }
    };
}

/// An organization with an open and a closed project, an image in each, and everybody who may ask for it.
struct Village {
    door: Door,
    leader: String,
    member: String,
    stranger: String,
    /// Of the closed project.
    project_key: String,
}

impl Village {
    async fn on(database: &str) -> Self {
        let door = Door::open_on(database).await;
        let leader = door.person("leader").await;
        let member = door.person("member").await;
        let stranger = door.person("stranger").await;
        let ours = json!({"name": "Ours", "slug": "ours"});
        door.ask(&leader, "POST", "/v0/organizations", &ours, 201)
            .await;
        for (slug, visibility) in [("open", "public"), ("closed", "private")] {
            let new = json!({"name": slug, "slug": slug, "visibility": visibility});
            let path = "/v0/organizations/ours/projects";
            door.ask(&leader, "POST", path, &new, 201).await;
            door.push_image(slug, "v1").await;
        }
        let invite = json!({"email": "member@example.com", "role": "member"});
        let path = "/v0/organizations/ours/members";
        door.ask(&leader, "POST", path, &invite, 202).await;
        let path = "/v0/projects/closed/keys";
        let made = door
            .ask(&leader, "POST", path, &json!({"name": "ci"}), 201)
            .await;
        let project_key = made["key"].as_str().unwrap().to_owned();
        Self {
            door,
            leader,
            member,
            stranger,
            project_key,
        }
    }

    /// Pulls the way docker does: a token first.
    async fn pull(&self, key: Option<&str>, name: &str) -> Answer {
        let scope = format!("repository:{name}:pull");
        let token = self.door.token_of(key, &scope).await;
        let path = format!("/v2/{name}/manifests/v1");
        self.door.call_as(&token, "GET", &path, &[], b"").await
    }

    async fn push(&self, key: Option<&str>, name: &str) -> Answer {
        let scope = format!("repository:{name}:pull,push");
        let token = self.door.token_of(key, &scope).await;
        self.push_with(&token, name).await
    }

    async fn push_with(&self, credential: &str, name: &str) -> Answer {
        let path = format!("/v2/{name}/blobs/uploads/?digest={}", sha256(b"blob"));
        self.door
            .call_as(credential, "POST", &path, &[], b"blob")
            .await
    }

    async fn ask(&self, key: &str, method: &str, path: &str, body: &Value, status: u16) -> Value {
        self.door.ask(key, method, path, body, status).await
    }

    async fn is_allowed(&self, key: &str, path: &str) -> bool {
        let answer = self.ask(key, "GET", path, &Value::Null, 200).await;
        answer["allowed"] == true
    }
}

fn complaint(answer: &Answer) -> &str {
    answer.header("WWW-Authenticate").unwrap_or_default()
}

on_both_engines! {
    async fn a_closed_project_does_not_exist_for_strangers(village: &Village) {
        for key in [None, Some(village.stranger.as_str())] {
            let hidden = village.pull(key, "closed").await;
            let unknown = village.pull(key, "nothing").await;
            hidden.expect(404, "NAME_UNKNOWN");
            assert_eq!((hidden.status, hidden.body), (unknown.status, unknown.body));
            village.push(key, "closed").await.expect(404, "NAME_UNKNOWN");
        }
        let with_key = village.push_with(&village.stranger, "closed").await;
        with_key.expect(404, "NAME_UNKNOWN");
    }

    async fn the_images_of_a_project_are_listed_for_whoever_may_pull_them(village: &Village) {
        village.door.push_image("closed/below/it", "v2").await;
        let path = "/v0/projects/closed/images";
        for key in [&village.door.key, &village.leader, &village.member, &village.project_key] {
            let listed = village.ask(key, "GET", path, &Value::Null, 200).await;
            let names: Vec<_> = listed.as_array().unwrap().iter().map(|image| (&image["repository"], &image["tag"])).collect();
            assert_eq!(names, [(&json!("closed"), &json!("v1")), (&json!("closed/below/it"), &json!("v2"))]);
        }
        let hidden = village.ask(&village.stranger, "GET", path, &Value::Null, 404).await;
        let path = "/v0/projects/nothing/images";
        let unknown = village.ask(&village.stranger, "GET", path, &Value::Null, 404).await;
        assert_eq!(hidden["message"], unknown["message"]);
        let path = "/v0/projects/open/images";
        let listed = village.ask(&village.stranger, "GET", path, &Value::Null, 200).await;
        assert_eq!(listed[0]["repository"], "open");
    }

    async fn a_list_of_images_has_pages_and_untagged_ones_and_nothing_half_pushed(village: &Village) {
        let digest = village.door.push_image("closed/signed", "v1").await;
        let path = "/v2/closed/signed/manifests/v1";
        assert_eq!(village.door.call("DELETE", path, &[], b"").await.status, 202);
        let begun = village.door.call("POST", "/v2/closed/begun/blobs/uploads/", &[], b"").await;
        assert_eq!(begun.status, 202);
        let path = "/v0/projects/closed/images?per_page=1&page=2";
        let listed = village.ask(&village.leader, "GET", path, &Value::Null, 200).await;
        assert_eq!(listed, json!([{"repository": "closed/signed"}]));
        let path = "/v0/projects/closed/images?direction=desc";
        let listed = village.ask(&village.leader, "GET", path, &Value::Null, 200).await;
        assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
        assert_eq!(listed[1]["tag"], "v1");
        let path = format!("/v2/closed/signed/manifests/{digest}");
        assert_eq!(village.door.get(&path).await.status, 200, "the image is there still");
    }

    async fn those_who_belong_to_it_pull_and_push(village: &Village) {
        let admin = village.door.key.as_str();
        for key in [admin, &village.leader, &village.member, &village.project_key] {
            assert_eq!(village.pull(Some(key), "closed").await.status, 200);
            assert_eq!(village.push(Some(key), "closed").await.status, 201);
            assert_eq!(village.push_with(key, "closed").await.status, 201);
        }
    }

    async fn anybody_pulls_from_an_open_project_and_only_members_push(village: &Village) {
        for key in [None, Some(village.stranger.as_str()), Some(&village.project_key)] {
            assert_eq!(village.pull(key, "open").await.status, 200);
            let refused = village.push(key, "open").await;
            refused.expect(401, "UNAUTHORIZED");
            assert!(complaint(&refused).ends_with(r#"error="insufficient_scope""#));
        }
        let with_key = village.push_with(&village.stranger, "open").await;
        with_key.expect(403, "DENIED");
        assert_eq!(village.push(Some(&village.member), "open").await.status, 201);
    }

    async fn a_projects_key_is_a_stranger_elsewhere_and_begins_nothing(village: &Village) {
        let new = json!({"name": "Other", "slug": "other", "visibility": "private"});
        let path = "/v0/organizations/ours/projects";
        village.ask(&village.leader, "POST", path, &new, 201).await;
        let key = Some(village.project_key.as_str());
        village.pull(key, "other").await.expect(404, "NAME_UNKNOWN");
        village.push(key, "other").await.expect(404, "NAME_UNKNOWN");
        village.push(key, "begun").await.expect(404, "NAME_UNKNOWN");
        assert_eq!(village.push(None, "nobodys").await.status, 201);
        village.push(key, "nobodys").await.expect(401, "UNAUTHORIZED");
    }

    async fn a_new_slug_belongs_to_whoever_pushed_it(village: &Village) {
        let pushed = village.push(Some(&village.stranger), "begun/image").await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        let path = "/v0/projects/begun/allowed/manage";
        assert!(village.is_allowed(&village.stranger, path).await);
        assert!(!village.is_allowed(&village.leader, path).await);
        let unknown = "01234567-89ab-4def-8123-456789abcdef";
        let pushed = village.push(Some(&village.stranger), unknown).await;
        pushed.expect(404, "NAME_UNKNOWN");
    }

    async fn what_nobody_claimed_is_everybodys_until_somebody_does(village: &Village) {
        for key in [None, Some(village.stranger.as_str()), None] {
            assert_eq!(village.push(key, "nobodys").await.status, 201);
        }
        let project = village
            .ask(&village.stranger, "GET", "/v0/projects/nobodys", &Value::Null, 200)
            .await;
        let organization = project["organization"].as_str().unwrap();
        let path = format!("/v0/organizations/{organization}/claim");
        village.ask(&village.member, "POST", &path, &json!({}), 201).await;
        for key in [None, Some(village.stranger.as_str())] {
            village.push(key, "nobodys").await.expect(401, "UNAUTHORIZED");
        }
        assert_eq!(village.push(Some(&village.member), "nobodys").await.status, 201);
    }

    async fn a_locked_person_is_out_at_once(village: &Village) {
        let token = village
            .door
            .token_of(Some(&village.member), "repository:closed:pull,push")
            .await;
        assert_eq!(village.push_with(&token, "closed").await.status, 201);
        let lock = json!({"locked": true});
        village.ask(&village.door.key, "PATCH", "/v0/users/member", &lock, 200).await;
        for credential in [token.as_str(), &village.member] {
            let refused = village.push_with(credential, "closed").await;
            refused.expect(401, "UNAUTHORIZED");
            assert!(complaint(&refused).ends_with(r#"error="invalid_token""#));
        }
    }

    async fn a_member_who_leaves_is_a_stranger_at_once(village: &Village) {
        let token = village
            .door
            .token_of(Some(&village.member), "repository:closed:pull,push")
            .await;
        let path = "/v0/organizations/ours/members/member";
        village.ask(&village.leader, "DELETE", path, &Value::Null, 204).await;
        village.push_with(&token, "closed").await.expect(404, "NAME_UNKNOWN");
    }

    async fn a_revoked_key_opens_nothing(village: &Village) {
        let scope = "repository:closed:pull,push";
        let token = village.door.token_of(Some(&village.project_key), scope).await;
        let path = "/v0/projects/closed/keys";
        let keys = village.ask(&village.leader, "GET", path, &Value::Null, 200).await;
        let path = format!("{path}/{}", keys[0]["uuid"].as_str().unwrap());
        village.ask(&village.leader, "DELETE", &path, &Value::Null, 204).await;
        for credential in [token.as_str(), &village.project_key] {
            village.push_with(credential, "closed").await.expect(401, "UNAUTHORIZED");
        }
    }

    async fn what_a_persons_key_was_exchanged_for_dies_with_the_key(village: &Village) {
        let (door, scope) = (&village.door, "repository:closed:pull,push");
        let path = "/v0/users/leader/keys";
        let made = village.ask(&village.leader, "POST", path, &json!({"name": "laptop"}), 201).await;
        let key = made["key"].as_str().unwrap();
        let token = door.token_of(Some(key), scope).await;
        assert_eq!(village.push_with(&token, "closed").await.status, 201);
        let path = format!("{path}/{}", made["uuid"].as_str().unwrap());
        village.ask(&village.leader, "DELETE", &path, &Value::Null, 204).await;
        village.push_with(&token, "closed").await.expect(401, "UNAUTHORIZED");
        let other = door.token_of(Some(&village.leader), scope).await;
        assert_eq!(village.push_with(&other, "closed").await.status, 201, "a key of its own");
    }

    async fn a_blob_of_a_hidden_project_is_not_found_for_a_stranger(village: &Village) {
        let path = format!("/v2/begun/blobs/uploads/?mount={}", sha256(b"v1"));
        village.ask(&village.leader, "DELETE", "/v0/projects/open", &Value::Null, 204).await;
        for (key, status) in [(&village.stranger, 202), (&village.member, 201)] {
            let answer = village.door.call_as(key, "POST", &path, &[], b"").await;
            assert_eq!(answer.status, status, "{answer:?}");
            let begun = "/v0/projects/begun";
            village.ask(key, "DELETE", begun, &Value::Null, 204).await;
        }
    }

    async fn a_deleted_project_is_gone_and_so_is_what_its_key_opens(village: &Village) {
        let path = "/v0/projects/closed";
        village.ask(&village.leader, "DELETE", path, &Value::Null, 204).await;
        let gone = village.pull(Some(&village.leader), "closed").await;
        gone.expect(404, "NAME_UNKNOWN");
        let refused = village.push_with(&village.project_key, "closed").await;
        refused.expect(401, "UNAUTHORIZED");
    }

    async fn a_blob_of_a_hidden_project_is_not_mounted(village: &Village) {
        let scopes = "repository:begun:pull,push&scope=repository:closed:pull";
        let digest = sha256(b"v1");
        for (key, status) in [(&village.stranger, 202), (&village.member, 201)] {
            let token = village.door.token_of(Some(key), scopes).await;
            for parameter in ["mount", "digest"] {
                let path = format!("/v2/begun/blobs/uploads/?{parameter}={digest}&from=closed");
                let answer = village.door.call_as(&token, "POST", &path, &[], b"").await;
                assert_eq!(answer.status, status, "{parameter}: {answer:?}");
            }
            let path = "/v0/projects/begun";
            village.ask(key, "DELETE", path, &Value::Null, 204).await;
        }
    }
}
