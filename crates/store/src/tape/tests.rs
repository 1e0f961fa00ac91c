use std::io::{BufReader, Cursor, Write};
use std::sync::{Arc, Mutex};

use kiln_kernel::{
    Handler, Kind, Kv as _, KvTx as _, Message, MessageView, Policy, Preparing, Runner,
    RunnerConfig, Status, Step, inbox,
};
use kiln_model::Millis;

use super::*;
use crate::testing::{ManualClock, MemoryDatabase, NoFaults, SeededEntropy};
use crate::{DatabaseErrorKind, Engine, Error, Store, Tx, Value, params};

const WORKER: u64 = 7;

/// Counts in SQL, reads before it writes, fails on wish, and does something outside.
#[derive(Debug)]
struct Counting {
    store: KernelStore,
    by: i64,
}

impl Handler<dyn Tx> for Counting {
    type Prepared = i64;

    fn prepare(&self, message: &MessageView<'_>, _: &Preparing<'_>) -> Result<i64, Status> {
        let told = self
            .store
            .outside("tell", &message.id, || match message.id {
                b"refused" => Err(Error::database(DatabaseErrorKind::Io, "nobody there")),
                _ => Ok(()),
            });
        told.map_err(|error| Status::Store(error.to_string()))?;
        self.store.read(|tx| {
            let row = tx.query_one("SELECT COUNT(*) FROM kernel WHERE dbi = 9", &[]);
            row.map_err(|error| Status::Store(error.to_string()))?
                .map_or(Ok(0), |row| row.get(0))
                .map_err(|error: Error| Status::Store(error.to_string()))
        })
    }

    fn apply(
        &self,
        seen: &i64,
        message: &MessageView<'_>,
        tx: &mut (dyn Tx + 'static),
        step: &mut Step,
    ) -> Result<(), Status> {
        if message.id == b"flaky" && step.attempt() < 2 {
            return Err(Status::Conflict);
        }
        let value = (seen + self.by).to_le_bytes();
        tx.execute(
            "INSERT INTO kernel (dbi, key, value) VALUES (9, ?1, ?2)
             ON CONFLICT (dbi, key) DO UPDATE SET value = excluded.value",
            params![message.id, &value[..]],
        )
        .map_err(|error| Status::Store(error.to_string()))?;
        if message.kind == Kind::Command {
            let later = Message::new(Kind::Timer, 7, [message.id, b"!"].concat(), "");
            step.arm(Millis(step.now().0 + 5), &later.view())?;
        }
        Ok(())
    }
}

/// Bytes that a recorder writes and a test reads.
#[derive(Clone, Debug, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn start() -> Start {
    Start {
        kiln: "1".to_owned(),
        engine: Engine::Sqlite,
        owner: 3,
        at: Millis(5),
    }
}

fn store(clock: &Arc<ManualClock>) -> Store {
    let database = MemoryDatabase::new().unwrap();
    let clock = Arc::<ManualClock>::clone(clock);
    Store::inline(&database, clock, &SeededEntropy::new(1), Arc::new(NoFaults)).unwrap()
}

fn send(store: &Store, id: &'static str) {
    let message = Message::new(Kind::Command, 7, id, "");
    store
        .ledger
        .write(move |tx| inbox::send(tx, &message.view()).map(drop))
        .unwrap();
}

fn runner(store: KernelStore, by: i64) -> Result<Runner<KernelStore, Counting>, Status> {
    let handler = Counting {
        store: store.clone(),
        by,
    };
    let mut config = RunnerConfig::new(WORKER);
    config.owner = 3;
    let runner = Runner::boot(store.clone(), Arc::new(handler), config)?;
    runner.set_policy(Policy {
        requeue_backoff_ms: 0,
        ..Policy::DEFAULT
    });
    runner.set_step_sink(Some(Arc::new(move |step| store.step(step))));
    Ok(runner)
}

