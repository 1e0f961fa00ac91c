//! What QEMU's machines are restored from.

use std::path::Path;
use std::time::Duration;

use kiln_sandbox::{
    Backend, CancelToken, Chamber, ChamberSpec, Command, Layer, Outcome, Rootfs, Transcript,
};

use crate::base::base;
use crate::place::{Place, disk_of, qemu, qemu_of};
use crate::support::{HostClock, limits, shell, spec};

const PLAIN: &str = "from a template";
const SEALED: &str = "from a template with its chamber sealed";

#[test]
fn only_a_chamber_that_runs_again_is_sealed_ahead_and_no_layer_is_lost_by_it() {
    let mut chamber = qemu().with_its_own_clock().prepare(&spec());
    let mut runs: Vec<Vec<Layer>> = Vec::new();
    for further in [0, 1, 0] {
        chamber.expect(further);
        let finished = Place::run_in(&mut *chamber, &shell("true"));
        runs.push(finished.exit.sealed.layers);
    }
    chamber.destroy().unwrap();
    let starts: Vec<String> = runs.iter_mut().map(take_start).collect();
    assert_eq!(starts, [PLAIN, SEALED, SEALED]);
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

#[test]
fn addresses_in_a_machine_are_the_same_for_every_process() {
    let told = qemu().output_of("for time in 1 2 3; do grep -F '[stack]' /proc/self/maps; done");
    let stacks: Vec<&str> = told.lines().collect();
    assert_eq!(stacks.len(), 3, "{told}");
    assert_eq!(stacks, [stacks[0]; 3]);
}

#[test]
fn a_cancel_while_a_chamber_is_sealed_ahead_runs_nothing() {
    let mut chamber = qemu().with_its_own_clock().prepare(&spec());
    chamber.expect(1);
    let cancel = CancelToken::new().unwrap();
    cancel.cancel();
    let mut transcript = Transcript::default();
    let exit = chamber
        .run(&shell("echo ran"), &limits(), &mut transcript, &cancel)
        .unwrap();
    assert_eq!(exit.outcome, Outcome::Canceled);
    assert!(transcript.stdout.is_empty());
    // It was no fault of the machine's: the next run has what this one did not.
    let (stdout, start) = run(&mut *chamber, &shell("echo ran"));
    assert_eq!((stdout.as_str(), start.as_str()), ("ran\n", SEALED));
    chamber.destroy().unwrap();
}

#[test]
fn a_machine_that_was_sealed_long_ago_knows_what_time_it_is() {
    let place = qemu().with_its_own_clock();
    let mut chamber = place.prepare(&spec());
    chamber.expect(1);
    let mut tell_time = || -> u64 {
        let stdout = Place::run_in(&mut *chamber, &shell("date +%s")).stdout;
        stdout.trim().parse().unwrap()
    };
    let before = tell_time();
    place.clock.jump(Duration::from_hours(1));
    let after = tell_time();
    assert!(after >= before + 3600, "{before} and {after}");
    chamber.destroy().unwrap();
}

/// A place to look at what an earlier job might have left, and to leave something of each kind.
const LEAVE_AND_LOOK: &str = "
    for place in / /tmp /dev/shm /bin; do ls $place/left 2>/dev/null; echo left > $place/left; done
    sleep 1000 &
    set -- /proc/[0-9]*; echo $#
    date +%s
    head -c 16 /dev/urandom | od -An -tx1
    cat /proc/sys/kernel/random/uuid";

#[test]
fn the_next_job_of_an_image_goes_on_from_the_kept_template_and_sees_nothing_of_the_one_before() {
    let place = qemu().with_its_own_clock();
    let command = shell(LEAVE_AND_LOOK);
    let mut first = place.prepare(&spec());
    first.make_ready(&command, &CancelToken::new().unwrap());
    let (told_first, start) = run(&mut *first, &command);
    assert_eq!(start, SEALED);
    first.destroy().unwrap();

    place.clock.jump(Duration::from_hours(1));
    let mut second = place.prepare(&spec());
    let (told_second, start) = run(&mut *second, &command);
    assert_eq!(start, SEALED);
    second.destroy().unwrap();

    let [first, second] = [&told_first, &told_second].map(|told| told.lines().collect::<Vec<_>>());
    assert_eq!(first.len(), 4, "{told_first}");
    assert_eq!(second.len(), 4, "{told_second}");
    assert_eq!(first[0], second[0], "processes");
    let [before, after] = [first[1], second[1]].map(|time| time.parse::<u64>().unwrap());
    assert!(after >= before + 3600, "{before} and {after}");
    for at in 2..4 {
        assert_ne!(first[at], second[at], "{told_first}{told_second}");
    }
}

#[test]
fn a_job_of_another_kind_does_not_get_the_kept_template() {
    let backend = qemu_of(HostClock::new(), |_| {});
    let disk = disk_of(base());
    let command = shell("true");
    ready(&*backend, disk.as_path(), &spec(), &command);
    assert_eq!(start_of(&*backend, &disk, &spec(), &command), SEALED);

    let copy = tempfile::NamedTempFile::new_in(disk.parent().unwrap()).unwrap();
    std::fs::copy(&disk, copy.path()).unwrap();
    assert_eq!(start_of(&*backend, copy.path(), &spec(), &command), PLAIN);
    // All of them are the same shape of machine.
    for other in [
        ChamberSpec {
            memory_bytes: spec().memory_bytes - 1,
            ..spec()
        },
        ChamberSpec {
            disk_bytes: spec().disk_bytes + 1,
            ..spec()
        },
        ChamberSpec {
            processes: spec().processes + 1,
            ..spec()
        },
        ChamberSpec {
            hostname: "another".into(),
            ..spec()
        },
    ] {
        assert_eq!(start_of(&*backend, &disk, &other, &command), PLAIN);
    }
}

#[test]
fn a_cancel_ends_the_making_of_a_template_and_the_next_job_is_none_the_worse() {
    let place = qemu().with_its_own_clock();
    let canceled = CancelToken::new().unwrap();
    canceled.cancel();
    let mut chamber = place.prepare(&spec());
    chamber.make_ready(&shell("true"), &canceled);
    assert_eq!(run(&mut *chamber, &shell("true")).1, PLAIN);
    chamber.make_ready(&shell("true"), &CancelToken::new().unwrap());
    assert_eq!(run(&mut *chamber, &shell("true")).1, SEALED);
    chamber.destroy().unwrap();
}

#[test]
fn templates_beyond_the_bound_are_given_up() {
    let backend = qemu_of(HostClock::new(), |config| config.kept_bytes = 1);
    let disk = disk_of(base());
    let [first, second] = ["first", "second"].map(|name| ChamberSpec {
        hostname: name.into(),
        ..spec()
    });
    let command = shell("true");
    ready(&*backend, &disk, &first, &command);
    ready(&*backend, &disk, &second, &command);
    assert_eq!(start_of(&*backend, &disk, &second, &command), SEALED);
    assert_eq!(start_of(&*backend, &disk, &first, &command), PLAIN);
}

#[test]
fn a_job_that_uses_all_its_memory_gets_it_and_leaves_its_template_as_it_was() {
    const MIB: u64 = 1 << 20;
    // Room for three templates, and not for one and what the job touches.
    let backend = qemu_of(HostClock::new(), |config| config.kept_bytes = 400 * MIB);
    let disk = disk_of(base());
    let hungry = ChamberSpec {
        memory_bytes: 512 * MIB,
        ..spec()
    };
    let command = shell("exec dd if=/dev/zero of=/dev/null bs=480M count=1 2>/dev/null");
    ready(&*backend, &disk, &hungry, &command);
    assert_eq!(start_of(&*backend, &disk, &hungry, &command), SEALED);
    let other = ChamberSpec {
        hostname: "other".into(),
        ..hungry.clone()
    };
    ready(&*backend, &disk, &other, &command);
    assert_eq!(start_of(&*backend, &disk, &hungry, &command), SEALED);
}

#[test]
fn without_room_for_templates_every_machine_boots() {
    let clock = HostClock::new();
    // No machine takes a time that is before its own birth.
    clock.jump(Duration::from_hours(1));
    let backend = qemu_of(clock, |config| config.kept_bytes = 0);
    let disk = Rootfs::disk(disk_of(base()));
    let mut chamber = backend.prepare(&disk, &spec()).unwrap();
    chamber.make_ready(&shell("true"), &CancelToken::new().unwrap());
    chamber.expect(1);
    let told = ["once", "again"].map(|word| run(&mut *chamber, &shell(&format!("echo {word}"))));
    chamber.destroy().unwrap();
    let expected = ["once\n", "again\n"].map(|word| (word.to_owned(), "booted".to_owned()));
    assert_eq!(told, expected);
}

#[test]
fn a_cancel_ends_a_boot() {
    let backend = qemu_of(HostClock::new(), |config| config.kept_bytes = 0);
    let disk = Rootfs::disk(disk_of(base()));
    let mut chamber = backend.prepare(&disk, &spec()).unwrap();
    let cancel = CancelToken::new().unwrap();
    cancel.cancel();
    let mut transcript = Transcript::default();
    let exit = chamber.run(&shell("echo ran"), &limits(), &mut transcript, &cancel);
    assert_eq!(exit.unwrap().outcome, Outcome::Canceled);
    assert!(transcript.stdout.is_empty());
    chamber.destroy().unwrap();
}

#[test]
fn what_is_kept_has_no_name_that_a_crash_could_leave() {
    let work_dir = tempfile::tempdir().unwrap();
    let backend = qemu_of(HostClock::new(), |config| {
        config.work_dir = work_dir.path().into();
    });
    let disk = disk_of(base());
    ready(&*backend, &disk, &spec(), &shell("true"));
    assert_eq!(std::fs::read_dir(work_dir.path()).unwrap().count(), 0);
    assert_eq!(
        start_of(&*backend, &disk, &spec(), &shell("true")),
        SEALED,
        "nothing was kept"
    );
}

/// What a runner does before a job, and nothing after that.
fn ready(backend: &dyn Backend, disk: &Path, spec: &ChamberSpec, command: &Command) {
    let mut chamber = backend.prepare(&Rootfs::disk(disk), spec).unwrap();
    chamber.make_ready(command, &CancelToken::new().unwrap());
    chamber.destroy().unwrap();
}

/// How a job that nothing was made for comes to life.
fn start_of(backend: &dyn Backend, disk: &Path, spec: &ChamberSpec, command: &Command) -> String {
    let mut chamber = backend.prepare(&Rootfs::disk(disk), spec).unwrap();
    let (_, start) = run(&mut *chamber, command);
    chamber.destroy().unwrap();
    start
}

/// What a command says, and how its machine came to life.
fn run(chamber: &mut dyn Chamber, command: &Command) -> (String, String) {
    let mut finished = Place::run_in(chamber, command);
    assert_eq!(finished.exit.code(), Some(0), "{finished:?}");
    (
        finished.stdout,
        take_start(&mut finished.exit.sealed.layers),
    )
}

/// How a machine came to life, taken out of its layers.
fn take_start(layers: &mut Vec<Layer>) -> String {
    let at = layers.iter().position(|layer| layer.name == "start");
    layers.remove(at.unwrap()).detail
}
