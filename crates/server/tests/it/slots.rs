//! Runners that carry several jobs at once: a channel for each slot.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error;

use crate::town::{Channel, Place, Town, ack, completed, text};
use crate::towns::on_both_engines;

on_both_engines!(
    two_slots_run_two_jobs_that_share_at_once,
    a_job_of_its_own_waits_for_the_other_slot_and_then_runs_alone,
    what_comes_later_does_not_overtake_a_job_of_its_own,
    a_job_that_a_slot_cannot_take_goes_to_another_runner,
    a_slot_that_stepped_aside_goes_on_when_another_runner_was_faster,
    a_slot_re_attaches_to_its_own_job,
    a_slot_that_is_ready_again_has_forgotten_only_its_own_job,
    a_channel_of_the_same_slot_supersedes_only_that_one,
    a_channel_with_another_number_of_slots_supersedes_all_of_them,
    a_cancel_reaches_only_the_slot_that_runs_the_job,
    a_drained_runner_is_given_nothing_in_any_slot,
    a_rotated_key_closes_the_channels_of_all_slots,
    slots_that_do_not_exist_are_refused,
    a_server_says_that_it_knows_slots,
    a_runner_shows_how_many_slots_it_has,
);

/// A place whose spec's jobs share their runner, and the name of another spec of the runner whose jobs do not.
pub(crate) async fn shared_place(town: &Town) -> (Place, String) {
    let place = town.place().await;
    let (alone, shared) = (place.spec.clone(), format!("{}-shared", place.spec));
    let body = json!({
        "name": shared, "os": "linux", "architecture": "x86_64", "shared": true,
        "cpu": 1, "memory": 1_073_741_824_u64, "disk": 1_073_741_824_u64,
    });
    let made = town.post("/v0/specs", body).await;
    assert_eq!(
        (made.status, &made.body["shared"]),
        (201, &json!(true)),
        "{made:?}"
    );
    serve(town, &place.runner, &shared).await;
    let place = Place {
        spec: shared,
        ..place
    };
    (place, alone)
}

async fn serve(town: &Town, runner: &str, spec: &str) {
    let path = format!("/v0/runners/{runner}/specs");
    let linked = town.post(&path, json!({ "spec": spec })).await;
    assert_eq!(linked.status, 201, "{linked:?}");
}

pub(crate) async fn slot(town: &Town, place: &Place, number: u32) -> Channel {
    let path = format!("/v0/runners/{}/channel?slot={number}&slots=2", place.runner);
    town.dial(&path, &place.key).await.unwrap()
}

fn ready() -> Value {
    json!({"event": "ready", "poll_timeout": 900})
}

/// Asks for a job, gets it and starts it.
pub(crate) async fn runs(channel: &mut Channel) -> String {
    channel.say(ready()).await;
    starts(channel).await
}

/// Gets the job that it asked for, and starts it.
async fn starts(channel: &mut Channel) -> String {
    let heard = channel.hear().await;
    assert_eq!(heard["event"], "job", "{heard}");
    let job = text(&heard["uuid"]);
    channel.say(json!({"event": "running"})).await;
    assert_eq!(channel.hear().await, ack(&job));
    job
}

async fn finish(channel: &mut Channel, job: &str) {
    channel.say(completed(job)).await;
    assert_eq!(channel.hear().await, ack(job));
}

/// That the server has taken in what was said before, and has nothing for this slot.
async fn is_told_of_no_job(channel: &mut Channel) {
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
}

pub(crate) async fn status(town: &Town, place: &Place, job: &str) -> String {
    text(&town.job(place, job).await["status"])
}

async fn two_slots_run_two_jobs_that_share_at_once(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    first.say(ready()).await;
    second.say(ready()).await;
    let jobs = [
        town.submit(&place, json!({})).await,
        town.submit(&place, json!({})).await,
    ];
    let mut running = [starts(&mut first).await, starts(&mut second).await];
    for job in &jobs {
        assert_eq!(status(town, &place, job).await, "running");
    }
    finish(&mut first, &running[0]).await;
    finish(&mut second, &running[1]).await;
    for job in &jobs {
        town.until(&place, job, "process").await;
    }
    running.sort_unstable();
    let mut submitted = jobs;
    submitted.sort_unstable();
    assert_eq!(running, submitted);
}

async fn a_job_of_its_own_waits_for_the_other_slot_and_then_runs_alone(town: &Town) {
    let (place, alone) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    let shared = runs(&mut first).await;
    let job = town.submit(&place, json!({"spec": alone})).await;
    is_told_of_no_job(&mut second).await;
    second.say(ready()).await;
    finish(&mut first, &shared).await;
    assert_eq!(starts(&mut second).await, job);
    // Nothing begins beside it.
    let later = town.submit(&place, json!({})).await;
    is_told_of_no_job(&mut first).await;
    first.say(ready()).await;
    finish(&mut second, &job).await;
    assert_eq!(starts(&mut first).await, later);
}

async fn what_comes_later_does_not_overtake_a_job_of_its_own(town: &Town) {
    let (place, alone) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    let shared = runs(&mut first).await;
    let job = town.submit(&place, json!({"spec": alone})).await;
    let later = town.submit(&place, json!({})).await;
    is_told_of_no_job(&mut second).await;
    assert_eq!(status(town, &place, &later).await, "pending");
    finish(&mut first, &shared).await;
    assert_eq!(runs(&mut first).await, job);
    second.say(ready()).await;
    finish(&mut first, &job).await;
    assert_eq!(starts(&mut second).await, later);
}

