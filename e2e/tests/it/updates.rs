//! A runner that becomes another program, for good or until it turns out that it does not work.

use std::fs;
use std::path::{Path, PathBuf};

use kiln_e2e::{Process, Town, program};
use rustix::process::Signal;

use crate::offering::Offering;

/// A program of our own, so that nobody else's is replaced.
struct Installed {
    town: Town,
}

impl Installed {
    fn new() -> Self {
        let installed = Self { town: Town::new() };
        fs::create_dir(installed.town.path().join("bin")).unwrap();
        fs::copy(program(), installed.path()).unwrap();
        installed
    }

    fn path(&self) -> PathBuf {
        self.town.path().join("bin/kiln")
    }

    /// A program that is to take its place: the same one after this change.
    fn newer(&self, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut content = fs::read(program()).unwrap();
        change(&mut content);
        let path = self.town.path().join("newer");
        fs::write(&path, content).unwrap();
        path
    }

    fn start(&self, server: &Offering) -> Process {
        let data = self.town.path().join("runner");
        let data = data.to_str().unwrap();
        let words = ["runner", "up", "--runner", "test", "--key", "k"];
        let more = ["--runner-data", data, "--auto-update", "on"];
        let words = [&words[..], &["--host", &server.url], &more].concat();
        Process::start_program(&self.path(), &words, &self.town.log())
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.town.path().join("bin")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }
}

fn same(left: &Path, right: &Path) -> bool {
    fs::read(left).unwrap() == fs::read(right).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_becomes_the_program_that_it_is_offered() {
    let installed = Installed::new();
    // What comes after the end of a program changes nothing about it.
    let newer = installed.newer(|content| content.push(0));
    let server = Offering::start("127.0.0.1:0", &newer, 1).await;
    let mut runner = installed.start(&server);
    let id = runner.id();
    while server.times_ready() < 2 {
        assert!(!runner.has_ended(), "the new program ended");
        tokio::task::yield_now().await;
    }
    assert!(same(&installed.path(), &newer));
    let running = fs::read_link(format!("/proc/{id}/exe")).unwrap();
    assert_eq!(running, installed.path());
    // It has reached its server before it was ready, so that it has proved itself.
    while installed.files() != ["kiln"] {
        assert!(!runner.has_ended(), "the new program ended");
        std::thread::yield_now();
    }
    runner.signal(Signal::TERM);
    assert_eq!(runner.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_cannot_be_fetched_at_first_is_taken_later() {
    let installed = Installed::new();
    let newer = installed.newer(|content| content.push(0));
    let server = Offering::start("127.0.0.1:0", &newer, 2).await;
    server.fail(1);
    let mut runner = installed.start(&server);
    // Before the fault, after it, and as the new program.
    while server.times_introduced() < 3 {
        assert!(!runner.has_ended(), "the runner ended");
        tokio::task::yield_now().await;
    }
    assert!(same(&installed.path(), &newer));
    let log = fs::read_to_string(installed.town.log()).unwrap();
    let warning = format!("by version 9: {}/program is answered with", server.url);
    assert!(log.contains(&warning), "{log}");
    runner.signal(Signal::TERM);
    assert_eq!(runner.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_come_up_is_rolled_back_and_not_tried_again() {
    let installed = Installed::new();
    // It has forgotten one of its flags: it says its version, and fails at every start of a runner.
    let worse = installed.newer(|content| {
        let found = replace_all(content, b"runner-data", b"runner-dat_");
        assert!(found > 0, "the program has no such flag");
    });
    let server = Offering::start("127.0.0.1:0", &worse, u32::MAX).await;
    assert_eq!(installed.start(&server).wait(), Some(2));
    assert!(same(&installed.path(), &worse));
    // As a service manager does; the old program comes back and is ready for jobs, though it is offered the same thing.
    for _ in 0..2 {
        assert_eq!(installed.start(&server).wait(), Some(2));
    }
    let mut last = installed.start(&server);
    while server.times_ready() < 3 {
        assert!(!last.has_ended(), "the old program ended");
        tokio::task::yield_now().await;
    }
    assert!(same(&installed.path(), &program()));
    assert_eq!(installed.files(), ["kiln", "kiln.rejected"]);
    last.signal(Signal::TERM);
    assert_eq!(last.wait(), Some(0));
}

/// Puts one text of bytes in the place of another that is as long. How often that was.
fn replace_all(content: &mut [u8], from: &[u8], to: &[u8]) -> usize {
    let places: Vec<usize> = content
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from)
        .map(|(place, _)| place)
        .collect();
    for place in &places {
        content[*place..][..to.len()].copy_from_slice(to);
    }
    places.len()
}
