//! A runner that is killed in each of its phases leaves nothing behind after its next start.
//!
//! What it changes about its host (knobs) is tried on a host of its own, in `bare_metal.rs` and in the tests of `kiln-sandbox`,
//! and a network in the latter.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use kiln_e2e::{Process, Town, kiln, program, shell_image, shell_layout};
use kiln_image::{Layout, Recipe, Source, build};
use kiln_model::Status;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::leftovers::{groups_of, is_named, walk};

/// A runner of one image, on the data directory that all runners of a town share.
struct Run {
    image: String,
    more: Vec<String>,
}

impl Run {
    fn layout(town: &Town, tag: &str, script: &str) -> Self {
        shell_layout(town.path(), tag, script);
        let image = town.path().join(format!("layout-{tag}"));
        Self::of(image.to_string_lossy().into_owned())
    }

    fn of(image: String) -> Self {
        Self {
            image,
            more: Vec::new(),
        }
    }

    fn with(self, more: &[&str]) -> Self {
        Self {
            more: more.iter().map(ToString::to_string).collect(),
            ..self
        }
    }

    fn words<'a>(&'a self, data: &'a str) -> Vec<&'a str> {
        let mut words = vec!["runner", "run", "--image", &self.image];
        words.extend(["--runner-data", data, "--memory", "64", "--disk", "16"]);
        words.extend(self.more.iter().map(String::as_str));
        words
    }

    fn start(&self, town: &Town) -> Process {
        Process::start(&self.words(&data(town)), &town.log())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_pulls() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let root = town.path().join("root-large");
    fs::create_dir(&root).unwrap();
    let mut large = vec![0; 24 << 20];
    rustix::rand::getrandom(&mut large, rustix::rand::GetRandomFlags::empty()).unwrap();
    fs::write(root.join("large"), large).unwrap();
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "large", "true").await;
    let runner = town.runner(&server).await;
    let client = town.client(&server);
    // Nobody waits for the answer now: a pull may be over by the time that it is there.
    let submission = tokio::spawn(async move {
        let report = Town::submit(&client, "test:large").await.unwrap();
        (client, report)
    });
    // A job that it does not know it holds would be given to it again.
    let held = town.path().join("runner/held");
    wait_until(&runner.process, || {
        !staged(&town).is_empty() && held.exists()
    });
    // From now on not one more byte of the image comes.
    server.process.signal(Signal::STOP);
    let staged = staged(&town);
    let files = staged.iter().flat_map(|path| walk(path));
    let unpacked: Vec<PathBuf> = files.filter(|path| path.ends_with("rootfs")).collect();
    assert_eq!(
        unpacked,
        Vec::<PathBuf>::new(),
        "it was faster than the test"
    );
    let id = runner.process.id();
    let watched = watch(id);
    runner.process.kill();
    server.process.signal(Signal::CONT);
    let (client, report) = submission.await.unwrap();
    let _next = town.runner_again(&server);
    let ended = Town::ended(&client, report.job.unwrap()).await;
    assert_eq!(ended.status, Status::Failed);
    assert_nothing_is_left(&town, id, &watched);
}

#[test]
fn killed_while_it_unpacks() {
    let town = Town::new();
    let many = town.path().join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..20_000 {
        fs::write(many.join(number.to_string()), "x").unwrap();
    }
    let layout = Layout::create(town.path().join("layout-many")).unwrap();
    let recipe = Recipe {
        entrypoint: vec!["/none".to_owned()],
        ..Recipe::new(Source::Directory(many))
    };
    build(&recipe, &layout, None).unwrap();
    let image = town.path().join("layout-many");
    let runner = Run::of(image.to_string_lossy().into_owned()).start(&town);
    let unpacked = || {
        staged(&town)
            .iter()
            .map(|path| walk(path).len())
            .sum::<usize>()
    };
    wait_until(&runner, || unpacked() > 100);
    assert!(unpacked() < 20_000, "it was faster than the test");
    kill_and_start_again(&town, runner, &[]);
}

#[test]
fn killed_while_it_sets_a_machine_up() {
    let town = Town::new();
    let runner = Run::layout(&town, "machine", "true")
        .with(&["--backend", "qemu"])
        .start(&town);
    // The first machine of a shape boots for seconds before any job runs in one.
    wait_until(&runner, || {
        descendants(runner.id())
            .iter()
            .any(|process| name_of(*process).starts_with("qemu"))
    });
    kill_and_start_again(&town, runner, &["--backend", "qemu"]);
}

#[test]
fn killed_while_it_seals_a_machine() {
    let town = Town::new();
    let runner = Run::layout(&town, "sealed", "true")
        .with(&["--backend", "qemu", "--iter", "2"])
        .start(&town);
    // The first machine boots and is the template. The second goes on from there and is written down when its chamber is
    // sealed, before there is one for the first iteration.
    wait_until(&runner, || {
        descendants(runner.id())
            .iter()
            .any(|process| words_of(*process).contains("-incoming"))
    });
    kill_and_start_again(&town, runner, &["--backend", "qemu"]);
}

