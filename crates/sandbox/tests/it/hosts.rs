//! Finding out what a host can do, as root and as an ordinary user.

use std::process::Command as Process;

use kiln_sandbox::{ChamberSpec, Command, Host, Missing, Programs, Survey};

use crate::base::{PLACE, base};
use crate::distroless::{dynamic_base, static_base};
use crate::support::{HostClock, limits, shell, spec, try_run};

const ROLE: &str = "KILN_TEST_ROLE";

#[test]
fn this_host_can_make_chambers_and_says_with_which_layers() {
    let probe = Host::probe(HostClock::new());
    assert!(probe.namespaces.works, "{probe:?}");
    let disk = probe.layers.iter().find(|layer| layer.name == "disk");
    assert!(disk.unwrap().applied, "{probe:?}");
    assert!(
        probe
            .layers
            .iter()
            .any(|layer| layer.name == "seccomp" && layer.applied),
        "{probe:?}"
    );
}

#[test]
fn an_ordinary_user_can_make_chambers() {
    run_child("ordinary user", &ordinary_user());
}

/// The list of the black box again, less what takes control groups, other ids, or a base that is not root's.
#[test]
fn an_ordinary_users_commands_may_expect_the_same_as_roots() {
    base();
    static_base();
    dynamic_base();
    let [program, arguments @ ..] = ordinary_user();
    let skipped = [
        "the_user_and_its_groups",
        "links_and_permissions",
        "the_base_cannot_be_changed",
        "a_memory_hog",
        "the_peak_of_memory",
    ];
    let output = Process::new(program)
        .args(arguments)
        .arg(std::env::current_exe().unwrap())
        .arg("blackbox::namespace::")
        .args(skipped.iter().flat_map(|case| ["--skip", case]))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    // A filter that finds nothing succeeds too.
    assert!(told.contains("blackbox::namespace::echo ... ok"), "{told}");
}

#[test]
fn an_ordinary_user_can_do_without_a_sandbox() {
    run_child("ordinary user without a sandbox", &ordinary_user());
}

fn ordinary_user() -> [String; 4] {
    [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ]
    .map(str::to_owned)
}

#[test]
fn a_root_without_other_ids_can_make_chambers() {
    run_child(
        "lonely root",
        &["unshare", "--user", "--map-root-user"].map(str::to_owned),
    );
}

#[test]
fn a_base_that_cannot_be_shifted_is_used_as_it_is_and_said_so() {
    let disk = tempfile::tempdir().unwrap();
    let disk = disk.path().display();
    let script = format!(
        "mount -t ramfs ramfs {disk} && chmod 755 {disk} && {PLACE}={disk} exec \"$0\" \"$@\""
    );
    run_child(
        "plain disk",
        &[
            "unshare".to_owned(),
            "--mount".into(),
            "sh".into(),
            "-c".into(),
            script,
        ],
    );
}

#[test]
fn a_chamber_has_the_modes_of_its_root_whatever_the_hosts_mask_is() {
    let script = "umask 077 && exec \"$0\" \"$@\"";
    run_child("strict mask", &["sh", "-c", script].map(str::to_owned));
}

/// Runs this program in another program's hands.
fn run_child(role: &str, wrapper: &[String]) {
    // Not every child may write where the base is.
    base();
    let (program, arguments) = wrapper.split_first().unwrap();
    let output = Process::new(program)
        .args(arguments)
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "hosts::plays_the_role_it_is_given",
            "--nocapture",
        ])
        .env(ROLE, role)
        .output()
        .expect("util-linux is not installed: run `cargo xtask setup`");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The other half of these tests: does nothing unless one of them starts this program with a role.
#[test]
fn plays_the_role_it_is_given() {
    match std::env::var(ROLE).as_deref() {
        Ok("ordinary user") => live_as_an_ordinary_user(),
        Ok("ordinary user without a sandbox") => crate::process::live_as_an_ordinary_user(),
        Ok("lonely root") => assert_eq!(
            id_layer_of_a_run(),
            (true, "0 inside is the host user; no other ids".to_owned())
        ),
        Ok("strict mask") => {
            let command = Command {
                uid: 1000,
                gid: 1000,
                ..shell("ls -d /bin/sh")
            };
            let finished = try_run(&command, &spec(), &limits()).unwrap();
            assert_eq!(finished.stdout, "/bin/sh\n", "{finished:?}");
        }
        Ok("plain disk") => assert!(!id_layer_of_a_run().0),
        _ => {}
    }
}

fn id_layer_of_a_run() -> (bool, String) {
    let spec = ChamberSpec {
        missing_limits: Missing::Accept,
        ..spec()
    };
    let finished = try_run(&shell("id -u"), &spec, &limits()).unwrap();
    assert_eq!(finished.stdout, "0\n");
    let layer = finished.exit.sealed.layer("ids").unwrap();
    (layer.applied, layer.detail.clone())
}

fn live_as_an_ordinary_user() {
    let probe = Host::probe(HostClock::new());
    assert!(probe.namespaces.works, "{probe:?}");

    // This user may make no control groups: that is refused, or accepted and said.
    let refusing = ChamberSpec {
        missing_limits: Missing::Refuse,
        ..spec()
    };
    let refusal = try_run(&shell("true"), &refusing, &limits()).unwrap_err();
    assert!(refusal.to_string().contains("limit"), "{refusal:?}");
    let spec = spec();
    let command = Command {
        uid: 1000,
        gid: 1000,
        ..shell("id -u; grep ^CapBnd /proc/self/status; ls /dev/null")
    };
    let finished = try_run(&command, &spec, &limits()).unwrap();
    assert_eq!(
        finished.stdout,
        "1000\nCapBnd:\t0000000000000000\n/dev/null\n"
    );
    assert!(!finished.exit.sealed.layer("memory").unwrap().applied);
    let disk = finished.exit.sealed.layer("disk").unwrap();
    assert!(!disk.applied, "{disk:?}");
    assert!(
        disk.detail.contains("count against the memory limit"),
        "{disk:?}"
    );
    let survey = Survey::of_this_host(&Programs::default(), HostClock::new());
    assert!(!survey.disk.works, "{survey:?}");
    assert!(survey.disk.fix.unwrap().contains("root"));

    let finished = try_run(&shell("while :; do sleep 1000 & done"), &spec, &limits()).unwrap();
    assert!(finished.stderr.contains("can't fork"), "{finished:?}");

    crate::bounds::tells_what_went_on();
}
