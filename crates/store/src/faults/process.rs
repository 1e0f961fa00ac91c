//! The process under fault: what it does, and what it says about it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{check, open, write};
use crate::{DatabaseErrorKind, Error, ObjectErrorKind, Objects, Store, SystemEntropy};

const SCENARIO: &str = "KILN_FAULT_SCENARIO";
const DIRECTORY: &str = "KILN_FAULT_DIRECTORY";
/// More than the log may hold before it is copied back into the database.
const MANY_PAGES: usize = 24 << 20;

/// One line of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Acknowledged(i64),
    Io(i64),
    Full(i64),
    Closed(i64),
    Fatal,
    /// An object that is there and right, and one that is not there.
    Whole(i64),
    Absent(i64),
}

impl Said {
    pub(super) fn acknowledged(&self) -> Option<i64> {
        match self {
            Self::Acknowledged(number) => Some(*number),
            Self::Io(_)
            | Self::Full(_)
            | Self::Closed(_)
            | Self::Fatal
            | Self::Whole(_)
            | Self::Absent(_) => None,
        }
    }

    fn say(self) {
        println!("@ {self:?}");
    }

    fn parse(line: &str) -> Option<Self> {
        let text = line.strip_prefix("@ ")?;
        if text == "Fatal" {
            return Some(Self::Fatal);
        }
        let (word, rest) = text.split_once('(')?;
        let number = rest.strip_suffix(')')?.parse().ok()?;
        Some(match word {
            "Acknowledged" => Self::Acknowledged(number),
            "Io" => Self::Io(number),
            "Full" => Self::Full(number),
            "Closed" => Self::Closed(number),
            "Whole" => Self::Whole(number),
            "Absent" => Self::Absent(number),
            _ => return None,
        })
    }
}

/// While this file exists, the chosen system calls fail.
pub(super) fn trigger(directory: &Path) -> PathBuf {
    directory.join("trigger")
}

/// This test binary, running one scenario on `directory`.
pub(super) fn command(scenario: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "faults::process::a_process_without_faults_is_acknowledged",
            "--nocapture",
        ])
        .env(SCENARIO, scenario)
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// Runs it to its end.
pub(super) fn run(command: &mut Command) -> Vec<Said> {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().filter_map(Said::parse).collect()
}

/// With a plan in the environment this is the process under fault; by itself it is the same without any.
#[test]
fn a_process_without_faults_is_acknowledged() {
    if let (Ok(scenario), Some(directory)) = (std::env::var(SCENARIO), std::env::var_os(DIRECTORY))
    {
        return play(&scenario, Path::new(&directory));
    }
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).unwrap();
    for number in 0..10 {
        write(&store, number, 100).unwrap();
    }
    store.close();
    check(directory.path(), &(0..10).collect());
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    let directory = TempDir::new().unwrap();
    let mut child = command("forever", directory.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut acknowledged = BTreeSet::new();
    while acknowledged.len() < 500 {
        let line = lines.next().expect("it writes until it is killed");
        acknowledged.extend(Said::parse(&line).as_ref().and_then(Said::acknowledged));
    }
    child.kill().unwrap();
    // What it still managed to say counts as well.
    acknowledged.extend(lines.filter_map(|line| Said::parse(&line)?.acknowledged()));
    child.wait().unwrap();
    check(directory.path(), &acknowledged);
}

fn play(scenario: &str, directory: &Path) {
    match scenario {
        "ledger" => ledger(directory),
        "checkpoint" => checkpoint(directory),
        "objects" => objects(directory),
        "forever" => forever(directory),
        other => panic!("no scenario {other}"),
    }
}

/// Five writes, one under the fault, and one after it.
fn ledger(directory: &Path) {
    let store = open(directory).unwrap();
    (0..5).for_each(|number| attempt(&store, number, 100));
    std::fs::write(trigger(directory), "").unwrap();
    attempt(&store, 5, 100);
    std::fs::remove_file(trigger(directory)).unwrap();
    attempt(&store, 6, 100);
    store.close();
}

/// A write so large that the log is copied back into the database while that fails.
fn checkpoint(directory: &Path) {
    let store = open(directory).unwrap();
    attempt(&store, 0, 100);
    std::fs::write(trigger(directory), "").unwrap();
    attempt(&store, 1, MANY_PAGES);
    if std::env::var("KILN_FAULT_OPERATION").is_ok_and(|operation| operation == "fsync") {
        store.ledger.fatal().wait();
        Said::Fatal.say();
    }
    attempt(&store, 2, 100);
    std::fs::remove_file(trigger(directory)).unwrap();
    store.close();
}

fn objects(directory: &Path) {
    open(directory).unwrap().close();
    let root = directory.join("objects").display().to_string();
    let objects = Objects::open(&root, std::sync::Arc::new(SystemEntropy)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        put(&objects, 0).await;
        std::fs::write(trigger(directory), "").unwrap();
        put(&objects, 1).await;
        std::fs::remove_file(trigger(directory)).unwrap();
        let seen = objects.list("", None, 100).await.unwrap();
        if seen.len() == 1 {
            Said::Absent(1).say();
        }
        put(&objects, 2).await;
    });
}

async fn put(objects: &Objects, number: u8) {
    let mut writer = objects.put_blob(None);
    let bytes = vec![number; 3 << 20];
    let stored = match writer.write(&bytes).await {
        Ok(()) => writer.finish().await,
        Err(error) => Err(error),
    };
    match stored {
        Ok(stored) => {
            objects.verify(&stored.key, &stored.digest).await.unwrap();
            Said::Whole(number.into()).say();
        }
        Err(Error::Object {
            kind: ObjectErrorKind::Full,
            ..
        }) => Said::Full(number.into()).say(),
        Err(Error::Object {
            kind: ObjectErrorKind::Io,
            ..
        }) => Said::Io(number.into()).say(),
        Err(error) => panic!("{error}"),
    }
}

/// Eight threads that write until the process is killed.
fn forever(directory: &Path) {
    let store = open(directory).unwrap();
    let writers: Vec<_> = (0..8)
        .map(|thread: i64| {
            let store = store.clone();
            std::thread::spawn(move || {
                for round in 0..i64::MAX {
                    attempt(&store, thread + round * 8, 200);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
}

fn attempt(store: &Store, number: i64, size: usize) {
    match write(store, number, size) {
        Ok(()) => Said::Acknowledged(number).say(),
        Err(Error::Database {
            kind: DatabaseErrorKind::Full,
            ..
        }) => Said::Full(number).say(),
        Err(Error::Database {
            kind: DatabaseErrorKind::Io,
            ..
        }) => Said::Io(number).say(),
        Err(Error::Closed) => {
            Said::Closed(number).say();
            if number == 5 {
                store.ledger.fatal().wait();
                Said::Fatal.say();
            }
        }
        Err(error) => panic!("{error}"),
    }
}
