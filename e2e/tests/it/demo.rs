//! `kiln demo`, the first thing anybody runs.

use kiln_e2e::{Process, Town, kiln, kiln_with};
use rustix::process::Signal;

#[test]
fn it_runs_a_sealed_benchmark_and_tells_its_way() {
    let exited = kiln(&["demo", "--json"], "");
    assert_eq!(exited.code, Some(0), "{}", exited.stderr);
    let story: serde_json::Value = serde_json::from_str(&exited.stdout).unwrap();
    assert_eq!(story["job"]["status"], "processed");
    let conditions = &story["job"]["output"]["conditions"];
    assert_eq!(conditions["isolation"], "namespace");
    let layers = conditions["layers"].as_array().unwrap();
    for name in ["namespaces", "seccomp", "capabilities", "network"] {
        assert!(
            layers
                .iter()
                .any(|layer| layer["name"] == name && layer["applied"] == true),
            "{name}"
        );
    }
    let metrics = story["report"]["results"][0].as_array().unwrap();
    assert_eq!(metrics.len(), 2);
    let compared = story["comparison"]["results"].as_array().unwrap();
    let sort = compared.iter().find(|line| line["benchmark"] == "sort");
    assert!(sort.unwrap()["effect"].as_f64().unwrap() > 0.0);
    assert_eq!(story["perf"]["results"].as_array().unwrap().len(), 2);
    assert!(
        metrics[0]["measures"][0]["metric"]["value"]
            .as_f64()
            .unwrap()
            > 0.0
    );
}

/// All of it speaks plain HTTP, and nothing of it needs to know whom to trust.
#[test]
fn a_host_without_ca_certificates_runs_it() {
    let none = [
        ("SSL_CERT_FILE", "/dev/null"),
        ("SSL_CERT_DIR", "/nonexistent"),
    ];
    let exited = kiln_with(&["demo", "--json"], "", &none);
    assert_eq!(exited.code, Some(0), "{}", exited.stderr);
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let town = Town::new();
    let temporary = town.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut demo = Process::start_in(&["demo"], &town.log(), &temporary);
    while std::fs::read_dir(&temporary).unwrap().next().is_none() {
        std::thread::yield_now();
    }
    demo.signal(Signal::INT);
    assert_eq!(demo.wait(), Some(130));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}
