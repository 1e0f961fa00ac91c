//! A report goes where its job goes.

use serde_json::{Value, json};

use crate::town::{Place, Town, ack, completed};
use crate::towns::on_both_engines;

on_both_engines!(
    a_report_has_the_status_of_its_job,
    a_report_has_the_times_of_its_job,
    a_backdated_report_keeps_its_length,
);

async fn report(town: &Town, place: &Place) -> Value {
    let path = format!("/v0/projects/{}/reports", place.project);
    town.get(&path).await.body[0].clone()
}

async fn a_report_has_the_status_of_its_job(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    assert_eq!(report(town, &place).await["status"], "pending");
    let (mut channel, job) = town.assigned(&place).await;
    channel.say(json!({"event": "running"})).await;
    assert_eq!(channel.hear().await, ack(&job));
    assert_eq!(report(town, &place).await["status"], "running");
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    town.until(&place, &job, "process").await;
    assert_eq!(report(town, &place).await["status"], "ready");

    for (word, status) in [("failed", "failed"), ("canceled", "canceled")] {
        let place = town.place().await;
        let (mut channel, job) = town.running(&place).await;
        let end = json!({"event": word, "job": job, "results": [], "error": "no luck"});
        channel.say(end).await;
        assert_eq!(channel.hear().await, ack(&job));
        assert_eq!(report(town, &place).await["status"], status);
    }
}

async fn a_report_has_the_times_of_its_job(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    town.until(&place, &job, "process").await;
    let (report, job) = (report(town, &place).await, town.job(&place, &job).await);
    assert_eq!(report["start_time"], job["started"]);
    assert_eq!(report["end_time"], job["completed"]);
}

async fn a_backdated_report_keeps_its_length(town: &Town) {
    let place = town.place().await;
    let date = "2020-02-29T12:00:00Z";
    town.submit(&place, json!({"backdate": date})).await;
    let (mut channel, job) = town.assigned(&place).await;
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    town.until(&place, &job, "process").await;
    let report = report(town, &place).await;
    assert_eq!(report["start_time"], date);
    assert!(
        report["end_time"]
            .as_str()
            .unwrap()
            .starts_with("2020-02-29T12:0")
    );
}
