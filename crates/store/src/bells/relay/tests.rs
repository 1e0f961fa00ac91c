//! Two servers on one PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use crate::testing::{ManualClock, admin, postgres_database};
use crate::{Bell, Error, Store, StoreConfig, SystemEntropy};

const LONG: Duration = Duration::from_mins(1);

fn open(url: &str) -> Store {
    let mut config = StoreConfig::new(
        url,
        Arc::new(ManualClock::default()),
        Arc::new(SystemEntropy),
    );
    config.objects = "memory:".into();
    Store::open(&config).unwrap()
}

fn ring(store: &Store, bell: Bell) {
    let rung = store.ledger.submit(move |tx| {
        tx.ring(bell);
        Ok::<_, Error>(())
    });
    rung.wait().unwrap();
}

#[test]
fn a_commit_on_one_server_rings_on_the_other() {
    let url = postgres_database();
    let (here, there) = (open(&url), open(&url));
    let mut lane = there.bells.subscribe(Bell::Lane(7));
    let mut job = there.bells.subscribe(Bell::Job(3));
    ring(&here, Bell::Lane(7));
    assert!(lane.wait_timeout(LONG));
    ring(&here, Bell::Job(3));
    assert!(job.wait_timeout(LONG));
    here.close();
    there.close();
}

#[test]
fn a_server_does_not_hear_its_own_bells_twice() {
    let url = postgres_database();
    let (here, there) = (open(&url), open(&url));
    let mut own = here.bells.subscribe(Bell::Lane(1));
    let mut echo = there.bells.subscribe(Bell::Lane(1));
    ring(&here, Bell::Lane(1));
    assert!(own.wait_timeout(LONG));
    assert!(echo.wait_timeout(LONG));
    // What the other server says next arrives after an echo would have.
    let mut mark = here.bells.subscribe(Bell::Job(9));
    ring(&there, Bell::Job(9));
    assert!(mark.wait_timeout(LONG));
    assert!(!own.wait_timeout(Duration::ZERO));
    here.close();
    there.close();
}

#[test]
fn after_a_lost_connection_everyone_looks_again_and_bells_ring_on() {
    let url = postgres_database();
    let database = url.rsplit_once('/').unwrap().1;
    let (here, there) = (open(&url), open(&url));
    let mut any = there.bells.subscribe(Bell::Lane(1));
    admin(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    ));
    assert!(any.wait_timeout(LONG));
    let mut lane = there.bells.subscribe(Bell::Lane(2));
    ring(&here, Bell::Lane(2));
    assert!(lane.wait_timeout(LONG));
    here.close();
    there.close();
}
