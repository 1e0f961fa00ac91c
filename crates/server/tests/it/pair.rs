//! Two servers on one PostgreSQL, in processes of their own, one of which is killed now and then.
//!
//! A test that had something open at the server that is killed begins again, as its user would. Every other one must not
//! notice: neither of the kill, nor that its words go to two servers.

use std::io::{BufRead as _, BufReader, Read as _};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures_util::FutureExt as _;
use kiln_model::Entropy as _;
use kiln_server::{Server, ServerConfig};
use kiln_store::testing::postgres_database;
use kiln_store::{StoreConfig, SystemClock, SystemEntropy};
use tokio_util::sync::CancellationToken;

use crate::town::{Town, install_crypto};

/// Of requests and connections; how fast the machine is does not matter.
const BETWEEN_KILLS: std::ops::Range<usize> = 30..90;
/// A test that is interrupted more often than this has no chance.
const MAX_ATTEMPTS: usize = 50;
/// What clients are told to call either of them.
const PUBLIC_URL: &str = "http://kiln.test";
const DATABASE: &str = "KILN_TEST_PAIR_DATABASE";
const OBJECTS: &str = "KILN_TEST_PAIR_OBJECTS";
/// What a server says when it listens, before its URL and the administrator's key.
const LISTENING: &str = "listening:";

/// Runs a test again until it was not interrupted.
pub(crate) async fn survives(test: impl AsyncFn(Town)) {
    let pair = tokio::task::spawn_blocking(Pair::shared).await.unwrap();
    for _ in 0..MAX_ATTEMPTS {
        let attempt = pair.attempt();
        let town = Town::of_two(
            Arc::clone(&attempt),
            pair.admin.clone(),
            PUBLIC_URL.to_owned(),
        );
        let outcome = tokio::select! {
            outcome = AssertUnwindSafe(test(town)).catch_unwind() => outcome,
            () = attempt.interrupted.cancelled() => continue,
        };
        match outcome {
            Ok(()) => return,
            Err(_) if attempt.interrupted.is_cancelled() => {}
            Err(panic) => resume_unwind(panic),
        }
    }
    panic!("interrupted {MAX_ATTEMPTS} times");
}

struct Pair {
    admin: String,
    database: String,
    objects: PathBuf,
    state: Mutex<State>,
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
}

/// One run of one test.
#[derive(Debug)]
pub(crate) struct Attempt {
    pair: &'static Pair,
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
    fn shared() -> &'static Self {
        static PAIR: OnceLock<Pair> = OnceLock::new();
        PAIR.get_or_init(|| {
            install_crypto();
            let (database, objects) = (postgres_database(), tempfile::tempdir().unwrap().keep());
            let (first, admin) = ServerProcess::start(&database, &objects);
            let (second, _) = ServerProcess::start(&database, &objects);
            Self {
                admin,
                database,
                objects,
                state: Mutex::new(State {
                    servers: [first, second],
                    down: None,
                    left: next_kill(),
                    turn: 0,
                    attempts: Vec::new(),
                }),
            }
        })
    }

    fn attempt(&'static self) -> Arc<Attempt> {
        let attempt = Arc::new(Attempt {
            pair: self,
            open: Default::default(),
            interrupted: CancellationToken::new(),
        });
        let mut state = self.lock();
        state.attempts.retain(|known| known.strong_count() > 0);
        state.attempts.push(Arc::downgrade(&attempt));
        drop(state);
        attempt
    }

    /// Interrupts whoever has something open at this server, kills it, and starts another in its place.
    fn kill(&self, victim: usize) {
        let mut state = self.lock();
        for attempt in state.attempts.iter().filter_map(Weak::upgrade) {
            if attempt.open[victim].load(Ordering::SeqCst) > 0 {
                attempt.interrupted.cancel();
            }
        }
        let child = &mut state.servers[victim].child;
        child.kill().unwrap();
        child.wait().unwrap();
        drop(state);
        let (server, _) = ServerProcess::start(&self.database, &self.objects);
        let mut state = self.lock();
        state.servers[victim] = server;
        state.down = None;
        state.left = next_kill();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// One server after the other is asked, as far as both are there.
    pub(crate) fn open(self: &Arc<Self>) -> Open {
        let mut state = self.pair.lock();
        state.left = state.left.saturating_sub(1);
        if state.left == 0 && state.down.is_none() {
            let victim = random() % 2;
            state.down = Some(victim);
            let pair = self.pair;
            std::thread::spawn(move || pair.kill(victim));
        }
        state.turn += 1;
        let server = match state.down {
            Some(down) => 1 - down,
            None => state.turn % 2,
        };
        self.open[server].fetch_add(1, Ordering::SeqCst);
        Open {
            attempt: Arc::clone(self),
            server,
            url: state.servers[server].url.clone(),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.attempt.open[self.server].fetch_sub(1, Ordering::SeqCst);
    }
}

impl ServerProcess {
    /// This program again, as a server; with the administrator's key, if it made one.
    fn start(database: &str, objects: &std::path::Path) -> (Self, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "pair::a_server_ends_with_whoever_started_it"])
            .arg("--nocapture")
            .env(DATABASE, database)
            .env(OBJECTS, objects)
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

fn next_kill() -> usize {
    BETWEEN_KILLS.start + random() % BETWEEN_KILLS.len()
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
        let (mut server, _) = ServerProcess::start(&postgres_database(), objects.path());
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
    let config = ServerConfig {
        trusted_proxies: vec![[127, 0, 0, 1].into()],
        public_url: Some(PUBLIC_URL.to_owned()),
        ..ServerConfig::new(([127, 0, 0, 1], 0).into(), store)
    };
    let server = Server::start(config, clock, entropy).await.unwrap();
    let admin = server.admin_key().unwrap_or_default();
    println!("{LISTENING}http://{} {admin}", server.address());
    // Until whoever started it goes away.
    let waiting = || std::io::stdin().read_to_end(&mut Vec::new());
    tokio::task::spawn_blocking(waiting).await.unwrap().unwrap();
    server.stop().await;
}
