use proptest::prelude::*;

use super::*;

fn start() -> Start {
    Start {
        args: vec!["sh".into(), "-c".into(), "echo hi".into()],
        env: vec![
            ("PATH".into(), "/bin".into()),
            ("EMPTY".into(), String::new()),
        ],
        cwd: "/work".into(),
        uid: 1000,
        gid: 1001,
        groups: vec![4, 20],
        limits: vec![ResourceLimit {
            resource: 7,
            soft: 1024,
            hard: 4096,
        }],
        stdout_bytes: 1 << 20,
        stderr_bytes: 1 << 10,
        files: vec![FileRequest {
            path: "/out.json".into(),
            max_bytes: 99,
        }],
        files_bytes: 1 << 30,
        uplink: Uplink::None,
    }
}

fn seal(ids: IdMap) -> Seal {
    Seal {
        hostname: "kiln".into(),
        layers: vec!["/a".into(), "/b".into()],
        ids,
        scratch: Scratch::Memory,
        disk_bytes: 1,
        disk_inodes: 2,
        shared_memory_bytes: 3,
        resolver: "nameserver 192.0.2.1\n".into(),
        device: false,
        cores: vec![1, 2],
        groups: vec!["/sys/fs/cgroup/pids/x/tasks".into()],
        unified_group: "/sys/fs/cgroup/x".into(),
        held: true,
        warm: vec!["/bin/true".into()],
    }
}

fn wake() -> Wake {
    Wake {
        wall_millis: 7,
        entropy: vec![1, 2, 3],
    }
}

fn one_frame(bytes: &[u8]) -> Frame {
    let mut buffer = FrameBuffer::default();
    buffer.extend(bytes);
    buffer.next_frame().unwrap().unwrap()
}

#[test]
fn every_message_to_the_guest_survives_the_wire() {
    for message in [
        ToGuest::Seal(seal(IdMap::Shifted {
            first: 1 << 30,
            count: 65536,
        })),
        ToGuest::Seal(seal(IdMap::Identity { count: 65536 })),
        ToGuest::Seal(seal(IdMap::Single {
            uid: 1000,
            gid: 100,
        })),
        ToGuest::Build,
        ToGuest::Start(start()),
        ToGuest::Kill(Kill::Ask),
        ToGuest::Kill(Kill::Force),
        ToGuest::Seal(Seal {
            scratch: Scratch::Disk {
                mounted_at: machine::SCRATCH.into(),
            },
            device: true,
            ..seal(IdMap::Identity { count: 1 })
        }),
        ToGuest::Start(Start {
            uplink: Uplink::Device {
                address: [192, 0, 2, 2].into(),
                prefix: 30,
                gateway: [192, 0, 2, 1].into(),
            },
            ..start()
        }),
        ToGuest::Seal(Seal {
            scratch: Scratch::Handed {
                upper: "upper-7".into(),
                work: "work-7".into(),
            },
            ..seal(IdMap::Identity { count: 1 })
        }),
        ToGuest::Machine(Machine {
            wake: wake(),
            memory_bytes: 1 << 30,
            processes: 9,
        }),
        ToGuest::Wake(wake()),
    ] {
        assert_eq!(
            ToGuest::from_frame(&one_frame(&message.to_frame())),
            Ok(message)
        );
    }
}

#[test]
fn every_message_to_the_host_survives_the_wire() {
    let layers = vec![
        Layer::applied("seccomp", "allow-list"),
        Layer::missing("landlock", ""),
    ];
    for message in [
        ToHost::Born { pid: 77 },
        ToHost::Held,
        ToHost::Up {
            kernel: "6.1".into(),
        },
        ToHost::Ready {
            layers: layers.clone(),
        },
        ToHost::Started { layers },
        ToHost::Output {
            stream: Stream::Stdout,
            bytes: vec![0, 255, 10],
        },
        ToHost::Truncated {
            stream: Stream::Stderr,
            dropped: u64::MAX,
        },
        ToHost::Exited {
            status: Status::Code(3),
            usage: Usage::default(),
        },
        ToHost::Exited {
            status: Status::Signal(9),
            usage: Usage {
                user_micros: 1,
                major_faults: 2,
                ..Usage::default()
            },
        },
        ToHost::FileChunk {
            index: 1,
            bytes: vec![1; 100],
        },
        ToHost::FileEnd {
            index: 1,
            outcome: FileOutcome::Whole,
        },
        ToHost::FileEnd {
            index: 1,
            outcome: FileOutcome::Truncated { size: 12 },
        },
        ToHost::FileEnd {
            index: 1,
            outcome: FileOutcome::Missing,
        },
        ToHost::FileEnd {
            index: 1,
            outcome: FileOutcome::Refused {
                reason: "link".into(),
            },
        },
        ToHost::Finished,
        ToHost::Failed {
            stage: Stage::Exec,
            errno: 2,
            message: "no such file".into(),
        },
    ] {
        assert_eq!(
            ToHost::from_frame(&one_frame(&message.to_frame())),
            Ok(message)
        );
    }
}

