//! `POST /v0/run`: both shapes, and everything that is refused.

use reqwest::Method;
use serde_json::{Value, json};

use crate::town::{BMF, IMAGE, Place, Town, run, text};
use crate::towns::on_both_engines;

on_both_engines!(
    a_nested_job_becomes_a_report_and_a_pending_job,
    the_older_shape_does_the_same,
    results_are_stored_at_once,
    half_a_request_is_refused,
    bodies_that_are_no_json_are_refused,
    a_spec_comes_from_the_testbed_when_none_is_named,
    an_idempotency_key_makes_one_run,
    images_come_from_the_own_registry,
    a_project_is_named_by_the_run_the_image_or_the_context,
    a_wrong_key_submits_nothing,
    without_a_key_only_unclaimed_projects_take_runs,
    a_private_project_is_not_there_for_others,
    names_and_ids_find_what_is_there,
);

async fn refused(town: &Town, body: Value, status: u16, words: &str) {
    let answer = town.post("/v0/run", body).await;
    assert_eq!(answer.status, status, "{answer:?}");
    let message = text(&answer.body["message"]);
    assert!(message.contains(words), "{message}");
    assert!(!text(&answer.body["request_id"]).is_empty());
}

async fn a_nested_job_becomes_a_report_and_a_pending_job(town: &Town) {
    let place = town.place().await;
    let more = json!({
        "cmd": ["bench"], "entrypoint": ["/bin/busybox", "sh"], "env": {"A": "1"}, "timeout": 30,
        "file_paths": ["/out/results.json"], "iter": 2, "allow_failure": true,
    });
    let answer = town.post("/v0/run", run(&place, more)).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.body["testbed"]["spec"]["slug"], place.spec.as_str());
    assert_eq!(answer.body["results"], json!([]));
    let job = town.job(&place, &text(&answer.body["job"])).await;
    assert_eq!(job["status"], "pending");
    let (_, assigned) = town.assigned(&place).await;
    assert_eq!(assigned, text(&answer.body["job"]));
}

async fn the_older_shape_does_the_same(town: &Town) {
    let place = town.place().await;
    let digest = IMAGE.split_once('@').unwrap().1;
    let body = json!({"project": place.project, "image": digest, "spec": place.spec});
    let answer = town.post("/v0/run", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.body["testbed"]["name"], place.spec.as_str());
    assert_eq!(answer.body["start_time"], answer.body["end_time"]);
    let mut channel = town.channel(&place).await;
    channel.say(json!({"event": "ready"})).await;
    let job = channel.hear().await;
    assert_eq!(job["config"]["digest"], digest);
    assert_eq!(job["timeout"], 3600);
}

async fn results_are_stored_at_once(town: &Town) {
    let place = town.place().await;
    let direct = |results: Value| {
        json!({
            "project": place.project, "branch": "main", "testbed": "tb",
            "start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:17Z",
            "results": results, "settings": {"adapter": "json"},
        })
    };
    let answer = town.post("/v0/run", direct(json!([BMF]))).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.body["job"], Value::Null);
    assert_eq!(answer.body["end_time"], "2026-11-15T08:16:17Z");
    assert_eq!(
        answer.body["results"][0][0]["measures"][0]["metric"]["value"],
        88.0
    );
    refused(
        town,
        direct(json!(["not bmf"])),
        400,
        "Failed to convert results with adapter (json)",
    )
    .await;
}

async fn half_a_request_is_refused(town: &Town) {
    let place = town.place().await;
    let project = &place.project;
    refused(
        town,
        json!({"project": project, "image": IMAGE}),
        400,
        "Spec required for runner execution",
    )
    .await;
    refused(
        town,
        json!({"project": project, "spec": place.spec}),
        400,
        "Image required for runner execution",
    )
    .await;
    refused(
        town,
        json!({"project": project, "image": IMAGE, "spec": place.spec, "results": ["{}"]}),
        400,
        "Cannot provide both results and image",
    )
    .await;
    refused(
        town,
        json!({"project": project}),
        400,
        "missing field `start_time`",
    )
    .await;
    let unknown = json!({"spec": "nope"});
    refused(town, run(&place, unknown), 404, "spec").await;
    let zero = json!({"timeout": 0});
    refused(town, run(&place, zero), 400, "Invalid timeout: 0").await;
}

async fn bodies_that_are_no_json_are_refused(town: &Town) {
    let door = town.door();
    let response = reqwest::Client::new()
        .post(format!("{}/v0/run", door.url()))
        .bearer_auth(&town.admin)
        .body("{bad")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status().as_u16(), 400);
    let body: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    assert_eq!(
        body["message"],
        "unable to parse JSON body: key must be a string at line 1 column 2"
    );
}

async fn a_spec_comes_from_the_testbed_when_none_is_named(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    let mut body = run(&place, json!({}));
    body["job"].as_object_mut().unwrap().remove("spec");
    let answer = town.post("/v0/run", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.body["testbed"]["spec"]["slug"], place.spec.as_str());
}

