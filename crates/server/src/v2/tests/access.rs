use super::client::{Door, basic};
use crate::token::{Action, Audience};

#[tokio::test]
async fn a_stranger_is_sent_to_the_token_endpoint() {
    let door = Door::open().await;
    let ping = door.send("GET", "/v2/", &[], b"").await;
    ping.expect(401, "UNAUTHORIZED");
    let realm = format!("{}/v0/auth/oci/token", door.app.public_url);
    assert_eq!(
        ping.header("WWW-Authenticate").unwrap(),
        format!(r#"Bearer realm="{realm}",service="127.0.0.1""#)
    );
    assert_eq!(
        ping.header("Docker-Distribution-API-Version"),
        Some("registry/2.0")
    );
    let pull = door.send("GET", "/v2/p/a/manifests/v1", &[], b"").await;
    assert_eq!(
        pull.header("WWW-Authenticate").unwrap(),
        format!(r#"Bearer realm="{realm}",service="127.0.0.1",scope="repository:p/a:pull""#)
    );
    let push = door.send("POST", "/v2/p/blobs/uploads/", &[], b"").await;
    assert!(
        push.header("WWW-Authenticate")
            .unwrap()
            .ends_with(r#"scope="repository:p:pull,push""#)
    );
}

#[tokio::test]
async fn a_key_and_a_token_answer_the_ping() {
    let door = Door::open().await;
    let token = door.token("repository:p:pull").await;
    for credential in [door.key.as_str(), token.as_str()] {
        let ping = door.call_as(credential, "GET", "/v2/", &[], b"").await;
        assert_eq!((ping.status, ping.body.as_slice()), (200, b"{}".as_slice()));
    }
    for credential in [
        "bencher_user_wrong",
        "nonsense",
        door.runner_token("p").as_str(),
    ] {
        door.call_as(credential, "GET", "/v2/", &[], b"")
            .await
            .expect(401, "UNAUTHORIZED");
    }
}

#[tokio::test]
async fn the_token_endpoint_takes_a_key_as_a_password() {
    let door = Door::open().await;
    let path = "/v0/auth/oci/token?service=x&scope=repository:p:pull,push";
    let good = door
        .send(
            "GET",
            path,
            &[("Authorization", &basic("any", &door.key))],
            b"",
        )
        .await;
    let body = good.json();
    assert_eq!((good.status, &body["expires_in"]), (200, &300.into()));
    assert!(body["issued_at"].is_string());
    let claims = door
        .app
        .tokens
        .check(body["token"].as_str().unwrap(), door.app.wall())
        .unwrap();
    assert_eq!(claims.aud, Audience::Person);
    assert_eq!(
        claims.actions_in("p"),
        Some([Action::Pull, Action::Push].as_slice())
    );
    for wrong in [
        basic("any", "bencher_user_wrong"),
        "Basic !".to_owned(),
        "Digest x".to_owned(),
    ] {
        door.send("GET", path, &[("Authorization", &wrong)], b"")
            .await
            .expect(401, "UNAUTHORIZED");
    }
}

#[tokio::test]
async fn the_token_endpoint_takes_a_form() {
    let door = Door::open().await;
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let ask = |grant: &str, password: &str| {
        format!(
            "grant_type={grant}&service=x&client_id=docker&username=me%40example.com&password={password}\
             &scope=repository%3Ap%2Fa%3Apull%2Cpush%20repository%3Aq%3Apull"
        )
    };
    let good = door
        .send(
            "POST",
            "/v0/auth/oci/token",
            &form,
            ask("password", &door.key).as_bytes(),
        )
        .await;
    let body = good.json();
    assert_eq!(
        (good.status, &body["scope"]),
        (200, &"repository:p/a:pull,push repository:q:pull".into())
    );
    let token = body["access_token"].as_str().unwrap();
    assert_eq!(
        door.call_as(token, "POST", "/v2/p/a/blobs/uploads/", &[], b"")
            .await
            .status,
        202
    );
    let wrong = door
        .send(
            "POST",
            "/v0/auth/oci/token",
            &form,
            ask("password", "wrong").as_bytes(),
        )
        .await;
    assert_eq!(wrong.status, 401);
    let refresh = door
        .send(
            "POST",
            "/v0/auth/oci/token",
            &form,
            ask("refresh_token", "").as_bytes(),
        )
        .await;
    assert_eq!(
        (refresh.status, &refresh.json()["error"]),
        (400, &"unsupported_grant_type".into())
    );
}

#[tokio::test]
async fn a_token_is_good_for_its_repository_and_its_actions() {
    let door = Door::open().await;
    door.push_image("p", "v1").await;
    door.push_image("p/a", "v1").await;
    let token = door.token("repository:p:pull").await;
    assert_eq!(
        door.call_as(&token, "GET", "/v2/p/manifests/v1", &[], b"")
            .await
            .status,
        200
    );
    door.call_as(&token, "GET", "/v2/p/a/manifests/v1", &[], b"")
        .await
        .expect(401, "UNAUTHORIZED");
    door.call_as(&token, "POST", "/v2/p/blobs/uploads/", &[], b"")
        .await
        .expect(401, "UNAUTHORIZED");
    door.call_as(&token, "DELETE", "/v2/p/manifests/v1", &[], b"")
        .await
        .expect(401, "UNAUTHORIZED");
    let uuid = door.project_uuid("p").await.unwrap();
    let path = format!("/v2/{uuid}/manifests/v1");
    door.call_as(&token, "GET", &path, &[], b"")
        .await
        .expect(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn a_runner_pulls_what_its_job_needs_and_nothing_else() {
    let door = Door::open().await;
    let manifest = door.push_image("p/deep/er", "v1").await;
    let layer = super::client::sha256(b"v1");
    let other = door.push_image("q", "other").await;
    let uuid = door.project_uuid("p").await.unwrap();
    let theirs = door.project_uuid("q").await.unwrap();
    let token = door.runner_token(&uuid);
    let get = async |path: String| door.call_as(&token, "GET", &path, &[], b"").await;
    assert_eq!(
        get(format!("/v2/{uuid}/manifests/{manifest}")).await.status,
        200
    );
    assert_eq!(get(format!("/v2/{uuid}/blobs/{layer}")).await.body, b"v1");
    get(format!("/v2/{uuid}/manifests/{other}"))
        .await
        .expect(404, "MANIFEST_UNKNOWN");
    for path in [
        format!("/v2/{uuid}/tags/list"),
        format!("/v2/{uuid}/referrers/{manifest}"),
        format!("/v2/{uuid}/deep/er/manifests/v1"),
        format!("/v2/p/manifests/{manifest}"),
        format!("/v2/{theirs}/manifests/{other}"),
    ] {
        get(path).await.expect(401, "UNAUTHORIZED");
    }
    for (method, path) in [
        ("POST", format!("/v2/{uuid}/blobs/uploads/")),
        ("DELETE", format!("/v2/{uuid}/blobs/{layer}")),
        ("DELETE", format!("/v2/{uuid}/manifests/{manifest}")),
        ("PUT", format!("/v2/{uuid}/manifests/v2")),
    ] {
        door.call_as(&token, method, &path, &[], b"")
            .await
            .expect(401, "UNAUTHORIZED");
    }
}

#[tokio::test]
async fn one_token_opens_every_repository_it_was_asked_for() {
    let door = Door::open().await;
    for name in ["p", "q"] {
        door.push_image(name, "v1").await;
    }
    for scope in [
        "repository:p:pull&scope=repository:q:pull",
        "repository:p:pull%20repository:q:pull",
    ] {
        let token = door.token(scope).await;
        for (name, status) in [("p", 200), ("q", 200), ("r", 401)] {
            let path = format!("/v2/{name}/manifests/v1");
            let answer = door.call_as(&token, "GET", &path, &[], b"").await;
            assert_eq!(answer.status, status, "{scope} {name}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_refused_is_read_so_that_the_answer_arrives() {
    let door = Door::open().await;
    let body = vec![b' '; 4 * 1024 * 1024];
    for _ in 0..8 {
        let refused = door.send("PUT", "/v2/p/manifests/v1", &[], &body).await;
        refused.expect(401, "UNAUTHORIZED");
    }
}
