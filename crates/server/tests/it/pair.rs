//! Two servers on one PostgreSQL, in processes of their own, one of which is killed now and then.
//!
//! A test that had something open at the server that is killed begins again, as its user would. Every other one must not
//! notice: neither of the kill, nor that its words go to two servers. Tests that cannot begin again, since what they make
//! has a name, are spared in the middle of a request, and no more than that.

use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::FutureExt as _;
use kiln_model::Entropy as _;
use kiln_server::{Server, ServerConfig};
use kiln_store::testing::postgres_database;
use kiln_store::{StoreConfig, SystemClock, SystemEntropy};
use tokio_util::sync::CancellationToken;

use crate::town::{Town, install_crypto};
use crate::ways::Ways;

/// Of requests and connections; how fast the machine is does not matter.
const BETWEEN_KILLS: Range<usize> = 30..90;
/// Sooner, since some pairs have but one test.
const BEFORE_THE_FIRST_KILL: Range<usize> = 2..40;
/// What clients are told to call either of them.
const PUBLIC_URL: &str = "http://kiln.test";
const DATABASE: &str = "KILN_TEST_PAIR_DATABASE";
const OBJECTS: &str = "KILN_TEST_PAIR_OBJECTS";
const WAYS: &str = "KILN_TEST_PAIR_WAYS";
/// What a server says when it listens, before its URL and the administrator's key.
const LISTENING: &str = "listening:";

/// A server that a test had something open at was killed: the test says nothing, and may begin again.
#[derive(Debug)]
pub(crate) struct Interrupted;

pub(crate) struct Pair {
    pub(crate) admin: String,
    orders: Orders,
    state: Mutex<State>,
    /// A request during which a server was spared has ended, or both servers are there again.
    calm: Condvar,
}

/// What both servers are told.
struct Orders {
    database: String,
    objects: PathBuf,
    ways: Ways,
}

struct State {
    servers: [ServerProcess; 2],
    /// The server that is about to be killed, or is starting again.
    down: Option<usize>,
    /// How much is opened before the next kill.
    left: usize,
    /// Which server is next.
    turn: usize,
    attempts: Vec<Weak<Attempt>>,
    /// Requests at each server during which it is not killed.
    spared: [usize; 2],
}

/// One run of one test.
#[derive(Debug)]
pub(crate) struct Attempt {
    pair: Arc<Pair>,
    open: [AtomicUsize; 2],
    interrupted: CancellationToken,
}

/// Something is open at a server as long as this lives.
#[derive(Debug)]
pub(crate) struct Open {
    attempt: Arc<Attempt>,
    server: usize,
    pub(crate) url: String,
}

/// A server is not killed as long as this lives.
#[derive(Debug)]
pub(crate) struct Spared {
    pair: Arc<Pair>,
    server: usize,
    pub(crate) url: String,
}

