//! What only PostgreSQL can do to a ledger: lose answers, connections and deadlocks.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use kiln_kernel::{Dbi, Kv, KvTx};

use crate::testing::{ManualClock, admin, postgres_database, postgres_port};
use crate::{Error, Store, StoreConfig, SystemEntropy, Tx, Value, params};

fn open(url: &str) -> Store {
    let mut config = StoreConfig::new(
        url,
        Arc::new(ManualClock::default()),
        Arc::new(SystemEntropy),
    );
    config.objects = "memory:".into();
    Store::open(&config).unwrap()
}

fn put(tx: &mut dyn Tx, key: &'static str) -> Result<u64, Error> {
    tx.execute(
        "INSERT INTO kernel (dbi, key, value) VALUES (9, ?1, ?1)",
        params![key.as_bytes()],
    )
}

fn count(store: &Store) -> i64 {
    let read = store.reader.read(|query| {
        query
            .query_one("SELECT COUNT(*) FROM kernel WHERE dbi = 9", &[])?
            .ok_or(Error::Closed)?
            .get(0)
    });
    let answer: Result<i64, Error> = read.wait();
    answer.unwrap()
}

#[test]
fn every_type_goes_in_and_comes_out() {
    let store = open(&postgres_database());
    let answer = store.ledger.submit(|tx| {
        tx.execute("CREATE TABLE types (a SMALLINT, b INTEGER, c BIGINT, d DOUBLE PRECISION, e TEXT, f BYTEA)", &[])?;
        tx.execute(
            "INSERT INTO types VALUES (?1, ?1, ?1, ?2, ?3, ?4), (NULL, NULL, NULL, NULL, NULL, NULL)",
            params![7_i64, 2.5, "it's ?1", vec![0_u8, 255]],
        )?;
        let sums = tx.query_one("SELECT SUM(a), SUM(c), AVG(b), COUNT(*), MAX(d) FROM types", &[])?;
        assert_eq!(
            sums.ok_or(Error::Closed)?.0,
            [Value::Int(7), Value::Int(7), Value::Real(7.0), Value::Int(2), Value::Real(2.5)]
        );
        let exists = tx.query_one("SELECT EXISTS (SELECT 1 FROM types WHERE e = ?1)", params!["it's ?1"])?;
        assert!(exists.ok_or(Error::Closed)?.get::<bool>(0)?);
        tx.query("SELECT a, b, c, d, e, f FROM types ORDER BY a NULLS LAST", &[])
    });
    let rows = answer.wait().unwrap();
    let seven = Value::Int(7);
    assert_eq!(
        rows[0].0,
        [
            seven.clone(),
            seven.clone(),
            seven,
            Value::Real(2.5),
            Value::Text("it's ?1".into()),
            Value::Blob(vec![0, 255])
        ]
    );
    assert!(rows[1].0.iter().all(|value| *value == Value::Null));
    store.close();
}

#[test]
fn text_sorts_by_bytes() {
    let store = open(&postgres_database());
    let answer = store.ledger.submit(|tx| {
        for name in ["b", "A", "a", "B", "_"] {
            tx.execute("INSERT INTO lane (name) VALUES (?1)", params![name])?;
        }
        let rows = tx.query("SELECT name FROM lane ORDER BY name", &[])?;
        rows.iter()
            .map(|row| row.get::<String>(0))
            .collect::<Result<Vec<_>, Error>>()
    });
    assert_eq!(answer.wait().unwrap(), ["A", "B", "_", "a", "b"]);
    store.close();
}

#[test]
fn kernel_time_is_the_clock_of_the_database() {
    let store = open(&postgres_database());
    let times = store.ledger.submit(|tx| {
        let row = tx.query_one(super::CLOCK, &[])?.ok_or(Error::Closed)?;
        Ok::<_, Error>((tx.now().0, row.get::<i64>(0)?))
    });
    let (now, database) = times.wait().unwrap();
    assert!(
        now <= database && database - now < 60_000,
        "{now} {database}"
    );
    assert!(store.ledger.now().0 >= now);
    store.close();
}

#[test]
fn a_deadlock_between_two_ledgers_is_run_again_until_both_succeed() {
    let url = postgres_database();
    let (one, two) = (open(&url), open(&url));
    let prepared = one.ledger.submit(|tx| {
        put(tx, "x")?;
        put(tx, "y")
    });
    prepared.wait().unwrap();
    let gate = Arc::new(Barrier::new(2));
    let lock_both = |store: &Store, first: &'static str, second: &'static str| {
        let gate = Arc::clone(&gate);
        let mut met = false;
        store.ledger.submit(move |tx| {
            let sql = "UPDATE kernel SET value = value WHERE dbi = 9 AND key = ?1";
            tx.execute(sql, params![first.as_bytes()])?;
            if !met {
                met = true;
                gate.wait();
            }
            tx.execute(sql, params![second.as_bytes()])
        })
    };
    let forth = lock_both(&one, "x", "y");
    let back = lock_both(&two, "y", "x");
    assert_eq!(forth.wait().unwrap(), 1);
    assert_eq!(back.wait().unwrap(), 1);
    one.close();
    two.close();
}

