//! Networks that a chamber has left as it found them, for a later chamber of the same family.
//!
//! Nothing in a chamber costs Linux as much as a new network: once when it is made, and once more when it is taken apart,
//! which happens at any time after its end, beside whatever is measured then. One with a loopback device only, which
//! no command has used, is as good as new. A command has no rights over it: it belongs to the host's user namespace.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;

use kiln_guest_init::protocol::Stage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::fault::{At as _, Fault};
use crate::sys;

const OURS: &str = "/proc/self/ns/net";

/// More than one of them has, so far.
const PART: usize = 4 << 10;

/// How many sockets there are, in its first line. The others count those of the whole host.
const SOCKETS: &str = "/proc/self/net/sockstat";

/// What a network counts of packets, and of attempts that came to none, and the one thing of a command that can outlive its
/// sockets without a packet. What else is counted, in `netstat`, comes with packets: it is the longest of all to read.
const COUNTS: [&str; 4] = [
    "/proc/self/net/dev",
    "/proc/self/net/snmp",
    "/proc/self/net/snmp6",
    "/proc/self/net/ip6_flowlabel",
];

#[derive(Debug)]
pub(super) struct Networks {
    home: File,
    kept: Vec<Kept>,
    /// For what was read last. Its memory is not given back: having it again costs more than reading.
    now: Vec<u8>,
}

#[derive(Debug)]
struct Kept {
    family: u64,
    network: Network,
    /// The PID 1 that was born in it. When that has ended, nobody is left there.
    chamber: OwnedFd,
}

/// A network with nothing but a loopback device, which is up.
#[derive(Debug)]
pub(super) struct Network {
    namespace: File,
    traces: Traces,
    when_new: Vec<u8>,
}

/// Where the use of a network shows. They stay open, which is most of the work of reading them.
#[derive(Debug)]
struct Traces {
    sockets: File,
    counts: Vec<File>,
}

impl Networks {
    /// None where we may not come back to our own network, as an ordinary user, or a root who is one outside. There each
    /// chamber has a network of its own from its birth.
    pub(super) fn none_yet() -> Option<Self> {
        let home = File::open(OURS).ok()?;
        let networks = Self {
            home,
            kept: Vec::new(),
            now: Vec::new(),
        };
        networks.go_home().ok().map(|()| networks)
    }

    /// Moves this process into a network for a chamber of this family, if there can be one.
    pub(super) fn enter(&mut self, family: u64) -> Option<Network> {
        while let Some(index) = self.kept.iter().position(|kept| kept.is_free_for(family)) {
            let Kept { network, .. } = self.kept.swap_remove(index);
            if network.is_as_new(&mut self.now) && network.enter().is_ok() {
                return Some(network);
            }
        }
        Network::make_and_enter().ok()
    }

    /// Goes home after the birth of a chamber in it.
    pub(super) fn leave(
        &mut self,
        network: Network,
        family: u64,
        chamber: Pid,
    ) -> Result<(), Fault> {
        self.go_home()
            .at(Stage::Namespaces, || "cannot leave a network".into())?;
        let chamber = pidfd_open(chamber, PidfdFlags::empty())
            .at(Stage::Namespaces, || "cannot watch the chamber".into())?;
        self.kept.push(Kept {
            family,
            network,
            chamber,
        });
        Ok(())
    }

    fn go_home(&self) -> rustix::io::Result<()> {
        move_into_link_name_space(self.home.as_fd(), Some(LinkNameSpaceType::Network))
    }

    /// No more chambers of this family will come.
    pub(super) fn forget(&mut self, family: u64) {
        self.kept.retain(|kept| kept.family != family);
    }
}

impl Network {
    fn make_and_enter() -> io::Result<Self> {
        sys::leave_network_namespace()?;
        sys::bring_loopback_up()?;
        let traces = Traces::of_ours()?;
        let mut when_new = Vec::new();
        traces.read(&mut when_new)?;
        Ok(Self {
            namespace: File::open(OURS)?,
            when_new,
            traces,
        })
    }

    fn enter(&self) -> rustix::io::Result<()> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))
    }

    fn is_as_new(&self, now: &mut Vec<u8>) -> bool {
        self.traces.read(now).is_ok() && *now == self.when_new
    }
}

impl Kept {
    fn is_free_for(&self, family: u64) -> bool {
        let mut chamber = [PollFd::new(&self.chamber, PollFlags::IN)];
        let now = Timespec::default();
        self.family == family && poll(&mut chamber, Some(&now)).is_ok_and(|ended| ended > 0)
    }
}

impl Traces {
    fn of_ours() -> io::Result<Self> {
        // Not every kernel has every protocol.
        let counts = COUNTS.into_iter().map(File::open);
        let there = counts
            .filter(|file| !matches!(file, Err(error) if error.kind() == io::ErrorKind::NotFound));
        Ok(Self {
            sockets: File::open(SOCKETS)?,
            counts: there.collect::<io::Result<_>>()?,
        })
    }

    fn read(&self, traces: &mut Vec<u8>) -> io::Result<()> {
        traces.clear();
        read_to(traces, &self.sockets)?;
        let first_line = traces.iter().position(|byte| *byte == b'\n');
        traces.truncate(first_line.unwrap_or(0));
        self.counts
            .iter()
            .try_for_each(|counts| read_to(traces, counts))
    }
}

/// Appends all of a file from its beginning, wherever it was read to before.
fn read_to(content: &mut Vec<u8>, file: &File) -> io::Result<()> {
    let before = content.len();
    loop {
        let end = content.len();
        content.resize(end + PART, 0);
        let count = file.read_at(&mut content[end..], (end - before) as u64)?;
        content.truncate(end + count);
        if count == 0 {
            return Ok(());
        }
    }
}
