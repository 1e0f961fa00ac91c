//! The server that is measured, as a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;
use crate::registry::kib;

/// What a tick of `/proc/PID/stat` is on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// A server that listens; killed when dropped.
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
    _output: BufReader<ChildStdout>,
}

impl Server {
    /// Port 0 takes any.
    pub(super) fn start(kiln: &Path, data: &Path, port: u16) -> Result<Self, Failure> {
        let log = fs::File::create(data.join("server.log"))
            .map_err(|source| Failure::io("make a file", source))?;
        let mut child = Command::new(kiln)
            .args(["server", "--listen", &format!("127.0.0.1:{port}"), "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|source| Failure::io("start kiln", source))?;
        let output = child.stdout.take().expect("its output is a pipe");
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output
            .read_line(&mut line)
            .map_err(|source| Failure::io("read from kiln", source))?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|address| address.parse().ok());
        let Some(address) = address else {
            drop(child.kill());
            drop(child.wait());
            return Err(Failure::Wrong(format!("kiln does not listen: {line}")));
        };
        Ok(Self {
            child,
            address,
            _output: output,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// As an operator stops it.
    pub(super) fn stop(mut self) -> Result<(), Failure> {
        let failed = |source| Failure::io("stop kiln", source);
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).map_err(|errno| failed(errno.into()))?;
        let status = self.child.wait().map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::Wrong(format!("the server ended with {status}")))
    }

    /// How much memory it has now.
    pub(super) fn memory_mib(&self) -> Result<f64, Failure> {
        let kib = kib(self.child.id(), "VmRSS:")?;
        Ok(f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0)
    }

    /// User and system time so far.
    pub(super) fn cpu(&self) -> Result<Duration, Failure> {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = fs::read_to_string(path)
            .map_err(|source| Failure::io("read a process's time", source))?;
        let ticks = ticks(&text);
        let ticks = ticks.ok_or_else(|| Failure::Wrong(format!("a process has used {text:?}")))?;
        Ok(TICK * ticks)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The program's name comes in brackets, and may have blanks.
fn ticks(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_found_behind_a_name_with_blanks() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 1 2 3 4 150 50 0 0 20 0";
        assert_eq!(ticks(stat), Some(200));
    }
}