async fn an_idempotency_key_makes_one_run(town: &Town) {
    let place = town.place().await;
    let mut body = run(&place, json!({}));
    body["idempotency_key"] = json!("0197d1de-4848-7ff0-94d6-cb394167098c");
    let first = town.post("/v0/run", body.clone()).await;
    let (second, third) = tokio::join!(
        town.post("/v0/run", body.clone()),
        town.post("/v0/run", body.clone())
    );
    for again in [second, third] {
        assert_eq!(again.status, 201, "{again:?}");
        assert_eq!(again.body["uuid"], first.body["uuid"]);
        assert_eq!(again.body["job"], first.body["job"]);
    }
    body["idempotency_key"] = json!("not a uuid");
    refused(town, body, 400, "idempotency_key").await;
}

async fn images_come_from_the_own_registry(town: &Town) {
    let place = town.place().await;
    let foreign = json!({"image": "ghcr.io/x/image:latest"});
    refused(
        town,
        run(&place, foreign),
        400,
        "External registry 'ghcr.io' is not supported",
    )
    .await;
    let absent = json!({"image": "image:no-such-tag"});
    refused(
        town,
        run(&place, absent),
        400,
        "Failed to resolve image tag for `image:no-such-tag`: Manifest not found: no-such-tag",
    )
    .await;
    let host = town.public_url.trim_start_matches("http://");
    town.submit(&place, json!({"image": format!("{host}/{IMAGE}")}))
        .await;
}

async fn a_project_is_named_by_the_run_the_image_or_the_context(town: &Town) {
    let place = town.place().await;
    let mut body = run(&place, json!({}));
    body["project"] = Value::Null;
    body["job"]["image"] = json!(IMAGE.replacen("image", &place.project, 1));
    let answer = town.post("/v0/run", body.clone()).await;
    assert_eq!(answer.body["project"]["slug"], place.project.as_str());

    body["job"]["image"] = json!(IMAGE.split_once('@').unwrap().1);
    refused(town, body.clone(), 400, "names no project").await;
    body["context"] = json!({
        "bencher.dev/v0/repo/name": "My Repo", "bencher.dev/v0/repo/hash": "0123456789",
        "bencher.dev/v0/branch/ref/name": "feature/x",
    });
    body.as_object_mut().unwrap().remove("branch");
    let answer = town.post("/v0/run", body.clone()).await;
    assert_eq!(answer.body["project"]["slug"], "my-repo-0123456");
    assert_eq!(answer.body["branch"]["name"], "feature/x");

    body["project"] = json!("0197d1de-4848-7ff0-94d6-cb3941670000");
    refused(town, body, 404, "project").await;
}

async fn a_wrong_key_submits_nothing(town: &Town) {
    let place = town.place().await;
    let key = Some("bencher_user_000000000000000000000000000000");
    let body = run(&place, json!({}));
    let answer = town.send(Method::POST, "/v0/run", key, Some(body)).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    let path = format!("/v0/projects/{}/jobs", place.project);
    assert_eq!(town.get(&path).await.status, 404);
}

async fn without_a_key_only_unclaimed_projects_take_runs(town: &Town) {
    let (unclaimed, claimed) = (town.place().await, town.place().await);
    for _ in 0..2 {
        let body = run(&unclaimed, json!({}));
        let answer = town.send(Method::POST, "/v0/run", None, Some(body)).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(answer.body["project"]["claimed"], json!(null));
    }
    town.post("/v0/run", run(&claimed, json!({}))).await;
    let body = run(&claimed, json!({}));
    let answer = town.send(Method::POST, "/v0/run", None, Some(body)).await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

async fn a_private_project_is_not_there_for_others(town: &Town) {
    let place = town.place().await;
    let made = town.post("/v0/run", run(&place, json!({}))).await.body;
    let project = format!("/v0/projects/{}", place.project);
    let hidden = json!({"visibility": "private"});
    let answer = town
        .send(Method::PATCH, &project, Some(&town.admin), Some(hidden))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let job = format!("{project}/jobs/{}", made["job"].as_str().unwrap());
    for (method, path) in [
        (Method::GET, format!("{project}/jobs")),
        (Method::GET, job.clone()),
        (Method::GET, format!("{job}/events")),
        (Method::GET, format!("{job}/why")),
        (Method::POST, format!("{job}/cancel")),
        (Method::POST, format!("{job}/retry")),
    ] {
        let answer = town.send(method, &path, None, None).await;
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    let body = run(&place, json!({}));
    let answer = town.send(Method::POST, "/v0/run", None, Some(body)).await;
    assert_eq!(answer.status, 404, "{answer:?}");
}

async fn names_and_ids_find_what_is_there(town: &Town) {
    let place = town.place().await;
    let first = town.post("/v0/run", run(&place, json!({}))).await.body;
    let with = |branch: &Value, testbed: &Value, place: &Place| {
        let mut body = run(place, json!({}));
        body["branch"] = branch.clone();
        body["testbed"] = testbed.clone();
        body
    };
    let by_id = with(&first["branch"]["uuid"], &first["testbed"]["uuid"], &place);
    let again = town.post("/v0/run", by_id).await;
    assert_eq!(again.status, 201, "{again:?}");
    assert_eq!(again.body["branch"]["uuid"], first["branch"]["uuid"]);
    assert_eq!(again.body["testbed"]["uuid"], first["testbed"]["uuid"]);
    let nobody = json!("0197d1de-4848-7ff0-94d6-cb3941670000");
    refused(town, with(&nobody, &json!("tb"), &place), 404, "branch").await;
    refused(town, with(&json!("main"), &nobody, &place), 404, "testbed").await;
}
