//! A chamber that is a machine: started for each run with a fresh scratch disk, and ended after it.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_guest_init::protocol::machine::{BASE, SCRATCH};
use kiln_guest_init::protocol::{
    IdMap, Machine, Scratch, Seal, Start, ToGuest, Uplink, Usage as GuestUsage, Wake,
};
use kiln_model::Clock;

use super::ahead::{Ahead, Sealing, wait_until_sealed};
use super::file::HiddenFile;
use super::hypervisor::{Disks, Hypervisor, Order, Shape, Started};
use super::kept::{BaseIdentity, Kept, Key, available_bytes};
use super::scratch;
use crate::cgroup::{Group, GroupUsage, Hierarchies};
use crate::command::{programs, start_message};
use crate::conversation::Conversation;
use crate::link::Guest as _;
use crate::namespace::run::{Run, Talk, outcome, talk, usage};
use crate::namespace::watch::Watch;
use crate::network::{MachineNetwork, NetworkPlan};
use crate::{CancelToken, Chamber, ChamberSpec, Command, Error, Exit, Limits, OutputSink, Sealed};

/// All ids but the one that means none.
const ALL_IDS: u32 = u32::MAX - 1;

const ENTROPY_BYTES: usize = 64;

#[derive(Debug)]
pub(crate) struct MachineChamber {
    clock: Arc<dyn Clock>,
    hypervisor: Arc<dyn Hypervisor>,
    base: String,
    spec: ChamberSpec,
    shape: Shape,
    hierarchies: Hierarchies,
    network: Option<NetworkPlan>,
    /// Whether the next run is not the last.
    expects_another: bool,
    /// The sealed machines of this back end; none where machines cannot be written down.
    kept: Option<Arc<Kept>>,
    sealing: Sealing,
}

impl MachineChamber {
    pub(crate) fn prepare(
        clock: Arc<dyn Clock>,
        hypervisor: Arc<dyn Hypervisor>,
        kept: Option<Arc<Kept>>,
        base: PathBuf,
        spec: &ChamberSpec,
    ) -> Result<Self, Error> {
        spec.check()?;
        let base = base
            .into_os_string()
            .into_string()
            .map_err(|path| Error::Rootfs {
                path: path.into(),
                reason: "the path is not utf-8".to_owned(),
            })?;
        let network = spec
            .network
            .then(|| NetworkPlan::new(spec.blocked.clone()))
            .transpose()?;
        let shape = Shape::of(spec);
        hypervisor.warm_up(shape)?;
        Ok(Self {
            clock,
            hypervisor,
            base,
            spec: spec.clone(),
            shape,
            hierarchies: Hierarchies::detect_below(spec.partition.as_deref())?,
            network,
            expects_another: false,
            kept,
            sealing: Sealing::default(),
        })
    }

    /// Looks for a machine in which such a chamber is sealed, and has one written down if there is none and that `pays`. Of a
    /// network it has the device, and nothing behind that yet.
    fn look_for_sealed(&mut self, programs: Vec<String>, pays: bool, cancel: &CancelToken) {
        let Some(kept) = self.kept.clone() else {
            return;
        };
        if !matches!(self.sealing, Sealing::Untried) {
            return;
        }
        self.sealing = match self.found_or_made(&kept, programs, pays, cancel) {
            Ok(Some(ahead)) => Sealing::Done(ahead),
            Ok(None) => Sealing::Untried,
            Err(error) => {
                // What goes wrong here goes wrong again, and is told, when the run does it for itself.
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "no sealed template can be made"
                );
                Sealing::Impossible
            }
        };
    }

    fn found_or_made(
        &self,
        kept: &Kept,
        programs: Vec<String>,
        pays: bool,
        cancel: &CancelToken,
    ) -> Result<Option<Arc<Ahead>>, Error> {
        let seal = Seal {
            warm: programs,
            ..self.seal()
        };
        let key = Key {
            base: BaseIdentity::of(&self.base)?,
            shape: self.shape,
            memory_bytes: self.spec.memory_bytes,
            processes: self.spec.processes,
            seal,
        };
        let found = kept.find(&key);
        // The host may need the memory of the others for the machine that starts now.
        kept.make_room(self.hypervisor.memory_bytes(self.shape), available_bytes);
        if found.is_some() || !pays {
            return Ok(found);
        }
        let made = self.sealed_ahead(&key.seal, cancel)?.map(Arc::new);
        if let Some(made) = &made {
            kept.keep(key, made);
        }
        Ok(made)
    }

    fn sealed_ahead(&self, seal: &Seal, cancel: &CancelToken) -> Result<Option<Ahead>, Error> {
        let group = self.group()?;
        let scratch = self.empty_scratch()?;
        let disks = self.disks(&scratch);
        let order = Order {
            from: None,
            ..self.order(&disks, &group, cancel)
        };
        let mut layers = Vec::new();
        let written = self.hypervisor.write_down(&order, &mut |monitor| {
            let link = monitor.link();
            link.tell(&ToGuest::Machine(self.machine()?))?;
            link.tell(&ToGuest::Seal(seal.clone()))?;
            wait_until_sealed(monitor, cancel, &mut layers)
        })?;
        group.remove()?;
        Ok(written.map(|written| Ahead {
            written: Arc::new(written),
            scratch,
            layers,
        }))
    }

    fn group(&self) -> Result<Group, Error> {
        let memory_bytes = self.hypervisor.memory_bytes(self.shape);
        let spec = self.shape.monitor_spec(&self.spec, memory_bytes);
        Group::create(&self.hierarchies, &spec)
    }

    fn empty_scratch(&self) -> Result<HiddenFile, Error> {
        scratch::create(
            self.hypervisor.work_dir(),
            self.spec.disk_bytes,
            self.spec.disk_inodes(),
        )
    }

    fn disks(&self, scratch: &HiddenFile) -> Disks {
        Disks {
            base: self.base.clone(),
            scratch: scratch.path(),
        }
    }

    fn order<'a>(
        &'a self,
        disks: &'a Disks,
        group: &'a Group,
        cancel: &'a CancelToken,
    ) -> Order<'a> {
        Order {
            shape: self.shape,
            from: self.sealing.ahead().map(|ahead| &ahead.written),
            disks,
            group,
            cancel,
            cores: &self.spec.cores,
            network: None,
        }
    }

    fn machine(&self) -> Result<Machine, Error> {
        Ok(Machine {
            wake: self.wake()?,
            memory_bytes: self.spec.memory_bytes,
            processes: self.spec.processes,
        })
    }

    fn wake(&self) -> Result<Wake, Error> {
        let mut entropy = vec![0; ENTROPY_BYTES];
        rustix::rand::getrandom(&mut entropy, rustix::rand::GetRandomFlags::empty())
            .map_err(|errno| Error::host("cannot get random numbers for the machine", errno))?;
        Ok(Wake {
            wall_millis: u64::try_from(self.clock.wall().0).unwrap_or(0),
            entropy,
        })
    }

    fn seal(&self) -> Seal {
        let network = self.network.as_ref();
        Seal {
            hostname: self.spec.hostname.clone(),
            layers: vec![BASE.to_owned()],
            ids: IdMap::Identity { count: ALL_IDS },
            scratch: Scratch::Disk {
                mounted_at: SCRATCH.to_owned(),
            },
            disk_bytes: self.spec.disk_bytes,
            disk_inodes: self.spec.disk_inodes(),
            shared_memory_bytes: self.spec.shared_memory_bytes(),
            resolver: network.map_or_else(String::new, NetworkPlan::resolver_file),
            device: network.is_some(),
            // Its monitor keeps to the cores, and the launcher is put into its group from outside.
            cores: Vec::new(),
            groups: Vec::new(),
            unified_group: String::new(),
            held: false,
            warm: Vec::new(),
        }
    }
}

