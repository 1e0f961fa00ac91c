//! The back end that is no sandbox, beyond what every back end does.

use std::path::Path;
use std::sync::Arc;

use kiln_sandbox::Processes;

use crate::place::{process, run_on};
use crate::support::{HostClock, shell};

#[test]
fn results_say_that_there_was_no_sandbox() {
    let sealed = process().run(&shell("true")).exit.sealed;
    for name in ["sandbox", "root", "network", "disk"] {
        let layer = sealed.layer(name).unwrap();
        assert!(!layer.applied, "{layer:?}");
    }
}

#[test]
fn what_a_command_leaves_behind_is_ended() {
    let pid = process().output_of(
        "setsid sh -c 'echo $$ > /pid; exec sleep 1000' & \
         while [ ! -s /pid ]; do :; done; cat /pid",
    );
    let pid = pid.trim();
    assert!(!pid.is_empty());
    assert!(!Path::new("/proc").join(pid).exists(), "{pid} lives on");
}

/// Played by an ordinary user; see `hosts`.
pub(crate) fn live_as_an_ordinary_user() {
    let work_dir = tempfile::tempdir().unwrap();
    let clock: Arc<HostClock> = HostClock::new();
    let processes = Processes::new(work_dir.path(), clock).unwrap();
    let finished = run_on(
        &processes,
        &shell("cat /etc/hostname >&2; echo $0 from $PWD"),
    )
    .unwrap();
    let root = work_dir.path().to_str().unwrap();
    assert!(
        finished
            .stdout
            .starts_with(&format!("/bin/sh from {root}/kiln-run-")),
        "{finished:?}"
    );
    assert!(!finished.exit.sealed.layer("root").unwrap().applied);
    let left = std::fs::read_dir(work_dir.path()).unwrap().count();
    assert_eq!(left, 0);
}
