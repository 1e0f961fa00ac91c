use std::fs;
use std::io::Write as _;
use std::path::Path;

use kiln_control::billing::{Delivery, Sink as _, Told};
use kiln_model::Millis;
use kiln_store::sql::billing_minute::Minute;
use serde_json::Value;

use super::lines::Lines;
use super::{Billing, Stripe};

fn minute(number: i64) -> Minute {
    Minute {
        id: number,
        job_id: 1,
        job: "11111111-1111-4111-8111-111111111111".to_owned(),
        minute: number,
        organization: "22222222-2222-4222-8222-222222222222".to_owned(),
        customer: None,
        begun: Millis(1_800_000_000_000),
    }
}

fn taken(count: usize) -> Delivery {
    Delivery {
        told: vec![Told::Taken; count],
        trouble: None,
    }
}

/// The numbers of the minutes in a file.
fn numbers(path: &Path) -> Vec<i64> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["minute"].as_i64().unwrap()
        })
        .collect()
}

#[test]
fn a_minute_is_a_line_with_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("billing.jsonl");
    let lines = Lines::open(path.clone()).unwrap();
    assert_eq!(lines.deliver(&[minute(1)]), taken(1));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\"idempotency_key\":\"11111111-1111-4111-8111-111111111111:1\",\
         \"organization\":\"22222222-2222-4222-8222-222222222222\",\
         \"job\":\"11111111-1111-4111-8111-111111111111\",\"minute\":1,\
         \"begun\":\"2027-01-15T08:00:00Z\"}\n"
    );
}

#[test]
fn what_comes_again_is_written_once_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("billing.jsonl");
    let lines = Lines::open(path.clone()).unwrap();
    assert_eq!(lines.deliver(&[minute(1), minute(2)]), taken(2));
    assert_eq!(lines.deliver(&[minute(2), minute(3)]), taken(2));
    drop(lines);
    let lines = Lines::open(path.clone()).unwrap();
    assert_eq!(lines.deliver(&[minute(3), minute(4)]), taken(2));
    assert_eq!(numbers(&path), [1, 2, 3, 4]);
}

#[test]
fn half_a_line_that_a_crash_left_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("billing.jsonl");
    let lines = Lines::open(path.clone()).unwrap();
    lines.deliver(&[minute(1)]);
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"idempotency_key\":\"1111").unwrap();
    drop(lines);
    let lines = Lines::open(path.clone()).unwrap();
    lines.deliver(&[minute(2)]);
    assert_eq!(numbers(&path), [1, 2]);
}

#[test]
fn a_file_that_was_moved_away_begins_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("billing.jsonl");
    let lines = Lines::open(path.clone()).unwrap();
    lines.deliver(&[minute(1)]);
    fs::rename(&path, directory.path().join("january.jsonl")).unwrap();
    lines.deliver(&[minute(2)]);
    assert_eq!(numbers(&path), [2]);
}

#[test]
fn a_place_that_cannot_be_written_is_trouble_and_no_loss() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("month");
    fs::create_dir(&place).unwrap();
    let path = place.join("billing.jsonl");
    let lines = Lines::open(path.clone()).unwrap();
    fs::remove_dir_all(&place).unwrap();
    let delivery = lines.deliver(&[minute(1)]);
    assert_eq!(delivery.told, []);
    assert!(delivery.trouble.unwrap().contains("billing.jsonl"));
    fs::create_dir(&place).unwrap();
    assert_eq!(lines.deliver(&[minute(1)]), taken(1));
    assert_eq!(numbers(&path), [1]);
}

#[test]
fn a_secret_is_not_shown_by_accident() {
    let billing = Billing::Stripe(Stripe {
        url: "https://api.stripe.com".to_owned(),
        secret: "sk_live_secret".to_owned(),
        meter: "runner_minutes".to_owned(),
    });
    assert!(!format!("{billing:?}").contains("secret"), "{billing:?}");
}
