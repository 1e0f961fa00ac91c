//! Any interleaving keeps the agent's promises: first against a server that says anything, then against one that
//! keeps to the protocol, where in addition every result must arrive.

mod server;
mod world;

use kiln_model::v0::ServerMessage;
use proptest::prelude::*;

use server::Server;
use world::{World, job_number};

/// Something that may happen; what cannot happen at the moment is passed over.
#[derive(Clone, Debug)]
enum Op {
    Pass {
        millis: u32,
    },
    Dial {
        succeeds: bool,
    },
    Cut,
    Work {
        succeeds: bool,
    },
    Disk {
        works: bool,
    },
    Upload {
        taken: bool,
    },
    Drain,
    Stop,
    /// From a server that says anything.
    Say(Speech),
    /// Of a server that keeps to the protocol.
    Serve(Service),
}

#[derive(Clone, Debug)]
enum Speech {
    AckCurrent,
    AckOther,
    AckNobody,
    Job,
    NoJob,
    Cancel,
    Update,
}

#[derive(Clone, Debug)]
enum Service {
    Read,
    Deliver,
    GiveJob,
    GiveNoJob,
    Cancel { pushed: bool },
}

fn circumstance() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..3_000_u32).prop_map(|millis| Op::Pass { millis }),
        1 => (0..200_000_u32).prop_map(|millis| Op::Pass { millis }),
        4 => any::<bool>().prop_map(|succeeds| Op::Dial { succeeds }),
        1 => Just(Op::Cut),
        4 => any::<bool>().prop_map(|succeeds| Op::Work { succeeds }),
        1 => any::<bool>().prop_map(|works| Op::Disk { works }),
        2 => any::<bool>().prop_map(|taken| Op::Upload { taken }),
    ]
}

fn speech() -> impl Strategy<Value = Op> {
    let speech = prop_oneof![
        4 => Just(Speech::AckCurrent),
        1 => Just(Speech::AckOther),
        1 => Just(Speech::AckNobody),
        4 => Just(Speech::Job),
        1 => Just(Speech::NoJob),
        1 => Just(Speech::Cancel),
        1 => Just(Speech::Update),
    ];
    speech.prop_map(Op::Say)
}

fn service() -> impl Strategy<Value = Op> {
    let service = prop_oneof![
        6 => Just(Service::Read),
        6 => Just(Service::Deliver),
        3 => Just(Service::GiveJob),
        1 => Just(Service::GiveNoJob),
        1 => any::<bool>().prop_map(|pushed| Service::Cancel { pushed }),
    ];
    service.prop_map(Op::Serve)
}

fn happen(world: &mut World, op: &Op) {
    match op {
        Op::Pass { millis } => world.pass(*millis),
        Op::Dial { succeeds } => world.dial(*succeeds),
        Op::Cut => world.cut(),
        Op::Work { succeeds } => world.work(*succeeds),
        Op::Disk { works } => world.disk_works = *works,
        Op::Upload { taken } => world.upload(*taken),
        Op::Drain => world.drain(),
        Op::Stop => world.stop(),
        Op::Say(speech) => {
            let message = say(world, speech);
            world.hear(message);
        }
        Op::Serve(service) => serve(world, service),
    }
}

fn say(world: &mut World, speech: &Speech) -> ServerMessage {
    match speech {
        Speech::AckCurrent => ServerMessage::Ack {
            job: world.state.job(),
        },
        Speech::AckOther => ServerMessage::Ack {
            job: Some(job_number(u32::MAX)),
        },
        Speech::AckNobody => ServerMessage::Ack { job: None },
        Speech::Job => world.server.new_job(),
        Speech::NoJob => ServerMessage::NoJob,
        Speech::Cancel => ServerMessage::Cancel,
        Speech::Update => ServerMessage::Update {
            version: String::new(),
            url: String::new(),
            checksum: String::new(),
        },
    }
}

fn serve(world: &mut World, service: &Service) {
    match service {
        Service::Read => world.server.read(),
        Service::Deliver => {
            if let Some(message) = world.server.outbox.pop_front() {
                world.hear(message);
            }
        }
        Service::GiveJob => world.server.give_job(),
        Service::GiveNoJob => world.server.give_no_job(),
        Service::Cancel { pushed } => world.server.cancel(*pushed),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_server_can_make_the_agent_break_its_promises(
        spooled in 0..3_u32,
        ops in prop::collection::vec(
            prop_oneof![8 => circumstance(), 8 => speech(), 1 => Just(Op::Drain), 1 => Just(Op::Stop)],
            1..200,
        ),
    ) {
        let mut world = World::new(spooled, Server::anything());
        for op in &ops {
            happen(&mut world, op);
        }
    }

    #[test]
    fn every_result_reaches_a_server_that_keeps_to_the_protocol(
        spooled in 0..3_u32,
        takes_up in any::<bool>(),
        ops in prop::collection::vec(prop_oneof![circumstance(), service()], 1..200),
    ) {
        let mut world = World::new(spooled, Server::faithful(takes_up));
        for op in &ops {
            happen(&mut world, op);
        }
        world.settle();
    }
}
