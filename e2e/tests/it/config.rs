//! Settings and where they come from.

use kiln_e2e::{Town, kiln};

#[test]
fn the_file_is_shown_as_the_source() {
    let town = Town::new();
    let file = town.path().join("kiln.toml");
    std::fs::write(
        &file,
        "listen = \"127.0.0.1:7777\"\nkey = \"secret\"\nbilling-key = \"sk_secret\"\n",
    )
    .unwrap();
    let exited = kiln(
        &[
            "--config",
            file.to_str().unwrap(),
            "config",
            "show",
            "--json",
        ],
        "",
    );
    let lines: serde_json::Value = serde_json::from_str(&exited.stdout).unwrap();
    let line = |name: &str| {
        lines
            .as_array()
            .unwrap()
            .iter()
            .find(|line| line["setting"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(line("listen")["value"], "127.0.0.1:7777");
    assert!(
        line("listen")["source"]
            .as_str()
            .unwrap()
            .contains("kiln.toml")
    );
    assert_eq!(line("log")["source"], "default");
    assert!(!exited.stdout.contains("secret"));
}

#[test]
fn a_line_nobody_knows_is_refused() {
    let town = Town::new();
    let file = town.path().join("kiln.toml");
    std::fs::write(&file, "lissen = \"x\"\n").unwrap();
    let exited = kiln(&["--config", file.to_str().unwrap(), "config", "show"], "");
    assert_eq!(exited.code, Some(2));
    assert!(exited.stderr.contains("lissen"), "{}", exited.stderr);
}
