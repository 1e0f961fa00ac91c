//! Watching over the command: its output, its end, its orphans, and the host's word to stop.
//!
//! There is no timer and no poll interval here: PID 1 sleeps until the kernel has news.

mod herd;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use kiln_guest_init::protocol::{
    FrameBuffer, Kill, MAX_CHUNK_BYTES, Stage, Status, Stream, ToGuest, ToHost, Usage,
};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use crate::fault::{At, Fault};
use crate::gauge::Gauge;
use crate::pid1::tell;
use crate::stopwatch::Stopwatch;
use crate::sys;

pub(crate) use herd::Herd;

/// The running command.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) since: Stopwatch,
    pub(crate) pumps: Vec<Pump>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: Status,
    pub(crate) usage: Usage,
}

/// Carries one stream of the command to the host, up to a limit. What comes after is read and dropped, so that a
/// talkative command is cut off rather than blocked.
#[derive(Debug)]
pub(crate) struct Pump {
    stream: Stream,
    source: Option<OwnedFd>,
    left: u64,
    dropped: u64,
}

impl Pump {
    pub(crate) fn new(stream: Stream, source: OwnedFd, limit: u64) -> Self {
        Self {
            stream,
            source: Some(source),
            left: limit,
            dropped: 0,
        }
    }

    /// Moves one chunk.
    fn step(&mut self, host: &mut UnixStream, buffer: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(source) = &self.source else {
            return Ok(());
        };
        buffer.clear();
        match rustix::io::read(source, spare_capacity(buffer)) {
            Ok(0) => self.source = None,
            Ok(_) => self.forward(host, buffer)?,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => {
                return Err(errno).at(Stage::Supervise, || {
                    "cannot read the command's output".into()
                });
            }
        }
        Ok(())
    }

    fn forward(&mut self, host: &mut UnixStream, bytes: &[u8]) -> Result<(), Fault> {
        let fits = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let (kept, dropped) = bytes.split_at(fits);
        self.left -= kept.len() as u64;
        self.dropped += dropped.len() as u64;
        if kept.is_empty() {
            return Ok(());
        }
        tell(
            host,
            &ToHost::Output {
                stream: self.stream,
                bytes: kept.to_vec(),
            },
        )
    }

    /// Moves what is left once nobody can write any more.
    fn drain(&mut self, host: &mut UnixStream, buffer: &mut Vec<u8>) -> Result<(), Fault> {
        while self.source.is_some() {
            self.step(host, buffer)?;
        }
        match self.dropped {
            0 => Ok(()),
            dropped => tell(
                host,
                &ToHost::Truncated {
                    stream: self.stream,
                    dropped,
                },
            ),
        }
    }
}

/// Stays with the command until it and everything it started is gone.
pub(crate) fn supervise(
    host: &mut UnixStream,
    children: &OwnedFd,
    mut process: Process,
    herd: Herd,
    gauge: &Gauge,
) -> Result<End, Fault> {
    // Left as it is: zeros would have the kernel find memory for all of it, and most commands say little.
    let mut buffer = Vec::with_capacity(MAX_CHUNK_BYTES);
    let mut orders = FrameBuffer::default();
    let mut disk_full = false;
    let status = loop {
        let ready = wait_for_news(host, children, &process.pumps)?;
        if ready.host {
            obey(host, &mut orders, &mut buffer, herd)?;
        }
        for (pump, readable) in process.pumps.iter_mut().zip(ready.pumps) {
            if readable {
                // Who complains on stderr may tidy up after it, so this is the moment to look.
                disk_full |= pump.stream == Stream::Stderr && gauge.is_full();
                pump.step(host, &mut buffer)?;
            }
        }
        if ready.children {
            let mut pending = [0; 128];
            // Only its readiness matters: one read may stand for many children.
            let _ = rustix::io::read(children, &mut pending);
            if let Some(status) = reap(process.pid) {
                break status;
            }
        }
    };
    let elapsed_nanos = process.since.elapsed_nanos();
    // Files without a name go with the last process that has them open.
    disk_full |= gauge.is_full();
    herd.end();
    for pump in &mut process.pumps {
        pump.drain(host, &mut buffer)?;
    }
    Ok(End {
        status,
        usage: Usage {
            elapsed_nanos,
            disk_full,
            ..sys::children_usage()
        },
    })
}

struct Ready {
    host: bool,
    children: bool,
    pumps: Vec<bool>,
}

fn wait_for_news(host: &UnixStream, children: &OwnedFd, pumps: &[Pump]) -> Result<Ready, Fault> {
    let mut fds = vec![
        PollFd::new(host, PollFlags::IN),
        PollFd::new(children, PollFlags::IN),
    ];
    fds.extend(
        pumps
            .iter()
            .filter_map(|pump| pump.source.as_ref())
            .map(|source| PollFd::new(source, PollFlags::IN)),
    );
    loop {
        match poll(&mut fds, None) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).at(Stage::Supervise, || "cannot wait for news".into()),
        }
    }
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut next = || ready.next().unwrap_or(false);
    let (host, children) = (next(), next());
    Ok(Ready {
        host,
        children,
        pumps: pumps
            .iter()
            .map(|pump| pump.source.is_some() && next())
            .collect(),
    })
}

/// Does what the host says. A host that is gone wants us gone too.
fn obey(
    host: &mut UnixStream,
    orders: &mut FrameBuffer,
    buffer: &mut Vec<u8>,
    herd: Herd,
) -> Result<(), Fault> {
    buffer.clear();
    let count = rustix::io::read(host, spare_capacity(buffer))
        .at(Stage::Protocol, || "cannot hear from the host".into())?;
    if count == 0 {
        // The end of PID 1 is the end of every process in the chamber.
        if herd == Herd::Descendants {
            herd.end();
        }
        sys::exit_now(1);
    }
    orders.extend(buffer);
    loop {
        let frame = orders
            .next_frame()
            .map_err(|malformed| Fault::new(Stage::Protocol, malformed.to_string()))?;
        let Some(frame) = frame else {
            return Ok(());
        };
        match ToGuest::from_frame(&frame) {
            Ok(ToGuest::Kill(Kill::Ask)) => herd.signal(Signal::TERM),
            Ok(ToGuest::Kill(Kill::Force)) => herd.signal(Signal::KILL),
            Ok(
                ToGuest::Seal(_)
                | ToGuest::Build
                | ToGuest::Start(_)
                | ToGuest::Machine(_)
                | ToGuest::Wake(_),
            ) => {
                return Err(Fault::new(
                    Stage::Protocol,
                    "the command is running already",
                ));
            }
            Err(malformed) => return Err(Fault::new(Stage::Protocol, malformed.to_string())),
        }
    }
}

/// Takes every child that has ended off the process table, and says how the command did if it is among them.
fn reap(command: Pid) -> Option<Status> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == command {
            ended = Some(describe(status));
        }
    }
    ended
}

fn describe(status: WaitStatus) -> Status {
    match status.terminating_signal() {
        Some(signal) => Status::Signal(signal),
        None => Status::Code(status.exit_status().unwrap_or(-1)),
    }
}
