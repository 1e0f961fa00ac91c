use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::kv::MAX_VALUE;
use crate::{Dbi, KvTx};

const APP: Dbi = Dbi::APP_STATE;

fn get(kv: &MemoryKv, key: &'static [u8]) -> Option<Vec<u8>> {
    kv.read(move |tx| tx.get(APP, key)).unwrap()
}

#[test]
fn an_error_undoes_the_whole_transaction() {
    let kv = MemoryKv::new();
    kv.write(|tx| tx.put(APP, b"a", b"1")).unwrap();
    let answer = kv.write(|tx| {
        tx.put(APP, b"a", b"2")?;
        tx.put(APP, b"b", b"2")?;
        tx.delete(APP, b"a")?;
        Err::<(), _>(Status::Busy)
    });
    assert_eq!(answer, Err(Status::Busy));
    assert_eq!(
        (get(&kv, b"a"), get(&kv, b"b")),
        (Some(b"1".to_vec()), None)
    );
}

#[test]
fn a_panic_undoes_the_whole_transaction_and_the_store_lives_on() {
    let kv = MemoryKv::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        kv.write(|tx| {
            tx.put(APP, b"a", b"1")?;
            assert_eq!(tx.get(APP, b"a")?, None, "this is not so");
            Ok(())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(get(&kv, b"a"), None);
    kv.write(|tx| tx.put(APP, b"a", b"2")).unwrap();
    assert_eq!(get(&kv, b"a"), Some(b"2".to_vec()));
}

#[test]
fn a_read_transaction_cannot_write() {
    let kv = MemoryKv::new();
    assert!(kv.read(|tx| tx.put(APP, b"a", b"1")).is_err());
    assert!(kv.read(|tx| tx.delete(APP, b"a")).is_err());
}

#[test]
fn values_over_the_limit_are_full() {
    let kv = MemoryKv::new();
    let answer = kv.write(|tx| tx.put(APP, b"a", &vec![0; MAX_VALUE + 1]));
    assert_eq!(answer, Err(Status::Full));
    kv.write(|tx| tx.put(APP, b"a", &vec![0; MAX_VALUE]))
        .unwrap();
}

#[test]
fn databases_beyond_the_last_do_not_exist() {
    let kv = MemoryKv::new();
    assert!(kv.write(|tx| tx.put(Dbi(32), b"a", b"1")).is_err());
    kv.write(|tx| tx.put(Dbi(31), b"a", b"1")).unwrap();
}

#[test]
fn a_nested_frame_left_open_fails_the_transaction() {
    let kv = MemoryKv::new();
    assert!(kv.write(KvTx::begin_nested).is_err());
    assert!(kv.write(KvTx::commit_nested).is_err());
    kv.write(|tx| tx.put(APP, b"a", b"1")).unwrap();
}

#[test]
fn a_checkpoint_brings_back_what_was() {
    let kv = MemoryKv::new();
    kv.write(|tx| tx.put(APP, b"a", b"1")).unwrap();
    let checkpoint = kv.checkpoint();
    kv.write(|tx| tx.put(APP, b"a", b"2")).unwrap();
    kv.restore(&checkpoint);
    assert_eq!(get(&kv, b"a"), Some(b"1".to_vec()));
}

#[test]
fn a_range_that_ends_before_it_starts_is_empty() {
    let kv = MemoryKv::new();
    kv.write(|tx| tx.put(APP, b"b", b"1")).unwrap();
    let rows = kv.read(|tx| tx.scan(APP, b"c", Some(b"a"), 9)).unwrap();
    assert!(rows.is_empty());
}