struct ServerProcess {
    child: Child,
    url: String,
    /// It may go on to speak.
    _stdout: BufReader<ChildStdout>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl Pair {
    pub(crate) fn start(ways: Ways) -> Arc<Self> {
        install_crypto();
        let orders = Orders {
            database: postgres_database(),
            objects: tempfile::tempdir().unwrap().keep(),
            ways,
        };
        let (first, admin) = ServerProcess::start(&orders);
        let (second, _) = ServerProcess::start(&orders);
        Arc::new(Self {
            admin,
            orders,
            state: Mutex::new(State {
                servers: [first, second],
                down: None,
                left: next_kill(BEFORE_THE_FIRST_KILL),
                turn: 0,
                attempts: Vec::new(),
                spared: [0; 2],
            }),
            calm: Condvar::new(),
        })
    }

    /// Runs a test, until it ends or is interrupted.
    pub(crate) async fn attempt(
        self: &Arc<Self>,
        test: &impl AsyncFn(&Town),
    ) -> Result<(), Interrupted> {
        let attempt = self.begin();
        let admin = self.admin.clone();
        let town = Town::of_two(Arc::clone(&attempt), admin, PUBLIC_URL.to_owned());
        let outcome = tokio::select! {
            outcome = AssertUnwindSafe(test(&town)).catch_unwind() => outcome,
            () = attempt.interrupted.cancelled() => return Err(Interrupted),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(_) if attempt.interrupted.is_cancelled() => Err(Interrupted),
            Err(panic) => resume_unwind(panic),
        }
    }

    fn begin(self: &Arc<Self>) -> Arc<Attempt> {
        let attempt = Arc::new(Attempt {
            pair: Arc::clone(self),
            open: Default::default(),
            interrupted: CancellationToken::new(),
        });
        let mut state = self.lock();
        state.attempts.retain(|known| known.strong_count() > 0);
        state.attempts.push(Arc::downgrade(&attempt));
        drop(state);
        attempt
    }

    /// For one request, during which the server is spared.
    pub(crate) fn spare(self: &Arc<Self>) -> Spared {
        let mut state = self.lock();
        let server = self.next(&mut state);
        self.spare_at(server, &mut state)
    }

    pub(crate) fn spare_both(self: &Arc<Self>) -> [Spared; 2] {
        let mut state = self.lock_both();
        [0, 1].map(|server| self.spare_at(server, &mut state))
    }

    fn spare_at(self: &Arc<Self>, server: usize, state: &mut State) -> Spared {
        state.spared[server] += 1;
        Spared {
            pair: Arc::clone(self),
            server,
            url: state.servers[server].url.clone(),
        }
    }

    /// One server after the other is asked, as far as both are there.
    fn next(self: &Arc<Self>, state: &mut State) -> usize {
        state.left = state.left.saturating_sub(1);
        if state.left == 0 && state.down.is_none() {
            let victim = random() % 2;
            state.down = Some(victim);
            let pair = Arc::clone(self);
            std::thread::spawn(move || pair.kill(victim));
        }
        state.turn += 1;
        match state.down {
            Some(down) => 1 - down,
            None => state.turn % 2,
        }
    }

    /// Interrupts whoever has something open at this server, kills it, and starts another in its place.
    fn kill(&self, victim: usize) {
        let is_spared = |state: &mut State| state.spared[victim] > 0;
        let calm = self.calm.wait_while(self.lock(), is_spared);
        let mut state = calm.unwrap_or_else(PoisonError::into_inner);
        for attempt in state.attempts.iter().filter_map(Weak::upgrade) {
            if attempt.open[victim].load(Ordering::SeqCst) > 0 {
                attempt.interrupted.cancel();
            }
        }
        let child = &mut state.servers[victim].child;
        child.kill().unwrap();
        child.wait().unwrap();
        drop(state);
        let (server, _) = ServerProcess::start(&self.orders);
        let mut state = self.lock();
        state.servers[victim] = server;
        state.down = None;
        state.left = next_kill(BETWEEN_KILLS);
        drop(state);
        self.calm.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When both servers are there.
    fn lock_both(&self) -> MutexGuard<'_, State> {
        let is_alone = |state: &mut State| state.down.is_some();
        let both = self.calm.wait_while(self.lock(), is_alone);
        both.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    pub(crate) fn open(self: &Arc<Self>) -> Open {
        let mut state = self.pair.lock();
        let server = self.pair.next(&mut state);
        self.open_at(server, &state)
    }

    pub(crate) fn open_both(self: &Arc<Self>) -> [Open; 2] {
        let state = self.pair.lock_both();
        [0, 1].map(|server| self.open_at(server, &state))
    }

    fn open_at(self: &Arc<Self>, server: usize, state: &State) -> Open {
        self.open[server].fetch_add(1, Ordering::SeqCst);
        Open {
            attempt: Arc::clone(self),
            server,
            url: state.servers[server].url.clone(),
        }
    }
}

impl Drop for Spared {
    fn drop(&mut self) {
        self.pair.lock().spared[self.server] -= 1;
        self.pair.calm.notify_all();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.attempt.open[self.server].fetch_sub(1, Ordering::SeqCst);
    }
}

impl ServerProcess {
    /// This program again, as a server; with the administrator's key, if it made one.
    fn start(orders: &Orders) -> (Self, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "pair::a_server_ends_with_whoever_started_it"])
            .arg("--nocapture")
            .env(DATABASE, &orders.database)
            .env(OBJECTS, &orders.objects)
            .env(WAYS, serde_json::to_string(&orders.ways).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (url, admin) = heard(&mut stdout);
        let server = Self {
            child,
            url,
            _stdout: stdout,
        };
        (server, admin)
    }
}

/// What a server says when it listens.
fn heard(stdout: &mut BufReader<ChildStdout>) -> (String, String) {
    for line in stdout.lines() {
        let line = line.unwrap();
        if let Some((_, said)) = line.split_once(LISTENING) {
            let mut words = said.split_whitespace().map(str::to_owned);
            let url = words.next().unwrap();
            return (url, words.next().unwrap_or_default());
        }
    }
    panic!("the server ended before it listened");
}

fn next_kill(within: Range<usize>) -> usize {
    within.start + random() % within.len()
}

fn random() -> usize {
    let mut bytes = [0; 2];
    SystemEntropy.fill(&mut bytes);
    usize::from(u16::from_le_bytes(bytes))
}

/// Of the processes of these tests it is the one that serves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_ends_with_whoever_started_it() {
    if let Ok(database) = std::env::var(DATABASE) {
        return serve(database).await;
    }
    let check = || {
        let objects = tempfile::tempdir().unwrap();
        let orders = Orders {
            database: postgres_database(),
            objects: objects.path().to_owned(),
            ways: Ways::default(),
        };
        let (mut server, _) = ServerProcess::start(&orders);
        drop(server.child.stdin.take());
        assert!(server.child.wait().unwrap().success());
    };
    tokio::task::spawn_blocking(check).await.unwrap();
}

async fn serve(database: String) {
    install_crypto();
    let (clock, entropy) = (Arc::new(SystemClock::new()), Arc::new(SystemEntropy));
    let store = StoreConfig {
        objects: std::env::var(OBJECTS).unwrap(),
        ..StoreConfig::new(database, clock.clone(), entropy.clone())
    };
    let ways: Ways = serde_json::from_str(&std::env::var(WAYS).unwrap()).unwrap();
    let config = ServerConfig {
        public_url: Some(PUBLIC_URL.to_owned()),
        ..ways.of(ServerConfig::new(([127, 0, 0, 1], 0).into(), store))
    };
    let server = Server::start(config, clock, entropy).await.unwrap();
    let admin = server.admin_key().unwrap_or_default();
    println!("{LISTENING}http://{} {admin}", server.address());
    // Until whoever started it goes away.
    let waiting = || std::io::stdin().read_to_end(&mut Vec::new());
    tokio::task::spawn_blocking(waiting).await.unwrap().unwrap();
    server.stop().await;
}