/// What a worker does in a day, while the doors write what they please.
fn work(store: &KernelStore, by: i64, doors: impl Fn(&'static str)) {
    let Ok(runner) = runner(store.clone(), by) else {
        return;
    };
    let clock = || store.now();
    for id in ["one", "flaky", "two", "refused"] {
        doors(id);
        runner.poll_inbox(64, &clock);
        runner.poll_timers(64, &clock);
    }
}

fn a_day() -> Vec<u8> {
    let clock = Arc::new(ManualClock::default());
    let store = store(&clock);
    let paper = Paper::default();
    let recorded =
        KernelStore::recording(store.ledger.clone(), Recorder::new(paper.clone(), start()));
    work(&recorded, 1, |id| {
        send(&store, id);
        clock.advance(10);
    });
    paper.0.lock().unwrap().clone()
}

fn again(by: i64, log: &[u8]) -> Replayed {
    let player = Player::new(BufReader::new(Cursor::new(log.to_vec()))).unwrap();
    work(&KernelStore::playing(player.clone()), by, |_| {});
    player.replayed()
}

fn lines(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8(log.to_vec()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_same_code_does_the_same_without_the_database() {
    let log = a_day();
    let replayed = again(1, &log);
    assert_eq!(replayed.divergence, None);
    assert!(replayed.unreadable.is_none());
    let steps = lines(&log)
        .iter()
        .filter(|line| line.contains("{\"step\""))
        .count();
    assert!(steps >= 8, "{steps} steps");
    assert!(lines(&log).iter().any(|line| line.contains("\"timer")));
    assert_eq!(replayed.steps, steps as u64);
}

#[test]
fn other_code_is_caught_at_its_first_different_statement() {
    let divergence = again(2, &a_day()).divergence.unwrap();
    assert_eq!(divergence.step, 1);
    assert!(
        divergence.recorded.contains("0100000000000000"),
        "{divergence}"
    );
    assert!(
        divergence.found.contains("0200000000000000"),
        "{divergence}"
    );
}

#[test]
fn a_recorded_answer_is_believed() {
    // The log says that the store refused; the same store would not refuse today.
    let log = a_day();
    assert!(lines(&log).iter().any(|line| line.contains("nobody there")));
    assert_eq!(again(1, &log).divergence, None);
}

#[test]
fn a_recording_that_was_cut_off_is_good_up_to_there() {
    let log = a_day();
    let replayed = again(1, &log[..log.len() - 3]);
    assert_eq!(replayed.divergence, None);
    assert!(matches!(
        replayed.unreadable,
        Some(Unreadable::CutOff { .. })
    ));
}

#[test]
fn every_damaged_line_is_found() {
    let log = a_day();
    let text = lines(&log);
    for number in 1..text.len() {
        let mut damaged = text.clone();
        let middle = damaged[number].len() / 2;
        let other = if damaged[number].as_bytes()[middle] == b'0' {
            "1"
        } else {
            "0"
        };
        damaged[number].replace_range(middle..=middle, other);
        let log = damaged.join("\n") + "\n";
        let replayed = again(1, log.as_bytes());
        assert!(
            matches!(replayed.unreadable, Some(Unreadable::Damaged { line }) if line == number as u64 + 1),
            "line {number}: {replayed:?}"
        );
    }
}

#[test]
fn what_is_no_recording_is_refused() {
    for bytes in [&b""[..], b"hello\n", b"SQLite format 3\0", &a_day()[40..]] {
        let opened = Player::new(BufReader::new(Cursor::new(bytes.to_vec())));
        assert!(matches!(opened, Err(Unreadable::Foreign)));
    }
}

#[test]
fn a_recorder_that_cannot_write_does_not_stop_the_work() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let store = store(&Arc::new(ManualClock::default()));
    let recorded = KernelStore::recording(store.ledger.clone(), Recorder::new(Full, start()));
    work(&recorded, 1, |id| send(&store, id));
    let left = store.ledger.read(|tx| tx.get(kiln_kernel::Dbi(9), b"two"));
    assert!(left.unwrap().is_some());
}

#[test]
fn values_survive_the_paper_exactly() {
    let values = [
        Value::Null,
        Value::Int(i64::MIN),
        Value::Real(0.1 + 0.2),
        Value::Real(f64::INFINITY),
        Value::Text("\u{1F525} \"quoted\"\n".to_owned()),
        Value::Blob(vec![0, 255, 16]),
    ];
    for value in values {
        let written = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
    }
}
