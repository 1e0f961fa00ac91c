use kiln_model::Millis;

use super::*;
use crate::hex;

#[test]
fn golden_records() {
    assert_eq!(
        hex::encode(&SchemaVersion::new(1, 2).to_bytes()),
        "5253563001000200"
    );
    let lease = Lease {
        owner: 7,
        deadline: Millis(1234),
        attempts: 4,
    };
    assert_eq!(
        hex::encode(&lease.to_bytes()),
        "4c5345300700000000000000d20400000000000004000000"
    );
    assert_eq!(hex::encode(&RetryCount(1).to_bytes()), "01000000");
    let letter = DeadLetter {
        failure: -5,
        attempts: 0,
        frame: b"nope".to_vec(),
    };
    assert_eq!(
        hex::encode(&letter.encode().unwrap()),
        "444c5130fbffffff00000000040000006e6f7065"
    );
}

#[test]
fn records_survive_the_round_trip() {
    let version = SchemaVersion::new(300, 2);
    assert_eq!(SchemaVersion::decode(&version.to_bytes()), Ok(version));
    let lease = Lease {
        owner: u64::MAX,
        deadline: Millis(-4),
        attempts: 9,
    };
    assert_eq!(Lease::decode(&lease.to_bytes()), Ok(lease));
    let letter = DeadLetter {
        failure: 7,
        attempts: 4,
        frame: vec![1],
    };
    assert_eq!(DeadLetter::decode(&letter.encode().unwrap()), Ok(letter));
    let record = DedupeRecord::accepted_at(Millis(-3)).with_checksum(&[7; 5]);
    assert_eq!(DedupeRecord::decode(&record.encode()), Ok(record));
}

#[test]
fn a_dedupe_record_is_a_flag_a_time_and_a_checksum() {
    let record = DedupeRecord::accepted_at(Millis(0x0102)).with_checksum(&[0xaa]);
    assert_eq!(hex::encode(&record.encode()), "010201000000000000aa");
}

#[test]
fn a_long_checksum_is_cut_at_32_bytes() {
    let record = DedupeRecord::accepted_at(Millis(1)).with_checksum(&[9; 40]);
    assert_eq!(record.checksum(), [9; 32]);
}

#[test]
fn broken_records_are_refused() {
    assert!(SchemaVersion::decode(b"RSV0\0\0\0").is_err());
    assert!(SchemaVersion::decode(b"RSV1\0\0\0\0").is_err());
    assert!(Lease::decode(&[0; 24]).is_err());
    assert!(Lease::decode(b"LSE0").is_err());
    assert!(RetryCount::decode(&[1, 0, 0]).is_err());
    assert!(DeadLetter::decode(b"DLQ0\0\0\0\0\0\0\0\0\0\0\0\0").is_err());
    assert!(DeadLetter::decode(b"DLQ0\0\0\0\0\0\0\0\0\x02\0\0\0x").is_err());
    assert!(DedupeRecord::decode(&[1; 8]).is_err());
    assert!(DedupeRecord::decode(&[2; 9]).is_err());
    assert!(DedupeRecord::decode(&[1; 42]).is_err());
}

#[test]
fn a_lease_lives_through_its_last_millisecond() {
    let lease = Lease {
        owner: 1,
        deadline: Millis(10),
        attempts: 1,
    };
    assert!(lease.is_live(Millis(10)));
    assert!(!lease.is_live(Millis(11)));
}

#[test]
fn a_counter_at_its_end_is_full() {
    assert_eq!(RetryCount(u32::MAX).next(), Err(crate::Status::Full));
}

#[test]
fn a_window_of_zero_never_ends() {
    let record = DedupeRecord::accepted_at(Millis(0));
    assert!(record.covers(Millis(i64::MAX), 0));
    assert!(record.covers(Millis(100), 100));
    assert!(!record.covers(Millis(101), 100));
}
