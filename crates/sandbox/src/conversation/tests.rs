use kiln_guest_init::protocol::{FileRequest, Stage};

use super::*;
use crate::Transcript;

fn start() -> Start {
    Start {
        stdout_bytes: 4,
        stderr_bytes: 4,
        files: vec![FileRequest {
            path: "/out".into(),
            max_bytes: 3,
        }],
        files_bytes: 3,
        ..Start::default()
    }
}

fn output(bytes: &[u8]) -> ToHost {
    ToHost::Output {
        stream: Stream::Stdout,
        bytes: bytes.to_vec(),
    }
}

fn exited() -> ToHost {
    ToHost::Exited {
        status: Status::Code(0),
        usage: GuestUsage::default(),
    }
}

fn up_to_running() -> [ToHost; 3] {
    [
        ToHost::Born { pid: 2 },
        ToHost::Ready { layers: vec![] },
        ToHost::Started { layers: vec![] },
    ]
}

/// Says all messages to a fresh conversation and returns the last answer.
fn say(
    transcript: &mut Transcript,
    messages: impl IntoIterator<Item = ToHost>,
) -> (Result<Heard, Error>, StreamEnd) {
    let mut conversation = Conversation::new(&start(), transcript);
    let mut last = Ok(Heard::Nothing);
    for message in messages {
        last = conversation.hear(message);
        if last.is_err() {
            break;
        }
    }
    (last, conversation.stdout.end)
}

#[test]
fn a_whole_run_is_heard_to_its_end() {
    let mut transcript = Transcript::default();
    let rest = [output(b"hi"), exited(), ToHost::Finished];
    let (last, _) = say(&mut transcript, up_to_running().into_iter().chain(rest));
    assert_eq!(last.unwrap(), Heard::Finished);
    assert_eq!(transcript.stdout, b"hi");
    assert!(transcript.started);
}

#[test]
fn a_guest_that_ignores_the_output_limit_is_cut_off_by_the_host() {
    let mut transcript = Transcript::default();
    let rest = [output(b"abc"), output(b"def"), output(b"ghi")];
    let (_, end) = say(&mut transcript, up_to_running().into_iter().chain(rest));
    assert_eq!(transcript.stdout, b"abcd");
    assert_eq!(
        end,
        StreamEnd {
            bytes: 4,
            dropped: 5
        }
    );
}

#[test]
fn messages_out_of_turn_are_refused() {
    for messages in [
        vec![output(b"early")],
        vec![exited()],
        vec![ToHost::Finished],
        vec![
            ToHost::Ready { layers: vec![] },
            ToHost::Ready { layers: vec![] },
        ],
        up_to_running()
            .into_iter()
            .chain([exited(), output(b"late")])
            .collect(),
        up_to_running()
            .into_iter()
            .chain([exited(), exited()])
            .collect(),
    ] {
        let (last, _) = say(&mut Transcript::default(), messages);
        assert!(matches!(last, Err(Error::OutOfTurn(_))));
    }
}

#[test]
fn a_file_nobody_asked_for_is_refused() {
    let chunk = ToHost::FileChunk {
        index: 1,
        bytes: vec![],
    };
    let (last, _) = say(
        &mut Transcript::default(),
        up_to_running().into_iter().chain([exited(), chunk]),
    );
    assert!(matches!(last, Err(Error::OutOfTurn(_))));
}

#[test]
fn a_file_longer_than_its_limit_is_refused() {
    let chunk = || ToHost::FileChunk {
        index: 0,
        bytes: vec![0; 2],
    };
    let (last, _) = say(
        &mut Transcript::default(),
        up_to_running()
            .into_iter()
            .chain([exited(), chunk(), chunk()]),
    );
    assert!(matches!(last, Err(Error::OutOfTurn(_))));
}

#[test]
fn a_guest_whose_files_are_together_longer_than_was_allowed_is_refused() {
    let request = |path: &str| FileRequest {
        path: path.into(),
        max_bytes: 3,
    };
    let start = Start {
        files: vec![request("/one"), request("/two"), request("/three")],
        files_bytes: 5,
        ..start()
    };
    let chunk = |index, length| ToHost::FileChunk {
        index,
        bytes: vec![0; length],
    };
    let mut transcript = Transcript::default();
    let mut conversation = Conversation::new(&start, &mut transcript);
    let fits = [exited(), chunk(0, 3), chunk(1, 2)];
    for message in up_to_running().into_iter().chain(fits) {
        conversation.hear(message).unwrap();
    }
    for index in [1, 2] {
        let beyond = conversation.hear(chunk(index, 1));
        assert!(matches!(beyond, Err(Error::OutOfTurn(_))), "{index}");
    }
    let kept: usize = conversation.files.iter().map(|file| file.bytes.len()).sum();
    assert_eq!(kept, 5);
}

#[test]
fn a_failure_to_execute_is_the_commands_and_one_to_seal_is_the_hosts() {
    let failed = |stage| ToHost::Failed {
        stage,
        errno: 2,
        message: "no".into(),
    };
    let (last, _) = say(&mut Transcript::default(), [failed(Stage::Exec)]);
    assert!(matches!(last, Err(Error::Start { .. })));
    let (last, _) = say(&mut Transcript::default(), [failed(Stage::Overlay)]);
    assert!(matches!(last, Err(Error::Seal { .. })));
}

#[test]
fn a_guest_is_held_before_it_is_sealed_or_not_at_all() {
    let held = || ToHost::Held;
    let (last, _) = say(
        &mut Transcript::default(),
        [held()].into_iter().chain(up_to_running()),
    );
    assert_eq!(last.unwrap(), Heard::Started);
    let (last, _) = say(
        &mut Transcript::default(),
        up_to_running().into_iter().chain([held()]),
    );
    assert!(matches!(last, Err(Error::OutOfTurn(_))));
}
