//! What a job writes while it runs.

use serde_json::{Value, json};

use crate::town::{BMF, Channel, Place, Town, ack, completed};
use crate::towns::on_both_engines;

on_both_engines!(
    what_a_running_job_writes_is_in_the_feed_and_the_feed_goes_on_where_it_was_cut_off,
    a_feed_that_does_not_ask_for_output_has_none,
    what_a_job_had_written_when_it_was_canceled_is_its_output,
    the_result_takes_the_place_of_what_was_told_before,
);

pub(crate) async fn tell(channel: &mut Channel, start: usize, text: &str) {
    let message = json!({
        "event": "output", "iteration": 0, "stream": "stdout", "start": start, "text": text,
    });
    channel.say(message).await;
}

/// The id of the next piece of output in a feed that begins after `last`.
pub(crate) async fn next_piece(
    town: &Town,
    place: &Place,
    job: &str,
    last: Option<&str>,
) -> String {
    let path = format!(
        "/v0/projects/{}/jobs/{job}/events?output=true",
        place.project
    );
    let mut feed = town.feed_at(&path, last).await;
    loop {
        let (id, name) = feed.next().await.expect("the job goes on");
        if name == "output" {
            return id;
        }
    }
}

async fn what_a_running_job_writes_is_in_the_feed_and_the_feed_goes_on_where_it_was_cut_off(
    town: &Town,
) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    tell(&mut channel, 0, "so ").await;
    let first = next_piece(town, &place, &job, None).await;
    assert!(first.ends_with(".1"), "{first}");
    tell(&mut channel, 3, "far").await;
    let second = next_piece(town, &place, &job, Some(&first)).await;
    assert!(second.ends_with(".2"), "{second}");
    channel.say(json!({"event": "heartbeat"})).await;
    assert_eq!(channel.hear().await, ack(&job), "output is not answered");
}

async fn a_feed_that_does_not_ask_for_output_has_none(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    tell(&mut channel, 0, "so far").await;
    next_piece(town, &place, &job, None).await;
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    let names = town.until(&place, &job, "process").await;
    assert!(!names.contains(&"output".to_owned()), "{names:?}");
}

async fn what_a_job_had_written_when_it_was_canceled_is_its_output(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    tell(&mut channel, 0, "so far").await;
    next_piece(town, &place, &job, None).await;
    town.cancel(&place, &job).await;
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["status"], "canceled");
    assert_eq!(shown["output"]["results"][0]["stdout"], "so far");
    assert_eq!(shown["output"]["results"][0]["exit_code"], -1);
}

async fn the_result_takes_the_place_of_what_was_told_before(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    tell(&mut channel, 0, "so far").await;
    next_piece(town, &place, &job, None).await;
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    let shown: Value = town.job(&place, &job).await;
    assert_eq!(shown["output"]["results"][0]["stdout"], BMF);
}
