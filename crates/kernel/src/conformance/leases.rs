//! General leases.

use kiln_model::Millis;

use crate::{Kv, Status, leases};

pub fn a_lease_is_acquired_renewed_taken_over_and_released<K: Kv>(kv: &K) {
    let acquire =
        |owner, now| kv.write(move |tx| leases::acquire(tx, b"queue", owner, Millis(now), 100));
    let release = |owner| kv.write(move |tx| leases::release(tx, b"queue", owner));
    assert_eq!(acquire(1, 0).unwrap().attempts, 1);
    assert_eq!(acquire(2, 100), Err(Status::Busy));
    let renewed = acquire(1, 50).unwrap();
    assert_eq!((renewed.deadline, renewed.attempts), (Millis(150), 2));
    let taken = acquire(2, 151).unwrap();
    assert_eq!((taken.owner, taken.attempts), (2, 3));
    assert_eq!(release(1), Err(Status::Conflict));
    assert_eq!(release(2), Ok(()));
    assert_eq!(release(2), Err(Status::NotFound));
}

pub fn an_expired_lease_cannot_be_renewed<K: Kv>(kv: &K) {
    kv.write(|tx| leases::acquire(tx, b"queue", 1, Millis(0), 100))
        .unwrap();
    let renew =
        |owner, now| kv.write(move |tx| leases::renew(tx, b"queue", owner, Millis(now), 100));
    assert_eq!(renew(1, 100).unwrap().deadline, Millis(200));
    assert_eq!(renew(2, 150), Err(Status::Conflict));
    assert_eq!(renew(1, 201), Err(Status::Conflict));
}

pub fn a_lease_key_cannot_look_like_that_of_a_row<K: Kv>(kv: &K) {
    for key in [&b""[..], &[7; 16], b"timer:anything"] {
        let refused = kv.write(move |tx| leases::acquire(tx, key, 1, Millis(0), 100));
        assert!(matches!(refused, Err(Status::Error(_))), "{key:?}");
    }
}
