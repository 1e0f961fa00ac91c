//! A throw-away PostgreSQL: one cluster per test process, a fresh database per test.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use postgres::{Client, NoTls};

/// The user that initdb makes, who may do everything without a password.
const USER: &str = "kiln";
/// Keeps the server running until its standard input ends, however the test process ends, and leaves nothing behind.
const KEEPER: &str = r#"
directory=$1; shift
"$@" &
server=$!
cat > /dev/null
kill -QUIT "$server"
wait "$server"
rm -rf "$directory""#;

static CLUSTER: OnceLock<Cluster> = OnceLock::new();
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// Makes a new, empty database and answers its URL. Starts the cluster when it is the first.
///
/// # Panics
/// When PostgreSQL is not installed or does not start: a test that needs it fails, and never skips.
pub fn postgres_database() -> String {
    let number = DATABASES.fetch_add(1, Ordering::SeqCst);
    let name = format!("test_{number}");
    // Copying files is faster than logging every page, and nobody else is writing.
    admin(&format!("CREATE DATABASE {name} STRATEGY file_copy"));
    postgres_url(&name)
}

/// The URL of a database of the cluster, whether it exists or not.
pub fn postgres_url(database: &str) -> String {
    format!("postgres://{USER}@127.0.0.1:{}/{database}", postgres_port())
}

pub fn postgres_port() -> u16 {
    CLUSTER.get_or_init(Cluster::start).port
}

/// Runs statements as the superuser.
pub fn admin(sql: &str) {
    let url = postgres_url("postgres");
    let sql = sql.to_owned();
    // The driver brings its own runtime, which cannot be used inside another one.
    let done = thread::spawn(move || {
        let mut client = Client::connect(&url, NoTls)?;
        client.batch_execute(&sql)
    });
    done.join()
        .expect("the client does not panic")
        .expect("the statement is good");
}

#[derive(Debug)]
struct Cluster {
    port: u16,
    /// The keeper ends when the pipe to it is closed: with this process, at the latest.
    _keeper: Child,
}

impl Cluster {
    fn start() -> Self {
        let bin = binaries();
        let directory = tempfile::tempdir().expect("a temporary directory").keep();
        let data = directory.join("data");
        if rustix::process::geteuid().is_root() {
            run(Command::new("chown").arg("postgres").arg(&directory));
        }
        run(as_server_user(&bin.join("initdb"))
            .args([
                "--no-sync",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--username",
                USER,
            ])
            .arg("--pgdata")
            .arg(&data));
        // One role that needs its password, for the tests that get it wrong.
        let rules = "host all secret 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\nlocal all all trust\n";
        std::fs::write(data.join("pg_hba.conf"), rules).expect("the cluster is writable");
        let port = free_port();
        let server = as_server_user(&bin.join("postgres"));
        let mut keeper = Command::new("sh");
        keeper
            .args(["-c", KEEPER, "keeper"])
            .arg(&directory)
            .arg(server.get_program())
            .args(server.get_args());
        keeper.arg("-D").arg(&data);
        for setting in [
            format!("port={port}"),
            format!("unix_socket_directories={}", directory.display()),
            "listen_addresses=127.0.0.1".into(),
            "fsync=off".into(),
            "full_page_writes=off".into(),
            "max_connections=400".into(),
            "shared_buffers=32MB".into(),
        ] {
            keeper.arg("-c").arg(setting);
        }
        let mut child = keeper
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh is there");
        let mut log = BufReader::new(child.stderr.take().expect("piped"))
            .lines()
            .map_while(Result::ok);
        let ready = log
            .by_ref()
            .any(|line| line.contains("database system is ready to accept connections"));
        assert!(ready, "PostgreSQL did not start");
        // A full pipe would stop the server.
        thread::spawn(move || log.for_each(drop));
        Self {
            port,
            _keeper: child,
        }
    }
}

/// The newest installed server, in Debian's place.
fn binaries() -> PathBuf {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = installed
        .map(|entry| entry.path())
        .max_by_key(|path| version(path));
    newest
        .map(|path| path.join("bin"))
        .expect("PostgreSQL is not installed: run `cargo xtask setup`")
}

/// PostgreSQL refuses to run as root.
fn as_server_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(program);
    command
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}
