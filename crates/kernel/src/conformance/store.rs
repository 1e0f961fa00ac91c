//! The contract of [`crate::Kv`] and [`crate::KvTx`].

use super::stage::{get, rows};
use crate::kv::MAX_VALUE;
use crate::{Dbi, Kv, KvTx, Status};

const APP: Dbi = Dbi(7);

pub fn store_writes_are_all_or_nothing<K: Kv>(kv: &K) {
    kv.write(|tx| tx.put(APP, b"a", b"1")).unwrap();
    let refused = kv.write(|tx| {
        tx.put(APP, b"a", b"2")?;
        tx.put(APP, b"b", b"2")?;
        assert!(tx.delete(APP, b"a")?);
        Err::<(), _>(Status::Busy)
    });
    assert_eq!(refused, Err(Status::Busy));
    assert_eq!(rows(kv, APP), [(b"a".to_vec(), b"1".to_vec())]);
}

pub fn store_insert_never_overwrites<K: Kv>(kv: &K) {
    kv.write(|tx| {
        tx.insert(APP, b"a", b"1")?;
        assert_eq!(tx.insert(APP, b"a", b"2"), Err(Status::Exists));
        tx.insert(APP, b"b", b"")
    })
    .unwrap();
    assert_eq!(get(kv, APP, b"a"), Some(b"1".to_vec()));
    assert_eq!(get(kv, APP, b"b"), Some(Vec::new()));
}

pub fn store_scans_and_last_keep_to_their_range<K: Kv>(kv: &K) {
    kv.write(|tx| {
        for key in [&b"\x00"[..], b"a", b"ab", b"b", b"\xff", b"\xff\xff"] {
            tx.put(APP, key, key)?;
        }
        tx.put(Dbi(8), b"aa", b"of another database")
    })
    .unwrap();
    let keys = |from: &'static [u8], until: Option<&'static [u8]>, limit| {
        let pairs = kv.read(move |tx| tx.scan(APP, from, until, limit)).unwrap();
        pairs.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(keys(b"a", Some(b"b"), 9), [&b"a"[..], b"ab"]);
    assert_eq!(keys(b"a", None, 2), [&b"a"[..], b"ab"]);
    assert_eq!(keys(b"b", None, 9), [&b"b"[..], b"\xff", b"\xff\xff"]);
    assert_eq!(keys(b"", None, 9).len(), 6);
    assert!(keys(b"c", Some(b"d"), 9).is_empty());
    let last = |from: &'static [u8], until: Option<&'static [u8]>| {
        kv.read(move |tx| tx.last(APP, from, until))
            .unwrap()
            .map(|(key, _)| key)
    };
    assert_eq!(last(b"", None), Some(b"\xff\xff".to_vec()));
    assert_eq!(last(b"", Some(b"b")), Some(b"ab".to_vec()));
    assert_eq!(last(b"c", Some(b"d")), None);
}

pub fn store_nested_frames_undo_only_themselves<K: Kv>(kv: &K) {
    kv.write(|tx| {
        tx.put(APP, b"outer", b"1")?;
        tx.begin_nested()?;
        tx.put(APP, b"kept", b"1")?;
        tx.begin_nested()?;
        tx.put(APP, b"undone", b"1")?;
        tx.put(APP, b"outer", b"2")?;
        tx.delete(APP, b"kept")?;
        tx.rollback_nested()?;
        assert_eq!(tx.get(APP, b"outer")?, Some(b"1".to_vec()));
        assert_eq!(tx.get(APP, b"kept")?, Some(b"1".to_vec()));
        tx.commit_nested()?;
        tx.begin_nested()?;
        tx.put(APP, b"undone as well", b"1")?;
        tx.rollback_nested()
    })
    .unwrap();
    let keys: Vec<_> = rows(kv, APP).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [&b"kept"[..], b"outer"]);
}

/// A refused insert must not spoil the transaction it happens in.
pub fn store_goes_on_after_a_refused_insert<K: Kv>(kv: &K) {
    kv.write(|tx| {
        tx.insert(APP, b"a", b"1")?;
        tx.begin_nested()?;
        assert_eq!(tx.insert(APP, b"a", b"2"), Err(Status::Exists));
        tx.put(APP, b"b", b"1")?;
        tx.commit_nested()
    })
    .unwrap();
    assert_eq!(rows(kv, APP).len(), 2);
}

pub fn store_refuses_values_over_the_limit<K: Kv>(kv: &K) {
    let refused = kv.write(|tx| tx.put(APP, b"a", &vec![0; MAX_VALUE + 1]));
    assert_eq!(refused, Err(Status::Full));
    kv.write(|tx| tx.put(APP, b"a", &vec![7; MAX_VALUE]))
        .unwrap();
    assert_eq!(get(kv, APP, b"a").map(|value| value.len()), Some(MAX_VALUE));
}

pub fn store_delete_matching_compares_the_value<K: Kv>(kv: &K) {
    kv.write(|tx| {
        tx.put(APP, b"a", b"1")?;
        assert!(!tx.delete_matching(APP, b"a", b"2")?);
        assert!(!tx.delete_matching(APP, b"b", b"1")?);
        assert!(tx.delete_matching(APP, b"a", b"1")?);
        assert!(!tx.delete(APP, b"a")?);
        Ok(())
    })
    .unwrap();
    assert!(rows(kv, APP).is_empty());
}

pub fn store_read_transactions_cannot_write<K: Kv>(kv: &K) {
    assert!(kv.read(|tx| tx.put(APP, b"a", b"1")).is_err());
    assert!(rows(kv, APP).is_empty());
}
