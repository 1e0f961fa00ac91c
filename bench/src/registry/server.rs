//! The registries that are measured, as processes.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Kiln,
    DockerRegistry,
}

/// A registry that answers; killed when dropped.
pub(super) struct Running {
    child: Child,
    address: String,
    key: Option<String>,
    idle_kib: u64,
    _output: Option<BufReader<ChildStdout>>,
}

/// Builds the program beside this one, with the same optimisation.
pub(crate) fn build() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|source| Failure::io("find this program", source))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--locked", "-p", "kiln"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .map_err(|source| Failure::io("run cargo", source))?;
    let program = own.with_file_name("kiln");
    if built.success() && program.is_file() {
        Ok(program)
    } else {
        Err(Failure::Wrong(
            "cargo cannot build kiln; see above".to_owned(),
        ))
    }
}

impl Running {
    pub(super) fn start(which: Which, kiln: &Path, data: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(data).map_err(|source| Failure::io("make a directory", source))?;
        match which {
            Which::Kiln => Self::kiln(kiln, data),
            Which::DockerRegistry => Self::docker_registry(data),
        }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn credentials(&self) -> Option<String> {
        self.key
            .as_ref()
            .map(|key| format!("admin@localhost:{key}"))
    }

    /// The most memory it ever had, above what it had when it started to listen.
    pub(super) fn memory_above_idle_mib(&self) -> Result<f64, Failure> {
        let peak = kib(self.child.id(), "VmHWM:")?;
        let above = u32::try_from(peak.saturating_sub(self.idle_kib)).unwrap_or(u32::MAX);
        Ok(f64::from(above) / 1024.0)
    }

    fn kiln(program: &Path, data: &Path) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args(["server", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| Failure::io("start kiln", source))?;
        let stdout = child.stdout.take();
        let mut output =
            BufReader::new(stdout.ok_or_else(|| Failure::Wrong("kiln has no output".to_owned()))?);
        let mut line = String::new();
        output
            .read_line(&mut line)
            .map_err(|source| Failure::io("read from kiln", source))?;
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .ok_or_else(|| Failure::Wrong(format!("kiln does not listen: {line}")))?
            .to_owned();
        let key = fs::read_to_string(data.join("admin.key"))
            .map_err(|source| Failure::io("read the key", source))?;
        Ok(Self {
            idle_kib: kib(child.id(), "VmRSS:")?,
            child,
            address,
            key: Some(key.trim().to_owned()),
            _output: Some(output),
        })
    }

    fn docker_registry(data: &Path) -> Result<Self, Failure> {
        // It cannot pick a port and tell; whoever else takes this one in between makes the run fail, not lie.
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(|source| Failure::io("find a free port", source))?;
        let config = data.join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp: {{addr: \"{free}\"}}\n",
            data.join("objects").display()
        );
        fs::write(&config, text).map_err(|source| Failure::io("write a file", source))?;
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| {
                Failure::io(
                    "start docker-registry; `cargo xtask setup` installs it",
                    source,
                )
            })?;
        let mut running = Self {
            child,
            address: free.to_string(),
            key: None,
            idle_kib: 0,
            _output: None,
        };
        while std::net::TcpStream::connect(free).is_err() {
            let ended = running
                .child
                .try_wait()
                .map_err(|source| Failure::io("look after docker-registry", source))?;
            if let Some(status) = ended {
                return Err(Failure::Wrong(format!("docker-registry ended: {status}")));
            }
            std::thread::yield_now();
        }
        running.idle_kib = kib(running.child.id(), "VmRSS:")?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What `/proc/PID/status` says in the line that begins so.
pub(crate) fn kib(process: u32, line: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))
        .map_err(|source| Failure::io("read a process's memory", source))?;
    status
        .lines()
        .find_map(|text| {
            text.strip_prefix(line)?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .ok_or_else(|| Failure::Wrong(format!("a process has no {line}")))
}