impl Chamber for MachineChamber {
    fn run(
        &mut self,
        command: &Command,
        limits: &Limits,
        sink: &mut dyn OutputSink,
        cancel: &CancelToken,
    ) -> Result<Exit, Error> {
        let start = start_message(command, limits, self.spec.processes)?;
        self.look_for_sealed(start.programs(), self.expects_another, cancel);
        let ahead = self.sealing.ahead();
        let group = self.group()?;
        let scratch = match ahead {
            Some(ahead) => {
                HiddenFile::create(self.hypervisor.work_dir())?.fill_from(&ahead.scratch)?
            }
            None => self.empty_scratch()?,
        };
        let disks = self.disks(&scratch);
        let network = self.network.as_ref();
        let network = network.map(NetworkPlan::for_machine).transpose()?;
        let start = Start {
            uplink: network
                .as_ref()
                .map_or(Uplink::None, MachineNetwork::uplink),
            ..start
        };
        let mut conversation = match ahead {
            Some(ahead) => Conversation::sealed(&start, sink, ahead.layers.clone())?,
            None => Conversation::new(&start, sink),
        };
        let run = Run {
            clock: &*self.clock,
            start: start.clone(),
            network: None,
            limits,
            cancel,
        };
        let Started {
            mut monitor,
            layers: how_it_came,
        } = self.hypervisor.start(&Order {
            network: network.as_ref(),
            ..self.order(&disks, &group, cancel)
        })?;
        let link = monitor.link();
        if ahead.is_some() {
            link.tell(&ToGuest::Wake(self.wake()?))?;
        } else {
            link.tell(&ToGuest::Machine(self.machine()?))?;
            link.tell(&ToGuest::Seal(self.seal()))?;
        }
        link.tell(&ToGuest::Start(start))?;

        let mut watch = Watch::new(&group);
        let talked = talk(&run, &mut monitor, &mut conversation, &mut watch);
        let surroundings = watch.end();
        let explained = monitor.explain(Error::Lost);
        drop(monitor);
        let monitor_usage = group.usage();
        let monitor_limits = group.remove()?;
        let Talk { cause, wall } = talked?;

        let guest_usage = conversation
            .end
            .map_or_else(GuestUsage::default, |(_, usage)| usage);
        let figures = GroupUsage {
            // The monitor's memory is the machine's and not the command's.
            peak_memory_bytes: (guest_usage.peak_memory_bytes > 0)
                .then_some(guest_usage.peak_memory_bytes),
            oom_kills: Some(guest_usage.oom_kills),
            ..monitor_usage
        };
        let outcome = match outcome(cause, &conversation, figures) {
            Err(Error::Lost) => return Err(explained),
            outcome => outcome?,
        };
        let mut layers = self.hypervisor.layers();
        layers.extend(how_it_came);
        layers.extend(monitor_limits);
        layers.append(&mut conversation.layers);
        Ok(Exit {
            outcome,
            usage: usage(guest_usage, figures, surroundings),
            stdout: conversation.stdout.end,
            stderr: conversation.stderr.end,
            files: conversation.files,
            sealed: Sealed { layers },
            wall,
        })
    }

    fn make_ready(&mut self, command: &Command, cancel: &CancelToken) {
        self.look_for_sealed(programs(command), true, cancel);
    }

    fn expect(&mut self, further: u32) {
        self.expects_another = further > 0;
    }

    fn destroy(self: Box<Self>) -> Result<(), Error> {
        // Runs clean up after themselves, and what is kept between them has no names.
        Ok(())
    }
}