#[test]
fn two_ledgers_never_lose_a_count_in_the_kernels_table() {
    let url = postgres_database();
    let stores = [open(&url), open(&url)];
    let counters: Vec<_> = stores
        .iter()
        .flat_map(|store| [store.clone(), store.clone()])
        .map(|store| {
            thread::spawn(move || {
                for _ in 0..50 {
                    let added = store.ledger.write(|tx| {
                        let held = tx.get(Dbi(9), b"count")?.unwrap_or_else(|| vec![0; 8]);
                        let count = u64::from_be_bytes(held.try_into().unwrap()) + 1;
                        tx.put(Dbi(9), b"count", &count.to_be_bytes())
                    });
                    added.unwrap();
                }
            })
        })
        .collect();
    for counter in counters {
        counter.join().unwrap();
    }
    let total = stores[0]
        .ledger
        .read(|tx| tx.get(Dbi(9), b"count"))
        .unwrap();
    assert_eq!(total, Some(200_u64.to_be_bytes().to_vec()));
    stores.iter().for_each(Store::close);
}

#[test]
fn a_ledger_whose_connections_were_cut_while_idle_goes_on() {
    let url = postgres_database();
    let database = url.rsplit_once('/').unwrap().1.to_owned();
    let store = open(&url);
    store.ledger.submit(|tx| put(tx, "before")).wait().unwrap();
    admin(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    ));
    store.ledger.submit(|tx| put(tx, "after")).wait().unwrap();
    assert_eq!(count(&store), 2);
    store.close();
}

#[test]
fn a_commit_whose_answer_was_lost_is_found_and_not_run_twice() {
    let proxy = Proxy::start();
    let store = open(&proxy.url(&postgres_database()));
    proxy.at_commit(LOSE_ANSWER);
    store.ledger.submit(|tx| put(tx, "once")).wait().unwrap();
    assert_eq!(proxy.cuts(), 1);
    assert_eq!(count(&store), 1);
    store.close();
}

#[test]
fn a_commit_that_never_arrived_is_run_again() {
    let proxy = Proxy::start();
    let store = open(&proxy.url(&postgres_database()));
    proxy.at_commit(LOSE_QUESTION);
    store.ledger.submit(|tx| put(tx, "once")).wait().unwrap();
    assert_eq!(proxy.cuts(), 1);
    assert_eq!(count(&store), 1);
    store.close();
}

const PASS: u8 = 0;
const LOSE_ANSWER: u8 = 1;
const LOSE_QUESTION: u8 = 2;

/// Stands between a store and the database and cuts the next connection that commits.
struct Proxy {
    port: u16,
    plan: Arc<AtomicU8>,
    cuts: Arc<AtomicU8>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (plan, cuts) = (Arc::new(AtomicU8::new(PASS)), Arc::new(AtomicU8::new(0)));
        let shared = (Arc::clone(&plan), Arc::clone(&cuts));
        postgres_port();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (plan, cuts) = shared.clone();
                let server = TcpStream::connect(("127.0.0.1", postgres_port())).unwrap();
                thread::spawn(move || relay(&client, &server, &plan, &cuts));
            }
        });
        Self { port, plan, cuts }
    }

    fn url(&self, url: &str) -> String {
        url.replace(
            &format!(":{}/", postgres_port()),
            &format!(":{}/", self.port),
        )
    }

    fn at_commit(&self, plan: u8) {
        self.plan.store(plan, Ordering::SeqCst);
    }

    fn cuts(&self) -> u8 {
        self.cuts.load(Ordering::SeqCst)
    }
}

/// Carries bytes both ways, until a commit passes by while there is a plan for it.
fn relay(client: &TcpStream, server: &TcpStream, plan: &AtomicU8, cuts: &AtomicU8) {
    let (mut from_server, mut to_client) =
        (server.try_clone().unwrap(), client.try_clone().unwrap());
    let answers = thread::spawn(move || {
        drop(std::io::copy(&mut from_server, &mut to_client));
        drop(to_client.shutdown(Shutdown::Both));
    });
    let (mut from_client, mut to_server) = (client, server);
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from_client.read(&mut buffer) {
        let is_commit = buffer[..length]
            .windows(8)
            .any(|bytes| bytes == b"; COMMIT");
        let planned = if is_commit {
            plan.swap(PASS, Ordering::SeqCst)
        } else {
            PASS
        };
        if planned != PASS {
            cuts.fetch_add(1, Ordering::SeqCst);
            // Nothing more reaches the client, whatever the server goes on to do.
            drop(client.shutdown(Shutdown::Both));
        }
        if planned == LOSE_QUESTION || to_server.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    drop(server.shutdown(Shutdown::Write));
    drop(answers.join());
}
