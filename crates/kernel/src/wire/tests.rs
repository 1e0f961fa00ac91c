use kiln_model::Millis;
use proptest::prelude::*;

use super::*;
use crate::WireError;
use crate::hex;

const MINIMAL: &str = "4c4d5347000000003d00000000000000050000000000000005000000000000006300000000000000000000000000000001000000ffffffff000000006d";
const FULL: &str = "4c4d5347000000004a000000013900004d000000000000000b0000000000000040e20100000000002a000000000000000500000005000000040000006d73672d317472616365deadbeef";
const PLAIN: &str = "4c4d5347000000004000000000000000070000000000000007000000000000007b00000000000000000000000000000002000000ffffffff020000006d316f6b";
const OUTBOX: &str = "4c494e54000000005c000000000000000000000000000000400000004c4d5347000000004000000000000000070000000000000007000000000000007b00000000000000000000000000000002000000ffffffff020000006d316f6b";

fn minimal() -> Message {
    let mut message = Message::new(Kind::Command, 5, "m", "");
    message.flags = Flags::NONE;
    message.route_timestamp = 99;
    message
}

fn full() -> Message {
    Message {
        kind: Kind::Event,
        flags: Flags::DURABLE.with(Flags::REQUIRES_ACK),
        to_worker: 77,
        route_worker: 11,
        route_timestamp: 123_456,
        from_worker: Some(42),
        id: b"msg-1".to_vec(),
        trace_id: Some(b"trace".to_vec()),
        payload: vec![0xde, 0xad, 0xbe, 0xef],
    }
}

fn plain() -> Message {
    let mut message = Message::new(Kind::Command, 7, "m1", "ok");
    message.flags = Flags::NONE;
    message.route_timestamp = 123;
    message
}

#[test]
fn golden_frames_encode_and_decode() {
    for (message, golden) in [(minimal(), MINIMAL), (full(), FULL), (plain(), PLAIN)] {
        let frame = message.encode().unwrap();
        assert_eq!(hex::encode(&frame), golden);
        assert_eq!(Message::decode(&frame), Ok(message));
    }
}

#[test]
fn the_golden_intent_encodes_and_decodes() {
    let intent = Intent::OutboxEmit {
        message: plain().encode().unwrap(),
    };
    let frame = intent.encode().unwrap();
    assert_eq!(hex::encode(&frame), OUTBOX);
    assert_eq!(Intent::decode(&frame), Ok(intent));
}

#[test]
fn an_intent_with_a_due_time_survives_the_round_trip() {
    let intent = Intent::TimerArm {
        due: Millis(-5),
        message: vec![1, 2, 3],
    };
    assert_eq!(Intent::decode(&intent.encode().unwrap()), Ok(intent));
}

#[test]
fn a_minimal_message_has_neither_sender_nor_trace_nor_payload() {
    let frame = minimal().encode().unwrap();
    let view = MessageView::decode(&frame).unwrap();
    assert_eq!(
        (view.from_worker, view.trace_id, view.payload),
        (None, None, &b""[..])
    );
}

/// Frames with one field changed, and the code the original answers.
#[test]
fn every_decode_check_answers_its_code() {
    let cases: &[(&str, usize, &[u8], WireError)] = &[
        ("magic", 0, b"LMSQ", WireError::Format),
        ("major version", 4, &[1, 0], WireError::Version),
        ("minor version", 6, &[1, 0], WireError::Version),
        (
            "length under the header",
            8,
            &59u32.to_le_bytes(),
            WireError::Format,
        ),
        (
            "length over the buffer",
            8,
            &75u32.to_le_bytes(),
            WireError::Truncated,
        ),
        (
            "length under the buffer",
            8,
            &73u32.to_le_bytes(),
            WireError::Format,
        ),
        ("kind", 12, &[3], WireError::Format),
        ("unknown flag", 13, &[0x79], WireError::Format),
        ("reserved", 14, &[0, 1], WireError::Format),
        ("empty id", 48, &0u32.to_le_bytes(), WireError::Format),
        (
            "trace flag without a length",
            52,
            &u32::MAX.to_le_bytes(),
            WireError::Format,
        ),
        (
            "trace length without its flag",
            13,
            &[0x19],
            WireError::Format,
        ),
        (
            "lengths that do not add up",
            56,
            &5u32.to_le_bytes(),
            WireError::Format,
        ),
        (
            "lengths that overflow 32 bits",
            48,
            &u32::MAX.to_le_bytes(),
            WireError::Format,
        ),
    ];
    for (what, at, bytes, expected) in cases {
        let mut frame = full().encode().unwrap();
        frame[*at..at + bytes.len()].copy_from_slice(bytes);
        assert_eq!(MessageView::decode(&frame), Err(*expected), "{what}");
    }
    let frame = full().encode().unwrap();
    assert_eq!(MessageView::decode(&frame[..59]), Err(WireError::Truncated));
    assert_eq!(MessageView::decode(&frame[..73]), Err(WireError::Truncated));
    assert_eq!(MessageView::decode(&[]), Err(WireError::Truncated));
}

#[test]
fn the_first_of_two_faults_decides_the_code() {
    let mut frame = full().encode().unwrap();
    frame[4] = 1;
    frame[8] = 0;
    assert_eq!(MessageView::decode(&frame), Err(WireError::Version));
    frame[0] = b'X';
    assert_eq!(MessageView::decode(&frame), Err(WireError::Format));
}

#[test]
fn a_sender_without_its_flag_is_not_believed() {
    let mut frame = plain().encode().unwrap();
    frame[40] = 9;
    assert_eq!(MessageView::decode(&frame).unwrap().from_worker, None);
}