#[test]
fn a_frame_of_another_version_is_refused() {
    let mut bytes = ToHost::Finished.to_frame();
    bytes[4] = VERSION + 1;
    let mut buffer = FrameBuffer::default();
    buffer.extend(&bytes);
    assert_eq!(buffer.next_frame(), Err(Malformed::Version(VERSION + 1)));
}

#[test]
fn a_frame_that_announces_too_much_is_refused_before_its_body_arrives() {
    let mut bytes = (MAX_BODY_BYTES + 1).to_le_bytes().to_vec();
    bytes.extend([VERSION, 3]);
    let mut buffer = FrameBuffer::default();
    buffer.extend(&bytes);
    assert_eq!(
        buffer.next_frame(),
        Err(Malformed::TooLong(MAX_BODY_BYTES + 1))
    );
}

#[test]
fn a_list_longer_than_its_body_is_refused_without_allocating_it() {
    let body = u32::MAX.to_le_bytes();
    let frame = one_frame(&frame::write_frame(1, &body));
    assert_eq!(ToHost::from_frame(&frame), Err(Malformed::Short));
}

#[test]
fn bytes_after_the_last_field_are_refused() {
    let frame = one_frame(&frame::write_frame(8, &[0]));
    assert_eq!(ToHost::from_frame(&frame), Err(Malformed::Trailing));
}

#[test]
fn reading_one_frame_leaves_the_next_one_in_the_stream() {
    let mut bytes = ToGuest::Kill(Kill::Ask).to_frame();
    bytes.extend(ToGuest::Kill(Kill::Force).to_frame());
    let mut stream = bytes.as_slice();
    read_frame(&mut stream).unwrap();
    let second = read_frame(&mut stream).unwrap();
    assert_eq!(ToGuest::from_frame(&second), Ok(ToGuest::Kill(Kill::Force)));
}

proptest! {
    #[test]
    fn garbage_never_panics_the_decoders(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let mut buffer = FrameBuffer::default();
        buffer.extend(&bytes);
        while let Ok(Some(frame)) = buffer.next_frame() {
            let _ = ToHost::from_frame(&frame);
            let _ = ToGuest::from_frame(&frame);
        }
    }

    #[test]
    fn garbage_bodies_of_every_kind_never_panic(kind in 0_u8..12, body in proptest::collection::vec(any::<u8>(), 0..512)) {
        let frame = one_frame(&frame::write_frame(kind, &body));
        let _ = ToHost::from_frame(&frame);
        let _ = ToGuest::from_frame(&frame);
    }

    #[test]
    fn a_cut_message_is_short_and_never_another_message(cut in 1_usize..200) {
        let whole = ToGuest::Start(start()).to_frame();
        let body = &whole[HEADER_BYTES..];
        let kept = body.len().saturating_sub(cut);
        let frame = one_frame(&frame::write_frame(1, &body[..kept]));
        prop_assert_eq!(ToGuest::from_frame(&frame), Err(Malformed::Short));
    }

    #[test]
    fn frames_come_out_whole_however_the_stream_is_cut(cuts in proptest::collection::vec(1_usize..40, 1..40)) {
        let messages = [
            ToHost::Output { stream: Stream::Stdout, bytes: b"one".to_vec() },
            ToHost::Truncated { stream: Stream::Stdout, dropped: 5 },
            ToHost::Finished,
        ];
        let bytes: Vec<u8> = messages.iter().flat_map(ToHost::to_frame).collect();
        let mut buffer = FrameBuffer::default();
        let mut seen = Vec::new();
        let mut rest = bytes.as_slice();
        let mut cuts = cuts.into_iter().cycle();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(cuts.next().unwrap().min(rest.len()));
            buffer.extend(head);
            rest = tail;
            while let Some(frame) = buffer.next_frame().unwrap() {
                seen.push(ToHost::from_frame(&frame).unwrap());
            }
        }
        prop_assert_eq!(seen.as_slice(), messages.as_slice());
    }
}
