//! Specs that ask how far their jobs are kept from the host, on the command line and on a runner.

use kiln_e2e::{Exited, Town, kiln, shell_image};
use kiln_model::Status;
use kiln_model::v0::{NewRun, NewRunJob};
use serde_json::Value;

/// `kiln spec …` against the server of a town.
fn spec(town: &Town, arguments: &[&str]) -> Exited {
    let data = town.data();
    let mut all = vec!["spec"];
    all.extend(arguments);
    all.extend(["--data", data.to_str().unwrap()]);
    kiln(&all, "")
}

/// `kiln spec create NAME …` with some hardware.
fn create(town: &Town, name: &str, more: &[&str]) -> Exited {
    let mut all = vec!["create", name, "--cpu", "1"];
    all.extend(["--memory", "67108864", "--disk", "16777216"]);
    all.extend(more);
    spec(town, &all)
}

fn json(exited: &Exited) -> Value {
    assert_eq!(exited.code, Some(0), "{exited:?}");
    serde_json::from_str(&exited.stdout).unwrap()
}

/// The cell of a printed table: the column of that name, in the row that begins so.
fn cell<'a>(table: &'a str, row: &str, column: &str) -> &'a str {
    let mut lines = table.lines().map(str::split_whitespace);
    let mut names = lines.next().unwrap();
    let index = names.position(|name| name == column).unwrap();
    let mut rows = lines.map(Iterator::collect::<Vec<_>>);
    rows.find(|cells| cells[0] == row).unwrap()[index]
}

#[test]
fn the_isolation_of_a_spec_is_asked_for_and_shown() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let made = json(&create(
        &town,
        "jailed",
        &["--isolation", "firecracker", "--json"],
    ));
    assert_eq!(made["isolation"], "firecracker");
    // Stock specs stay as they are, and are shown for what they ask.
    let stock = json(&create(&town, "stock", &["--microvm", "--json"]));
    assert!(stock.get("isolation").is_none(), "{stock}");
    let plain = json(&create(&town, "plain", &["--json"]));
    assert!(plain.get("isolation").is_none(), "{plain}");
    assert_eq!(json(&spec(&town, &["show", "jailed", "--json"])), made);
    let listed = spec(&town, &["list"]).stdout;
    for (slug, shown) in [
        ("jailed", "firecracker"),
        ("stock", "microvm"),
        ("plain", "-"),
    ] {
        assert_eq!(cell(&listed, slug, "ISOLATION"), shown, "{listed}");
    }
    let shown = spec(&town, &["show", "jailed"]).stdout;
    let mut lines = shown.lines().map(str::split_whitespace);
    let line = lines.find_map(|mut words| (words.next()? == "isolation").then(|| words.next()));
    assert_eq!(line.flatten(), Some("firecracker"), "{shown}");
}

#[test]
fn a_level_that_does_not_exist_is_refused_with_those_that_do() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let refused = create(&town, "glass", &["--isolation", "glass"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("namespace, microvm or firecracker"),
        "{refused:?}"
    );
    let both = create(&town, "both", &["--isolation", "namespace", "--microvm"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    assert_eq!(
        json(&spec(&town, &["list", "--json"])),
        serde_json::json!([])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_has_less_fails_the_job_and_says_what_it_would_need() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let client = town.client(&server);
    let key = town.admin_key();
    let script = r#"echo '{"echo": {"latency": {"value": 1.5}}}'"#;
    shell_image(town.path(), &server.url, &key, "test", "latest", script).await;
    let _runner = town.runner(&server).await;
    for level in ["namespace", "microvm"] {
        let made = create(&town, level, &["--isolation", level]);
        assert_eq!(made.code, Some(0), "{made:?}");
        client.link_spec("test", level).await.unwrap();
    }
    let run = async |level: &str| {
        let run = NewRun {
            project: Some("test".to_owned()),
            job: Some(NewRunJob {
                image: "test:latest".to_owned(),
                spec: Some(level.to_owned()),
                timeout: Some(60),
                ..NewRunJob::default()
            }),
            ..NewRun::default()
        };
        let report = client.submit_run(&run).await.unwrap();
        Town::ended(&client, report.job.unwrap()).await
    };
    let given = run("namespace").await;
    assert_eq!(given.status, Status::Processed);
    let refused = run("microvm").await;
    assert_eq!(refused.status, Status::Failed);
    let error = refused.output.unwrap().error.unwrap();
    assert!(error.contains("--backend qemu or firecracker"), "{error}");
}
