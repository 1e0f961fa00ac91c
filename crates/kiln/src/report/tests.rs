//! A report with everything in it, in each of its forms. A form that changed on purpose is written anew with
//! `KILN_WRITE_GOLDEN=1`.

use std::path::Path;

use kiln_model::v0::Report;
use serde_json::{Value, json};

use super::*;

const DAY: &str = "2026-11-15T08:16:16Z";

fn id(number: u32) -> String {
    format!("01a1de46-fdae-7a03-a2b6-{number:012}")
}

fn dimension(number: u32, name: &str, slug: &str) -> Value {
    json!({
        "uuid": id(number), "project": id(1), "name": name, "slug": slug,
        "created": DAY, "modified": DAY, "archived": null
    })
}

fn measure(number: u32, name: &str, slug: &str, units: &str) -> Value {
    let mut measure = dimension(number, name, slug);
    measure["units"] = json!(units);
    measure
}

fn metric(number: u32, value: f64) -> Value {
    json!({"uuid": id(number), "value": value, "lower_value": null, "upper_value": null})
}

/// A report of two benchmarks, one of them with an alert, and with a name that tries to be markup.
pub(crate) fn sample() -> Report {
    let latency = measure(20, "Latency", "latency", "nanoseconds (ns)");
    let size = measure(21, "File Size", "file-size", "bytes");
    let mut branch = dimension(2, "feature/<x>", "feature-x");
    branch["head"] = json!({
        "uuid": id(3), "version": {"number": 7, "hash": "0123456789abcdef0123456789abcdef01234567"},
        "created": DAY, "replaced": null
    });
    let mut testbed = dimension(4, "rack-7", "rack-7");
    testbed["spec"] = Value::Null;
    let summary = json!({"uuid": id(30), "project": id(1), "model": null, "created": DAY});
    let boundary =
        json!({"baseline": 1_000_000.0, "lower_limit": null, "upper_limit": 1_100_000.0});
    let sort = dimension(10, "sort_10k", "sort-10k");
    let alert = json!({
        "uuid": id(50), "report": id(5), "iteration": 0, "benchmark": sort, "metric": metric(40, 1_234_500.0),
        "threshold": {
            "uuid": id(30), "project": id(1), "branch": branch, "testbed": testbed, "measure": latency,
            "model": null, "created": DAY, "modified": DAY
        },
        "boundary": boundary, "limit": "upper", "status": "active", "created": DAY, "modified": DAY
    });
    serde_json::from_value(json!({
        "uuid": id(5), "user": null,
        "project": {
            "uuid": id(1), "organization": id(6), "name": "Demo & Co", "slug": "demo", "url": null,
            "visibility": "public", "created": DAY, "modified": DAY, "claimed": null
        },
        "branch": branch, "testbed": testbed, "start_time": DAY, "end_time": DAY, "adapter": "json",
        "results": [[
            {"iteration": 0, "benchmark": sort, "measures": [{
                "measure": latency, "metric": metric(40, 1_234_500.0), "threshold": summary, "boundary": boundary
            }]},
            {"iteration": 0, "benchmark": dimension(11, "a|b</code> @all", "a-b"), "measures": [
                {"measure": latency, "metric": metric(41, 12.5), "threshold": summary,
                 "boundary": {"baseline": 12.5, "lower_limit": 10.0, "upper_limit": 15.0}},
                {"measure": size, "metric": metric(42, 2_097_152.0), "threshold": null, "boundary": null}
            ]}
        ]],
        "alerts": [alert],
        "counts": {"results": [{"benchmarks": 2, "measures": 2}], "alerts": {"total": 1, "active": 1}},
        "created": DAY, "status": "ready"
    }))
    .unwrap()
}

/// The same, of two images in turns.
fn paired() -> Report {
    let mut report = sample();
    let outcome = json!({
        "verdict": "slower", "pairs": 24, "asked": 60, "stopped_early": true, "self_check": false, "gate": 0.02,
        "error_rate": 0.01,
        "lines": [
            {"benchmark": "sort_10k", "measure": "latency", "decides": true, "verdict": "slower",
             "effect": 0.052, "interval": [0.031, 0.074], "noise": 0.012, "correlation": 0.1},
            {"benchmark": "a|b", "measure": "file-size", "decides": false, "verdict": "cannot_tell",
             "left_out": "only the head has it"}
        ]
    });
    report.paired = Some(serde_json::from_value(outcome).unwrap());
    report.alerts = Some(Vec::new());
    report.counts.alerts = kiln_model::v0::AlertCounts::default();
    report
}

fn view(show: Show, plots: bool) -> View {
    View::new(&sample(), &Links::new("https://kiln.example/", plots), show)
}

#[track_caller]
fn check(name: &str, shown: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/report/golden")
        .join(name);
    if std::env::var_os("KILN_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, shown).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, golden, "{name}");
}

#[test]
fn a_report_is_a_table_for_a_terminal() {
    check("report.txt", &(text(&view(Show::Everything, false)) + "\n"));
}

#[test]
fn a_report_is_markdown_for_a_comment() {
    check(
        "report.md",
        &markdown(&view(Show::Everything, true), 65_536),
    );
}

#[test]
fn a_report_is_html() {
    check("report.html", &html(&view(Show::Everything, true)));
}

#[test]
fn a_pair_is_compared_in_every_form() {
    let links = Links::new("https://kiln.example", false);
    let view = View::new(&paired(), &links, Show::Everything);
    assert!(view.is_slower());
    check("paired.txt", &(text(&view) + "\n"));
    check("paired.md", &markdown(&view, 65_536));
    check("paired.html", &html(&view));
}

#[test]
fn a_host_that_tells_an_image_from_itself_is_named() {
    let mut report = paired();
    report.paired.as_mut().unwrap().self_check = true;
    let view = View::new(
        &report,
        &Links::new("https://kiln.example", false),
        Show::Everything,
    );
    assert!(!view.is_slower());
    assert!(
        view.outcome().contains("no place to measure"),
        "{}",
        view.outcome()
    );
}

#[test]
fn what_no_threshold_judged_can_be_left_out() {
    let all = text(&view(Show::Everything, false));
    let judged = text(&view(Show::Judged, false));
    assert!(all.contains("2 MiB"), "{all}");
    assert!(!judged.contains("2 MiB"), "{judged}");
}

#[test]
fn a_page_stays_within_its_limit_and_says_what_is_missing() {
    let mut report = sample();
    let results = report.results.as_mut().unwrap();
    let one = results[0][1].clone();
    results[0].extend(std::iter::repeat_n(one, 500));
    let view = View::new(
        &report,
        &Links::new("https://kiln.example", true),
        Show::Everything,
    );
    let page = markdown(&view, 10_000);
    assert!(page.chars().count() <= 10_000, "{}", page.len());
    assert!(page.contains(" more are in the report."), "{page}");
    assert!(page.ends_with("</details>\n"), "{page}");
}

#[test]
fn a_report_that_could_not_be_read_says_why() {
    let mut report = sample();
    report.status = Some("invalid".to_owned());
    report.error = Some("line 3: expected *a* number".to_owned());
    report.results = None;
    let view = View::new(
        &report,
        &Links::new("https://kiln.example", false),
        Show::Everything,
    );
    assert_eq!(
        view.outcome(),
        "The results cannot be read: line 3: expected *a* number"
    );
    assert!(markdown(&view, 65_536).contains("expected &#42;a&#42; number"));
}
