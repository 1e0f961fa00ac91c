//! What a user would pick instead. Programs of Debian, as they are.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Sandbox;
use crate::failure::Failure;

pub(super) const BWRAP: &str = "bwrap --unshare-all";
pub(super) const CRUN: &str = "crun run";
pub(super) const PODMAN: &str = "podman run --network none";

/// A program that runs `true` in isolation each time it is started.
pub(super) struct Peer {
    name: &'static str,
    words: Vec<String>,
    /// For programs that want a new name each time.
    counter: Option<u32>,
}

pub(super) fn bwrap(root: &Path) -> Peer {
    Peer::new(
        BWRAP,
        &format!(
            "bwrap --unshare-all --ro-bind {} / --proc /proc --dev /dev /bin/true",
            root.display()
        ),
    )
}

/// Its bundle is made by itself and changed in nothing but the root, the program and the terminal.
pub(super) fn crun(root: &Path, place: &Path) -> Result<Peer, Failure> {
    let bundle = place.join("bundle");
    let failed = |source| Failure::io("make a bundle for crun", source);
    fs::create_dir_all(&bundle).map_err(failed)?;
    let peer = Peer {
        counter: Some(0),
        ..Peer::new(CRUN, &format!("crun run --bundle {}", bundle.display()))
    };
    let made = Command::new("crun")
        .arg("spec")
        .current_dir(&bundle)
        .output();
    let config = bundle.join("config.json");
    if !made.is_ok_and(|output| output.status.success()) {
        // Its first run will say what is wrong.
        return Ok(peer);
    }
    let text = fs::read_to_string(&config).map_err(failed)?;
    let mut spec: Value = serde_json::from_str(&text)?;
    spec["root"] = json!({"path": root, "readonly": true});
    spec["process"]["args"] = json!(["/bin/true"]);
    spec["process"]["terminal"] = json!(false);
    spec["process"]["rlimits"] = json!([]);
    fs::write(&config, spec.to_string()).map_err(failed)?;
    Ok(peer)
}

pub(super) fn podman(root: &Path) -> Peer {
    Peer::new(
        PODMAN,
        &format!(
            "podman run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --rootfs {} /bin/true",
            root.display()
        ),
    )
}

impl Peer {
    fn new(name: &'static str, words: &str) -> Self {
        Self {
            name,
            words: words.split(' ').map(str::to_owned).collect(),
            counter: None,
        }
    }
}

impl Sandbox for Peer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run_once(&mut self) -> Result<(), Failure> {
        let (program, arguments) = self.words.split_first().expect("a peer has a program");
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(counter) = &mut self.counter {
            *counter += 1;
            command.arg(format!("kiln-bench-{}-{counter}", std::process::id()));
        }
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Failure::io(format!("run {program}"), source))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Failure::Wrong(format!("{program}: {}", said.trim())))
    }
}
