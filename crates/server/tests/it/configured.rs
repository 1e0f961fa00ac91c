//! What a server does only when it is told to: plans, privacy, and programs for runners.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::town::{Place, Town, completed, run, text};
use crate::towns::{Towns, on_both_engines};
use crate::ways::Ways;

const PROGRAM: &[u8] = b"a newer runner";
/// Of the program.
const CHECKSUM: &str = "7c5cef004464bbcdc0f3f47dea9b542468a2ae6c97c0668f71d6c13b61f5703d";
const VERSION: &str = env!("CARGO_PKG_VERSION");

static TOLD: Towns = Towns::of(|| Ways {
    plans: true,
    releases: Some(releases()),
    ..Ways::default()
});

mod told {
    use super::*;

    on_both_engines!(
        of crate::configured::TOLD;
        plans_decide_about_limits_and_timeouts,
        plans_decide_who_comes_first,
        runners_are_offered_newer_programs,
    );
}

static PRIVATE: Towns = Towns::of(|| Ways {
    private: true,
    ..Ways::default()
});

mod private {
    use super::*;

    on_both_engines!(of crate::configured::PRIVATE; a_private_server_takes_nothing_from_strangers);
}

/// A directory with this server's version of the runner, and something that is nobody's business.
fn releases() -> PathBuf {
    let releases = tempfile::tempdir().unwrap().keep();
    let release = releases.join(format!("v{VERSION}"));
    std::fs::create_dir(&release).unwrap();
    let name = format!("runner-v{VERSION}-linux-x86-64");
    std::fs::write(release.join(&name), PROGRAM).unwrap();
    let checksum = format!("{CHECKSUM}  {name}\n");
    std::fs::write(release.join(format!("{name}.sha256")), checksum).unwrap();
    std::fs::write(release.join("secret"), "not for download").unwrap();
    releases
}

/// A stranger's jobs run for a minute, one at a time from an address, until somebody claims the organization.
async fn plans_decide_about_limits_and_timeouts(town: &Town) {
    let place = town.place().await;
    let anonymous = async || {
        let answer = town
            .submit_as_a_stranger(&place, json!({"timeout": 3600}))
            .await;
        assert_eq!(answer.status, 201, "{answer:?}");
        text(&answer.body["job"])
    };
    anonymous().await;
    let second = anonymous().await;
    let mut channel = town.channel(&place).await;
    channel.say(json!({"event": "ready"})).await;
    let job = channel.hear().await;
    assert_eq!(job["timeout"], 60, "{job}");
    let why = async || {
        let path = format!("/v0/projects/{}/jobs/{second}/why", place.project);
        town.get(&path).await.body
    };
    assert_eq!(why().await["blocker"], "limit");
    let claim = format!("/v0/organizations/{}/claim", place.project);
    assert_eq!(town.post(&claim, Value::Null).await.status, 201);
    assert_eq!(why().await["blocker"], "runners_busy");
    // As a free plan has it from now on.
    let third = text(&town.post("/v0/run", run(&place, json!({}))).await.body["job"]);
    let path = format!("/v0/projects/{}/jobs/{third}/why", place.project);
    assert_eq!(town.get(&path).await.body["blocker"], "limit");
}

/// Whoever comes last is first, if their plan is the better one.
async fn plans_decide_who_comes_first(town: &Town) {
    let place = town.place().await;
    let mut jobs = Vec::new();
    for level in ["unclaimed", "free", "team", "enterprise"] {
        let project = format!("{}-{level}", place.project);
        let of = Place {
            project: project.clone(),
            ..place.clone()
        };
        if level == "unclaimed" {
            let answer = town.submit_as_a_stranger(&of, json!({})).await;
            assert_eq!(answer.status, 201, "{answer:?}");
            jobs.push(text(&answer.body["job"]));
            continue;
        }
        let new = json!({"name": project});
        let made = town.post("/v0/organizations", new.clone()).await;
        assert_eq!(made.status, 201, "{made:?}");
        let organization = format!("/v0/organizations/{project}");
        let made = town.post(&format!("{organization}/projects"), new).await;
        assert_eq!(made.status, 201, "{made:?}");
        let plan = Some(json!({"level": level}));
        let path = format!("{organization}/plan");
        let patched = town.send(reqwest::Method::PATCH, &path, Some(&town.admin), plan);
        assert_eq!(patched.await.status, 200);
        jobs.push(town.submit(&of, json!({})).await);
    }
    let mut channel = town.channel(&place).await;
    for expected in jobs.iter().rev() {
        channel.say(json!({"event": "ready"})).await;
        assert_eq!(channel.hear().await["uuid"], expected.as_str());
        channel.say(completed(expected)).await;
        channel.hear().await;
    }
}

/// A runner of another version is offered this server's once; it can fetch it, and nothing else.
async fn runners_are_offered_newer_programs(town: &Town) {
    let _counting = town.every_door();
    let updating = "runner_state{state=\"updating\"} 1";
    // One that was interrupted may still be there.
    while town.metrics().await.contains(updating) {}
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    let ready = |version: &str| json!({"event": "ready", "poll_timeout": 1, "runner": {"os": "linux", "arch": "x86_64", "version": version}});
    channel.say(ready("0.0.1")).await;
    let offer = channel.hear().await;
    assert_eq!(offer["event"], "update", "{offer}");
    assert_eq!(offer["version"], VERSION);
    assert_eq!(offer["checksum"], CHECKSUM);
    assert!(town.metrics().await.contains(updating));
    let url = text(&offer["url"]).replace(&town.public_url, town.door().url());
    let fetched = reqwest::get(&url).await.unwrap().bytes().await.unwrap();
    assert_eq!(&fetched[..], PROGRAM);
    let (directory, _) = url.rsplit_once('/').unwrap();
    for other in ["secret", "runner-none", "..%2f..%2fetc%2fpasswd"] {
        let status = reqwest::get(format!("{directory}/{other}"))
            .await
            .unwrap()
            .status();
        assert_eq!(status.as_u16(), 404, "{other}");
    }
    channel.say(ready(VERSION)).await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    let sent = "runner_self_update_sent_total{update_channel=\"stable\"}";
    let counted = town.metrics().await;
    assert!(counted.contains(sent), "{counted}");
    assert!(!counted.contains(updating), "{counted}");
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
}

/// A private server wants to know who submits; what it shows stays shown.
async fn a_private_server_takes_nothing_from_strangers(town: &Town) {
    let place = town.place().await;
    let submit = async |key: Option<&str>| {
        let body = Some(run(&place, json!({})));
        let answer = town.send(reqwest::Method::POST, "/v0/run", key, body);
        answer.await.status
    };
    assert_eq!(submit(None).await, 401);
    let scope = format!("repository:{}:pull,push", place.project);
    let path = format!("/v0/auth/oci/token?scope={scope}");
    let token = town.send(reqwest::Method::GET, &path, None, None).await;
    let token = text(&token.body["token"]);
    let path = format!("/v2/{}/blobs/uploads/", place.project);
    let push = town.send(reqwest::Method::POST, &path, Some(&token), None);
    assert_eq!(push.await.status, 401);
    let path = format!("/v0/projects/{}", place.project);
    assert_eq!(town.get(&path).await.status, 404);
    assert_eq!(submit(Some(&town.admin)).await, 201);
    let seen = town.send(reqwest::Method::GET, &path, None, None).await;
    assert_eq!(seen.status, 200);
}