#[test]
fn killed_while_its_chamber_runs() {
    kill_while_running(&[]);
}

#[test]
fn killed_while_its_machine_runs() {
    kill_while_running(&["--backend", "qemu"]);
}

#[test]
fn killed_while_its_jailed_machine_runs() {
    let [firecracker, jailer] = ["firecracker-double", "jailer-double"].map(|name| {
        program()
            .with_file_name(name)
            .to_string_lossy()
            .into_owned()
    });
    let machine = ["--backend", "firecracker", "--kernel", "/bin/busybox"];
    let doubles = ["--firecracker", &firecracker, "--jailer", &jailer];
    kill_while_running(&[machine, doubles].concat());
}

#[test]
fn killed_while_its_process_runs() {
    kill_while_running(&["--backend", "process", "--danger-allow-no-sandbox"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_delivers() {
    let town = Town::new();
    let server = town.server(0, &[]);
    // Long enough for the server to be stopped while it runs.
    let script = r#"sleep 3; echo '{"echo": {"latency": {"value": 1.5}}}'"#;
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", script).await;
    let runner = town.runner(&server).await;
    let client = town.client(&server);
    // A result that is not whole yet has another name.
    let spooled = || {
        let mut files = walk(&town.path().join("runner/spool"));
        files.retain(|path| !is_named(path, "."));
        files
    };
    let report = Town::submit(&client, "test:latest").await.unwrap();
    let job = report.job.unwrap();
    while client.get_job("test", job).await.unwrap().status != Status::Running {
        tokio::task::yield_now().await;
    }
    // From now on the server neither answers nor hangs up.
    server.process.signal(Signal::STOP);
    wait_until(&runner.process, || !spooled().is_empty());
    let id = runner.process.id();
    let watched = watch(id);
    runner.process.kill();
    server.process.signal(Signal::CONT);
    let next = town.runner_again(&server);
    let ended = Town::ended(&client, job).await;
    assert_eq!(ended.status, Status::Processed);
    wait_until(&next.process, || spooled().is_empty());
    assert_nothing_is_left(&town, id, &watched);
}

fn kill_while_running(more: &[&str]) {
    let town = Town::new();
    let forever = Run::layout(&town, "forever", "echo up > /up; sleep 1000").with(more);
    let runner = forever.start(&town);
    // Whatever runs the command is in a group of its own, and has the command's shell and its sleep below it.
    wait_until(&runner, || {
        !groups_of(runner.id()).is_empty() && !descendants(runner.id()).is_empty()
    });
    kill_and_start_again(&town, runner, more);
}

/// Kills a runner, starts another on the same data, and looks.
fn kill_and_start_again(town: &Town, runner: Process, more: &[&str]) {
    let id = runner.id();
    let watched = watch(id);
    runner.kill();
    let quick = Run::layout(town, "quick", "true").with(more);
    let data = data(town);
    let exited = kiln(&quick.words(&data), "");
    assert_eq!(exited.code, Some(0), "{exited:?}");
    assert_nothing_is_left(town, id, &watched);
}

fn assert_nothing_is_left(town: &Town, id: u32, watched: &[OwnedFd]) {
    for process in watched {
        assert!(ends_soon(process), "a process outlived its runner");
    }
    assert_eq!(groups_of(id), Vec::<PathBuf>::new());
    assert_eq!(staged(town), Vec::<PathBuf>::new());
    let prefix = format!("kiln-run-{id}-");
    let places: Vec<PathBuf> = walk(&town.path().join("runner"))
        .into_iter()
        .filter(|path| is_named(path, &prefix) || path.ends_with("tuning.journal"))
        .collect();
    assert_eq!(places, Vec::<PathBuf>::new());
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let town = town.path().to_string_lossy();
    assert!(!mounts.contains(&*town), "{mounts}");
}

fn data(town: &Town) -> String {
    let data = town.path().join("runner");
    data.to_string_lossy().into_owned()
}

/// What the cache of images has not finished.
fn staged(town: &Town) -> Vec<PathBuf> {
    let cache = fs::read_dir(town.path().join("runner/cache"));
    cache
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_named(path, "tmp-"))
        .collect()
}

/// Everything below a process, to be looked at when it is gone.
fn watch(pid: u32) -> Vec<OwnedFd> {
    descendants(pid)
        .into_iter()
        .filter_map(|process| {
            let pid = Pid::from_raw(i32::try_from(process).ok()?)?;
            // One that has ended by itself needs no watching.
            pidfd_open(pid, PidfdFlags::empty()).ok()
        })
        .collect()
}

fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(
                children
                    .split_ascii_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
        next += 1;
    }
    found.split_off(1)
}

fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

fn words_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// Waits for the kernel's word that a process has ended; a minute is only there to end a failing test.
fn ends_soon(process: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    let minute = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&minute)).unwrap() == 1
}

/// Waits until a runner has done something.
fn wait_until(runner: &Process, happened: impl Fn() -> bool) {
    while !happened() {
        assert!(!runner.has_ended(), "the runner ended before that");
        std::thread::yield_now();
    }
}
