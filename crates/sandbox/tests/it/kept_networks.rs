//! Runs without a network still have one, with a loopback device. A run that follows may have it again if nothing of it
//! was used.

use std::collections::BTreeSet;

use kiln_sandbox::{Backend, Chamber, FAR_AHEAD, Namespaces, Rootfs};

use crate::base::base;
use crate::place::Place;
use crate::support::{HostClock, disks, shell, spec};

/// More than the chambers that can be in the making and at their end at once.
const RUNS: usize = 8;

/// What a command can see of the use of its network.
const LOOK: &str =
    "cat /proc/net/dev /proc/net/snmp /proc/net/snmp6 /proc/net/netstat /proc/net/ip6_flowlabel";

fn chamber(backend: &dyn Backend) -> Box<dyn Chamber> {
    let mut chamber = backend
        .prepare(&Rootfs::directory(base()), &spec())
        .unwrap();
    chamber.expect(FAR_AHEAD);
    chamber
}

/// What each of many runs of a script says.
fn say_in_each(chamber: &mut dyn Chamber, script: &str) -> Vec<String> {
    let run = |_| {
        let finished = Place::run_in(chamber, &shell(script));
        assert_eq!(finished.exit.code(), Some(0), "{finished:?}");
        finished.stdout
    };
    (0..RUNS).map(run).collect()
}

/// What many runs of it find when they begin is what the first one found, and each has another network.
fn leaves_nothing_to_be_found(script: &str) {
    let backend = Namespaces::new(HostClock::new(), disks());
    let found = say_in_each(
        &mut *chamber(&backend),
        &format!("{LOOK}; {{ {script}; }} >&2"),
    );
    let found: BTreeSet<String> = found.into_iter().collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found.iter().all(|counts| counts.contains("OutNoRoutes")));

    let numbers = say_in_each(
        &mut *chamber(&backend),
        &format!("network; {{ {script}; }} >&2"),
    );
    let different: BTreeSet<&String> = numbers.iter().collect();
    assert_eq!(different.len(), RUNS, "{numbers:?}");
}

#[test]
fn a_network_that_nothing_came_through_is_used_again() {
    let backend = Namespaces::new(HostClock::new(), disks());
    let numbers = say_in_each(&mut *chamber(&backend), "network");
    let different: BTreeSet<&String> = numbers.iter().collect();
    // An ordinary user cannot hand one on.
    let handed_on = rustix::process::geteuid().is_root();
    assert_eq!(different.len() < RUNS, handed_on, "{numbers:?}");
}

#[test]
fn what_a_run_has_sent_is_not_to_be_seen_by_others() {
    leaves_nothing_to_be_found("! nc -w 1 127.0.0.1 1");
}

#[test]
fn what_a_run_has_failed_to_send_is_not_to_be_seen_by_others() {
    leaves_nothing_to_be_found("! nc -w 1 10.9.9.9 1");
}

#[test]
fn what_outlives_its_socket_is_not_to_be_seen_by_others() {
    leaves_nothing_to_be_found("network 'cannot get a flow label'");
}

#[test]
fn one_job_never_has_the_network_of_another() {
    let backend = Namespaces::new(HostClock::new(), disks());
    let mut seen = BTreeSet::new();
    for _ in 0..2 {
        // Both live, and take turns.
        let mut these = chamber(&backend);
        let mut those = chamber(&backend);
        for _ in 0..2 {
            let mut of_these = say_in_each(&mut *these, "network");
            let of_those = say_in_each(&mut *those, "network");
            assert!(of_these.iter().all(|number| !of_those.contains(number)));
            of_these.extend(of_those);
            assert!(of_these.iter().all(|number| !seen.contains(number)));
        }
        seen.extend(say_in_each(&mut *these, "network"));
        seen.extend(say_in_each(&mut *those, "network"));
    }
}