async fn a_job_that_a_slot_cannot_take_goes_to_another_runner(town: &Town) {
    let (place, alone) = shared_place(town).await;
    let other = town.another_runner(&place, &alone).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    runs(&mut first).await;
    // It waits longest for the bell of the lane, and cannot answer it.
    second.say(ready()).await;
    let mut idle = town.channel(&other).await;
    idle.say(ready()).await;
    let job = town.submit(&place, json!({"spec": alone})).await;
    assert_eq!(starts(&mut idle).await, job);
}

async fn a_slot_that_stepped_aside_goes_on_when_another_runner_was_faster(town: &Town) {
    let (place, alone) = shared_place(town).await;
    let other = town.another_runner(&place, &alone).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    runs(&mut first).await;
    let job = town.submit(&place, json!({"spec": alone})).await;
    is_told_of_no_job(&mut second).await;
    second.say(ready()).await;
    let later = town.submit(&place, json!({})).await;
    let mut idle = town.channel(&other).await;
    assert_eq!(runs(&mut idle).await, job);
    assert_eq!(starts(&mut second).await, later);
}

async fn a_slot_re_attaches_to_its_own_job(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    town.submit(&place, json!({})).await;
    let (one, two) = (runs(&mut first).await, runs(&mut second).await);
    drop((first, second));
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    for (channel, job) in [(&mut second, &two), (&mut first, &one)] {
        channel.say(json!({"event": "heartbeat"})).await;
        assert_eq!(channel.hear().await, ack(job));
    }
}

async fn a_slot_that_is_ready_again_has_forgotten_only_its_own_job(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    town.submit(&place, json!({})).await;
    let (one, two) = (runs(&mut first).await, runs(&mut second).await);
    is_told_of_no_job(&mut second).await;
    assert_eq!(status(town, &place, &one).await, "running");
    assert_eq!(status(town, &place, &two).await, "failed");
    first.say(json!({"event": "heartbeat"})).await;
    assert_eq!(first.hear().await, ack(&one));
}

async fn a_channel_of_the_same_slot_supersedes_only_that_one(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    town.submit(&place, json!({})).await;
    let (one, two) = (runs(&mut first).await, runs(&mut second).await);
    let mut newer = slot(town, &place, 1).await;
    assert!(second.end().await.is_some());
    newer.say(json!({"event": "heartbeat"})).await;
    assert_eq!(newer.hear().await, ack(&two));
    first.say(json!({"event": "heartbeat"})).await;
    assert_eq!(first.hear().await, ack(&one));
}

async fn a_channel_with_another_number_of_slots_supersedes_all_of_them(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    let job = runs(&mut second).await;
    let mut whole = town.channel(&place).await;
    assert!(first.end().await.is_some());
    assert!(second.end().await.is_some());
    // The whole runner speaks for all that it holds.
    whole.say(json!({"event": "heartbeat"})).await;
    assert_eq!(whole.hear().await, ack(&job));
}

async fn a_cancel_reaches_only_the_slot_that_runs_the_job(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    town.submit(&place, json!({})).await;
    let (one, two) = (runs(&mut first).await, runs(&mut second).await);
    assert_eq!(town.cancel(&place, &one).await.status, 200);
    assert_eq!(first.hear().await, json!({"event": "cancel"}));
    second.say(json!({"event": "heartbeat"})).await;
    assert_eq!(second.hear().await, ack(&two));
    finish(&mut second, &two).await;
}

async fn a_drained_runner_is_given_nothing_in_any_slot(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    let path = format!("/v0/runners/{}", place.runner);
    let change = Some(json!({"draining": true}));
    let patched = town
        .send(reqwest::Method::PATCH, &path, Some(&town.admin), change)
        .await;
    assert_eq!(patched.status, 200, "{patched:?}");
    town.submit(&place, json!({})).await;
    is_told_of_no_job(&mut first).await;
    is_told_of_no_job(&mut second).await;
}

async fn a_rotated_key_closes_the_channels_of_all_slots(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut first, mut second) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    let path = format!("/v0/runners/{}/key", place.runner);
    let rotated = town.post(&path, Value::Null).await;
    assert_eq!(rotated.status, 201, "{rotated:?}");
    for channel in [&mut first, &mut second] {
        let frame = channel.end().await.unwrap();
        assert_eq!(u16::from(frame.code), 1008);
    }
}

async fn slots_that_do_not_exist_are_refused(town: &Town) {
    let place = town.place().await;
    for bad in [
        "slot=2&slots=2",
        "slot=0&slots=0",
        "slot=0&slots=65",
        "slot=1",
        "slots=2",
        "slot=x&slots=2",
    ] {
        let path = format!("/v0/runners/{}/channel?{bad}", place.runner);
        match town.dial(&path, &place.key).await {
            Err(Error::Http(answer)) => assert_eq!(answer.status().as_u16(), 400, "{bad}"),
            other => panic!("{bad}: {other:?}"),
        }
    }
}

async fn a_server_says_that_it_knows_slots(town: &Town) {
    let place = town.place().await;
    let path = format!("/v0/runners/{}/channel", place.runner);
    let said = town.greeting(&path, &place.key).await;
    assert_eq!(said["kiln-slots"], "64");
}

async fn a_runner_shows_how_many_slots_it_has(town: &Town) {
    let place = town.place().await;
    let mut channel = slot(town, &place, 1).await;
    let told = json!({"os": "linux", "arch": "x86_64", "version": "1"});
    channel
        .say(json!({"event": "ready", "poll_timeout": 1, "runner": told}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    let path = format!("/v0/runners/{}", place.runner);
    assert_eq!(town.get(&path).await.body["metadata"]["slots"], 2);
}
