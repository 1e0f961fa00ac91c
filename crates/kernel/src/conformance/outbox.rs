//! The outbox, and intents on their way to it and to the timers.

use kiln_model::Millis;

use super::stage::{frame, rows, timer_keys};
use crate::intents::{Published, Sink};
use crate::{Dbi, Intent, Kv, Status, TimerKey, outbox};

pub fn the_outbox_drains_in_order_and_stops_at_a_refusal<K: Kv>(kv: &K) {
    kv.write(|tx| {
        assert_eq!(outbox::append(tx, b"first")?, 0);
        assert_eq!(outbox::append_from(tx, 100, b"second")?, 100);
        assert_eq!(outbox::append(tx, b"third")?, 101);
        assert_eq!(outbox::put(tx, 101, b"taken"), Err(Status::Exists));
        Ok(())
    })
    .unwrap();
    let (drained, seen) = kv
        .write(|tx| {
            let mut seen = Vec::new();
            let drained = outbox::drain(tx, 9, |_, seq, frame| {
                seen.push((seq, frame.to_vec()));
                if seq == 101 {
                    Err(Status::Busy)
                } else {
                    Ok(())
                }
            })?;
            Ok((drained, seen))
        })
        .unwrap();
    assert_eq!(
        (drained.processed, drained.stopped_by),
        (2, Some(Status::Busy))
    );
    assert_eq!(
        seen.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(),
        [0, 100, 101]
    );
    assert_eq!(rows(kv, Dbi::OUTBOX).len(), 1);
}

pub fn a_delivered_frame_is_removed_only_if_it_is_still_the_same<K: Kv>(kv: &K) {
    kv.write(|tx| outbox::put(tx, 5, b"frame")).unwrap();
    assert_eq!(
        kv.write(|tx| outbox::remove(tx, 5, b"other")),
        Err(Status::Conflict)
    );
    assert_eq!(
        kv.write(|tx| outbox::remove(tx, 6, b"frame")),
        Err(Status::NotFound)
    );
    assert_eq!(kv.write(|tx| outbox::remove(tx, 5, b"frame")), Ok(()));
}

pub fn the_sink_routes_both_kinds_from_its_floors<K: Kv>(kv: &K) {
    let sink = Sink {
        outbox_floor: 100,
        timer_floor: 200,
    };
    let emit = Intent::OutboxEmit {
        message: frame("m1"),
    }
    .encode()
    .unwrap();
    let arm = Intent::TimerArm {
        due: Millis(50),
        message: frame("m2"),
    }
    .encode()
    .unwrap();
    kv.write(move |tx| {
        assert_eq!(sink.publish_frame(tx, &emit)?, Published::Outbox(100));
        assert_eq!(sink.publish_frame(tx, &emit)?, Published::Outbox(101));
        let key = |seq| Published::Timer(TimerKey::new(Millis(50), seq));
        assert_eq!(sink.publish_frame(tx, &arm)?, key(200));
        assert_eq!(sink.publish_frame(tx, &arm)?, key(201));
        Ok(())
    })
    .unwrap();
    assert_eq!(rows(kv, Dbi::OUTBOX).len(), 2);
    assert_eq!(timer_keys(kv), [(50, 200), (50, 201)]);
}

pub fn intents_of_the_wrong_kind_and_garbage_are_refused<K: Kv>(kv: &K) {
    let sink = Sink::default();
    let emit = Intent::OutboxEmit {
        message: frame("m1"),
    }
    .encode()
    .unwrap();
    let arm = Intent::TimerArm {
        due: Millis(50),
        message: frame("m2"),
    }
    .encode()
    .unwrap();
    assert!(
        kv.write(move |tx| sink.publish_to_outbox(tx, &arm))
            .is_err()
    );
    assert!(
        kv.write(move |tx| sink.publish_to_timers(tx, &emit))
            .is_err()
    );
    assert!(
        kv.write(move |tx| sink.publish_frame(tx, b"garbage"))
            .is_err()
    );
    assert!(rows(kv, Dbi::OUTBOX).is_empty());
    assert!(rows(kv, Dbi::TIMERS).is_empty());
}
