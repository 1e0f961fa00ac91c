//! `kiln run` and the commands that look at what it measured.

use std::fs;

use kiln_e2e::{Exited, Process, Town, kiln, shell_layout};
use rustix::process::Signal;
use serde_json::Value;

/// Runs the program against the town's server, for project `test`.
fn run(town: &Town, arguments: &[&str], stdin: &str) -> Exited {
    let data = town.data();
    let (command, rest) = arguments.split_at(commands(arguments));
    let mut all = command.to_vec();
    all.extend(["--project", "test", "--data", data.to_str().unwrap()]);
    all.extend(rest);
    kiln(&all, stdin)
}

/// How many words name the command; flags and what follows come after.
fn commands(arguments: &[&str]) -> usize {
    match arguments[0] {
        "alert" | "report" | "threshold" | "job" => 2,
        _ => 1,
    }
}

#[track_caller]
fn succeed(exited: &Exited) -> &str {
    assert_eq!(exited.code, Some(0), "{}", exited.stderr);
    &exited.stdout
}

#[track_caller]
fn json(exited: &Exited) -> Value {
    serde_json::from_str(succeed(exited)).unwrap()
}

fn bmf(value: u32) -> String {
    format!(r#"{{"sort":{{"latency":{{"value":{value}}}}}}}"#)
}

#[test]
fn local_results_are_judged_compared_and_plotted() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let gate = [
        "run",
        "--branch",
        "main",
        "--testbed",
        "here",
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "percentage",
        "--threshold-upper-boundary",
        "0.1",
    ];
    let print = format!("echo '{}'", bmf(1_000));
    let mut first = gate.to_vec();
    first.extend(["--iter", "2", "--json", &print]);
    let first = json(&run(&town, &first, ""));
    assert_eq!(first["results"].as_array().unwrap().len(), 2);

    let piped = run(
        &town,
        &["run", "--branch", "main", "--testbed", "here", "--err"],
        &bmf(1_500),
    );
    assert_eq!(piped.code, Some(13), "{}", piped.stderr);
    assert!(piped.stdout.contains("above the limit"), "{}", piped.stdout);

    let data = town.data();
    let data = data.to_str().unwrap();
    let project = json(&kiln(
        &["project", "show", "test", "--json", "--data", data],
        "",
    ));
    let organization = project["organization"].as_str().unwrap();
    let used = ["org", "usage", organization, "--data", data];
    let shown = kiln(&used, "");
    assert!(
        succeed(&shown).contains("active series"),
        "{}",
        shown.stdout
    );
    let used = json(&kiln(&[&used[..], &["--json"]].concat(), ""));
    assert_eq!(used["active_series"], 1, "{used}");
    let long_ago = ["--end-time", "2", "--json"];
    let before = [
        "org",
        "usage",
        organization,
        "--start-time",
        "1",
        "--data",
        data,
    ];
    let before = json(&kiln(&[&before[..], &long_ago].concat(), ""));
    assert_eq!(before["metrics"], 0, "{before}");
    let alerts = json(&run(&town, &["alert", "list", "--json"], ""));
    let alert = alerts[0]["uuid"].as_str().unwrap();
    succeed(&run(&town, &["alert", "dismiss", alert], ""));
    let active = ["alert", "list", "--status", "active", "--json"];
    assert_eq!(json(&run(&town, &active, "")), Value::Array(Vec::new()));

    let reports = json(&run(&town, &["report", "list", "--json"], ""));
    let newest = reports[0]["uuid"].as_str().unwrap();
    let shown = run(
        &town,
        &["report", "show", newest, "--format", "markdown"],
        "",
    );
    assert!(
        succeed(&shown).contains("none of them active"),
        "{}",
        shown.stdout
    );

    let base = first["uuid"].as_str().unwrap();
    let compared = run(&town, &["compare", base, newest], "");
    assert!(succeed(&compared).contains("+50.0%"), "{}", compared.stdout);

    let plotted = run(
        &town,
        &["perf", "--benchmark", "sort", "--x-axis", "version"],
        "",
    );
    assert!(
        succeed(&plotted).contains("3 results"),
        "{}",
        plotted.stdout
    );
    assert_eq!(
        succeed(&run(&town, &["perf", "--csv"], "")).lines().count(),
        4
    );
    let picture = town.path().join("plot.svg");
    succeed(&run(
        &town,
        &["perf", "--img", picture.to_str().unwrap()],
        "",
    ));
    assert!(fs::read_to_string(picture).unwrap().starts_with("<svg"));
}

#[test]
fn a_threshold_is_set_again_and_removed() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let there = ["run", "--branch", "main", "--testbed", "here"];
    succeed(&run(&town, &there, &bmf(1_000)));
    let set = |test: &str, boundary: &str| {
        let arguments = [
            "threshold",
            "set",
            "--branch",
            "main",
            "--testbed",
            "here",
            "--measure",
            "latency",
            "--test",
            test,
            "--upper-boundary",
            boundary,
            "--json",
        ];
        json(&run(&town, &arguments, ""))
    };
    let made = set("percentage", "0.5");
    let changed = set("t_test", "0.99");
    assert_eq!(made["uuid"], changed["uuid"]);
    assert_eq!(changed["model"]["test"], "t_test");
    let uuid = made["uuid"].as_str().unwrap();
    succeed(&run(&town, &["threshold", "rm", uuid], ""));
    let listed = json(&run(&town, &["threshold", "list", "--json"], ""));
    assert_eq!(listed, Value::Array(Vec::new()));
}

