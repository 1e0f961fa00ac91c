//! Two images that take turns on one host.

use kiln_e2e::{Town, shell_image};
use kiln_model::Status;
use kiln_model::v0::{Adapter, NewPaired, NewRun, NewRunJob, Report, Settings};

/// Prints a latency that differs a little from turn to turn.
fn script(latency: u32) -> String {
    format!(
        r#"read -r uptime rest < /proc/uptime
echo "{{\"add\":{{\"latency\":{{\"value\":{latency}.${{uptime#*.}}}}}}}}""#
    )
}

async fn pairs(town: &Town, base: u32, head: u32) -> Report {
    let server = town.server(0, &[]);
    let client = town.client(&server);
    let _runner = town.runner(&server).await;
    let key = town.admin_key();
    for (tag, latency) in [("base", base), ("head", head)] {
        let script = script(latency);
        shell_image(town.path(), &server.url, &key, "test", tag, &script).await;
    }
    let run = NewRun {
        project: Some("test".to_owned()),
        settings: Some(Settings {
            adapter: Some(Adapter::Json),
            ..Settings::default()
        }),
        job: Some(NewRunJob {
            image: "test:base".to_owned(),
            timeout: Some(120),
            paired: Some(NewPaired {
                image: "test:head".to_owned(),
                pairs: Some(100),
                ..NewPaired::default()
            }),
            ..NewRunJob::default()
        }),
        ..NewRun::default()
    };
    let report = client.submit_run(&run).await.unwrap();
    let job = Town::ended(&client, report.job.unwrap()).await;
    assert_eq!(job.status, Status::Processed, "{job:?}");
    let output = job.output.unwrap();
    let told = output.conditions.unwrap().paired.unwrap();
    assert_eq!(told.turns, output.results.len() as u64);
    client.get_report("test", report.uuid).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slower_image_is_found_before_all_pairs_have_run() {
    let town = Town::new();
    let report = pairs(&town, 100, 150).await;
    let outcome = report.paired.unwrap();
    assert_eq!(outcome.verdict, "slower", "{outcome:?}");
    assert!(outcome.stopped_early && outcome.pairs < 100, "{outcome:?}");
    assert!(!outcome.self_check);
    let line = &outcome.lines[0];
    assert!((line.effect.unwrap() - 0.5).abs() < 0.05, "{line:?}");
    let results = report.results.unwrap();
    let value = results[0][0].measures[0].metric.value;
    assert!((150.0..151.0).contains(&value), "{value}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_against_itself_checks_the_host() {
    let town = Town::new();
    let report = pairs(&town, 100, 100).await;
    let outcome = report.paired.unwrap();
    assert_eq!(outcome.verdict, "same", "{outcome:?}");
    assert!(outcome.self_check);
}