#[test]
fn an_empty_trace_is_a_trace() {
    let mut message = plain();
    message.trace_id = Some(Vec::new());
    let frame = message.encode().unwrap();
    assert_eq!(Message::decode(&frame).unwrap().trace_id, Some(Vec::new()));
}

#[test]
fn every_intent_check_answers_its_code() {
    let frame = Intent::TimerArm {
        due: Millis(7),
        message: vec![1, 2],
    }
    .encode()
    .unwrap();
    let cases: &[(&str, usize, &[u8], WireError)] = &[
        ("magic", 0, b"LMSG", WireError::Format),
        ("version", 6, &[1, 0], WireError::Version),
        (
            "length under the header",
            8,
            &27u32.to_le_bytes(),
            WireError::Format,
        ),
        (
            "length over the buffer",
            8,
            &31u32.to_le_bytes(),
            WireError::Truncated,
        ),
        (
            "length under the buffer",
            8,
            &29u32.to_le_bytes(),
            WireError::Format,
        ),
        ("kind", 12, &[2], WireError::Format),
        ("an emit with a due time", 12, &[0], WireError::Format),
        ("an arm without one", 13, &[0], WireError::Format),
        ("unknown flag", 13, &[3], WireError::Format),
        ("reserved", 14, &[1, 0], WireError::Format),
        ("empty message", 24, &0u32.to_le_bytes(), WireError::Format),
        (
            "wrong message length",
            24,
            &3u32.to_le_bytes(),
            WireError::Format,
        ),
    ];
    for (what, at, bytes, expected) in cases {
        let mut broken = frame.clone();
        broken[*at..at + bytes.len()].copy_from_slice(bytes);
        assert_eq!(IntentView::decode(&broken), Err(*expected), "{what}");
    }
    let mut emit = Intent::OutboxEmit { message: vec![1] }.encode().unwrap();
    emit[16] = 1;
    assert_eq!(IntentView::decode(&emit), Err(WireError::Format));
    assert_eq!(IntentView::decode(&frame[..27]), Err(WireError::Truncated));
    assert_eq!(IntentView::decode(&frame[..29]), Err(WireError::Truncated));
}

#[test]
fn impossible_values_are_not_encoded() {
    let good = RawMessage {
        kind: 1,
        flags: 0x39,
        from_worker: 3,
        id: b"a",
        ..RawMessage::default()
    };
    assert!(good.check().is_ok());
    let bad = [
        RawMessage { kind: 3, ..good },
        RawMessage {
            flags: 0x79,
            ..good
        },
        RawMessage { id: b"", ..good },
        RawMessage {
            flags: 0x10,
            trace_id: b"t",
            ..good
        },
        RawMessage {
            flags: 0x20,
            ..good
        },
    ];
    for raw in bad {
        assert_eq!(raw.check(), Err(WireError::Invalid), "{raw:?}");
    }
    let emit_with_due = RawIntent {
        kind: 0,
        flags: 1,
        due: 5,
        message: b"m",
    };
    assert_eq!(emit_with_due.check(), Err(WireError::Invalid));
    assert_eq!(
        Intent::OutboxEmit { message: vec![] }.encode(),
        Err(WireError::Invalid)
    );
    assert_eq!(
        Message::new(Kind::Event, 1, "", "").encode(),
        Err(WireError::Invalid)
    );
}

#[test]
fn a_small_buffer_is_told_how_large_it_must_be() {
    let message = full();
    assert_eq!(
        message.view().encode_into(&mut []),
        Err(EncodeError::TooBig { needed: 74 })
    );
    let mut buffer = [0; 80];
    assert_eq!(
        message.view().encode_into(&mut buffer[..73]),
        Err(EncodeError::TooBig { needed: 74 })
    );
    assert_eq!(message.view().encode_into(&mut buffer), Ok(74));
    assert_eq!(hex::encode(&buffer[..74]), FULL);
    let intent = Intent::OutboxEmit { message: vec![1] };
    assert_eq!(
        intent.view().encode_into(&mut buffer[..28]),
        Err(EncodeError::TooBig { needed: 29 })
    );
    assert_eq!(intent.view().encode_into(&mut buffer), Ok(29));
}

proptest! {
    #[test]
    fn what_decodes_encodes_to_the_same_bytes(
        id in prop::collection::vec(any::<u8>(), 1..20),
        trace in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        payload in prop::collection::vec(any::<u8>(), 0..40),
        numbers in any::<(i64, i64, i64)>(),
        from in prop::option::of(any::<i64>()),
    ) {
        let mut message = Message::new(Kind::Timer, numbers.0, id, payload);
        (message.route_worker, message.route_timestamp) = (numbers.1, numbers.2);
        (message.from_worker, message.trace_id) = (from, trace);
        let frame = message.encode().unwrap();
        prop_assert_eq!(Message::decode(&frame), Ok(message));
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(
        mut frame in prop::collection::vec(any::<u8>(), 0..120),
        head in 0..3usize,
        honest_length in any::<bool>(),
    ) {
        let magic: &[u8] = [&b""[..], b"LMSG\0\0\0\0", b"LINT\0\0\0\0"][head];
        if frame.len() >= 16 {
            frame[..magic.len()].copy_from_slice(magic);
            if honest_length {
                let length = u32::try_from(frame.len()).unwrap();
                frame[8..12].copy_from_slice(&length.to_le_bytes());
                frame[12..16].fill(0);
            }
        }
        if let Ok(view) = MessageView::decode(&frame) {
            prop_assert_eq!(view.encoded_len(), Ok(frame.len()));
        }
        if let Ok(view) = IntentView::decode(&frame) {
            prop_assert_eq!(view.encode().unwrap(), frame);
        }
    }
}