#[test]
fn a_dry_run_needs_no_server() {
    let exited = kiln(
        &[
            "run",
            "--dry-run",
            "--project",
            "p",
            "--data",
            "/nowhere",
            "echo",
            "{}",
        ],
        "",
    );
    let request = json(&exited);
    assert_eq!(request["results"], serde_json::json!(["{}\n"]));
    assert_eq!(request["project"], "p");
    assert_eq!(request["context"]["bencher.dev/v0/testbed/os"], "linux");
}

#[test]
fn results_that_cannot_be_read_say_what_to_do() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let exited = run(&town, &["run", "--adapter", "json", "echo", "nonsense"], "");
    assert_eq!(exited.code, Some(10), "{}", exited.stderr);
    assert!(exited.stderr.contains("hint: "), "{}", exited.stderr);
    assert!(exited.stderr.contains("--adapter"), "{}", exited.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_pushed_and_run_on_a_runner() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let _runner = town.runner(&server).await;
    let root = town.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::copy("/bin/busybox", root.join("sh")).unwrap();
    let root = root.to_str().unwrap();
    let image = |script: &str, more: &[&str]| {
        let mut arguments = vec!["run", "--entrypoint", "/sh", "--image", root];
        arguments.extend(more);
        arguments.extend(["--", "-c", script]);
        run(&town, &arguments, "")
    };
    let good = image(&format!("echo '{}'; echo aside >&2", bmf(7)), &["--json"]);
    assert_eq!(
        json(&good)["results"][0][0]["measures"][0]["metric"]["value"],
        7.0
    );
    assert!(good.stderr.contains(" is running"), "{}", good.stderr);
    assert!(good.stderr.contains("aside"), "{}", good.stderr);

    let polled = image(
        &format!("echo '{}'", bmf(8)),
        &["--json", "--job-poll-interval", "1"],
    );
    assert_eq!(
        json(&polled)["results"][0][0]["measures"][0]["metric"]["value"],
        8.0
    );
    assert!(polled.stderr.contains(" is processed"), "{}", polled.stderr);

    let failed = image("exit 3", &[]);
    assert_eq!(failed.code, Some(10), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("exited with code 3"),
        "{}",
        failed.stderr
    );

    let unreadable = image("echo nonsense", &["--adapter", "json"]);
    assert_eq!(unreadable.code, Some(10), "{}", unreadable.stderr);
    assert!(
        unreadable.stderr.contains("--adapter"),
        "{}",
        unreadable.stderr
    );
}

#[test]
fn an_image_layout_is_pushed_detached_and_interrupted() {
    let town = Town::new();
    // Without a runner the job waits.
    let server = town.server(0, &[]);
    let spec = [
        "spec",
        "create",
        "waiting",
        "--cpu",
        "1",
        "--memory",
        "268435456",
        "--disk",
        "67108864",
        "--data",
    ];
    let data = town.data();
    let data = data.to_str().unwrap();
    let mut create = spec.to_vec();
    create.push(data);
    succeed(&kiln(&create, ""));
    let image = shell_layout(town.path(), "v1", "true");
    let layout = image.layout().directory().to_str().unwrap().to_owned();
    let detached = run(
        &town,
        &["run", "--spec", "waiting", "--detach", "--image", &layout],
        "",
    );
    let job = succeed(&detached).trim().to_owned();
    succeed(&run(&town, &["job", "cancel", &job], ""));
    // The same as JSON: its report as it is now.
    let detach = ["run", "--spec", "waiting", "--detach", "--json", "--image"];
    let detached = run(&town, &[&detach[..], &[&layout]].concat(), "");
    let report = json(&detached);
    assert_eq!(report["status"], "pending", "{report}");
    assert_eq!(report["results"], serde_json::json!([]), "{report}");
    let job = report["job"].as_str().unwrap();
    let shown = json(&run(&town, &["job", "show", job, "--json"], ""));
    assert_eq!(shown["status"], "pending", "{shown}");
    succeed(&run(&town, &["job", "cancel", job], ""));

    let arguments = [
        "run",
        "--project",
        "test",
        "--data",
        data,
        "--spec",
        "waiting",
        "--image",
        &layout,
    ];
    let said = town.path().join("said");
    let mut waiting = Process::start(&arguments, &said);
    let text = || fs::read_to_string(&said).unwrap_or_default();
    while !text().contains("is pending") {
        std::thread::yield_now();
    }
    waiting.signal(Signal::INT);
    assert_eq!(waiting.wait(), Some(130));
    assert!(text().contains("kiln job logs"), "{}", text());
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_images_take_turns_and_the_slower_one_is_found() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let _runner = town.runner(&server).await;
    // A latency that differs a little from turn to turn.
    let script = |latency: u32| {
        format!(
            r#"read -r uptime rest < /proc/uptime
echo "{{\"sort\":{{\"latency\":{{\"value\":{latency}.${{uptime#*.}}}}}}}}""#
        )
    };
    let layout = |tag: &str, latency: u32| {
        let image = shell_layout(town.path(), tag, &script(latency));
        image.layout().directory().to_str().unwrap().to_owned()
    };
    let (base, head) = (layout("base", 100), layout("head", 150));
    let arguments = [
        "run",
        "--adapter",
        "json",
        "--base",
        &base,
        "--head",
        &head,
        "--pairs",
        "60",
        "--err",
    ];
    let compared = run(&town, &arguments, "");
    assert_eq!(compared.code, Some(13), "{}", compared.stderr);
    assert!(
        compared
            .stdout
            .contains("The head is slower: decided after"),
        "{}",
        compared.stdout
    );
}
