//! Starting QEMU's machines.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use kiln_model::v0::Isolation;

use super::arguments::{Boot, Console, Hardware, Memory, program_for_this_host};
use super::qmp::Qmp;
use super::template::{CONTROL, Recipe, plug_in, restore, write_down};
use crate::guest::Leash;
use crate::link::{Link, socket_pair};
use crate::microvm::{
    BOOT_PATIENCE, GuestKernel, HiddenFile, Hypervisor, InitialFiles, MONITOR_BYTES, Monitor,
    Order, Process, Shape, Shelf, Started, Talked, WrittenDown,
};
use crate::network::{MachineNetwork, Network};
use crate::{Error, Layer};

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor itself.
    Kvm,
    /// A translator, about twenty times slower: good for isolation, useless for timings.
    Tcg,
}

impl Accelerator {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// The first file that a program on a leash finds open.
const STATE_DESCRIPTOR: u8 = 3;

/// What the guest might make QEMU do, if it could make QEMU do anything.
const CONFINEMENT: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// QEMU writes itself down by way of another program. No command runs in such a guest.
const CONFINEMENT_OF_TEMPLATES: &str =
    "on,obsolete=deny,elevateprivileges=deny,resourcecontrol=deny";

/// Five or six templates of each kind: a booted guest has touched about a hundred megabytes.
const KEPT_BYTES: u64 = 640 << 20;

#[derive(Clone, Debug)]
pub struct QemuConfig {
    pub program: PathBuf,
    pub kernel: GuestKernel,
    pub accelerator: Accelerator,
    /// For disks and templates. Files there have no names, so nothing is left in it.
    pub work_dir: PathBuf,
    /// What templates may take of the host's memory while no run uses them: those of each shape of machine, and again as
    /// much those with a sealed chamber. With nothing to keep them in there are none, and every machine boots.
    pub kept_bytes: u64,
}

impl QemuConfig {
    /// The usual program for this host's kind of processor.
    pub fn new(
        kernel: GuestKernel,
        accelerator: Accelerator,
        work_dir: impl Into<PathBuf>,
    ) -> Self {
        Self {
            program: PathBuf::from(program_for_this_host()),
            kernel,
            accelerator,
            work_dir: work_dir.into(),
            kept_bytes: KEPT_BYTES,
        }
    }
}

/// Gives back, after a machine, what it has added to its template.
#[derive(Debug)]
struct Shedding(Arc<WrittenDown>);

impl Drop for Shedding {
    fn drop(&mut self) {
        self.0.shed();
    }
}

/// QEMU as it starts machines.
#[derive(Debug)]
pub(crate) struct Qemu {
    config: QemuConfig,
    initial: InitialFiles,
    templates: Shelf<Shape, WrittenDown>,
    /// Held while a template is made. Others wait meanwhile: they need it too, or its CPU time.
    making: Mutex<()>,
}

impl Qemu {
    pub(crate) fn new(config: QemuConfig) -> Self {
        Self {
            initial: InitialFiles::default(),
            templates: Shelf::new(config.kept_bytes),
            making: Mutex::default(),
            config,
        }
    }

    /// The template of a shape, made on first use.
    fn template(&self, shape: Shape) -> Result<Arc<WrittenDown>, Error> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = self.templates.find(&shape) {
            return Ok(template);
        }
        let [kernel, initramfs] = self.initial_files()?;
        let recipe = Recipe {
            program: &self.config.program,
            accelerator: self.config.accelerator,
            boot: Boot {
                kernel: &kernel,
                initramfs: &initramfs,
            },
            work_dir: &self.config.work_dir,
        };
        let template = Arc::new(recipe.make(shape)?);
        self.templates.keep(shape, &template);
        Ok(template)
    }

    /// The kernel and the initial file system, by paths.
    fn initial_files(&self) -> Result<[String; 2], Error> {
        let QemuConfig {
            kernel, work_dir, ..
        } = &self.config;
        Ok([
            self.initial.kernel(kernel, work_dir)?,
            self.initial.file(kernel, work_dir)?.path(),
        ])
    }

    fn keeps_templates(&self) -> bool {
        self.config.kept_bytes > 0
    }

    fn has_template_for(&self, order: &Order<'_>) -> bool {
        self.keeps_templates() && order.disks.fit_placeholders()
    }

    /// A machine that has come up by itself: only then can it be told what time it is. Who talks to the guest of one that
    /// was canceled meanwhile sees the cancel.
    fn booted(&self, order: &Order<'_>) -> Result<Monitor, Error> {
        let [kernel, initramfs] = self.initial_files()?;
        let boot = Boot {
            kernel: &kernel,
            initramfs: &initramfs,
        };
        let hardware = self.hardware(order, Some(boot), Memory::Own);
        let (command, ours) = self.command(order, &hardware, Vec::new(), CONFINEMENT)?;
        let network = order.network.map(open).transpose()?;
        let mut monitor = self.spawn(command, ours)?.keeping(Box::new(network));
        monitor
            .wait_until_up(BOOT_PATIENCE, Some(order.cancel))
            .map_err(|error| monitor.explain(error))?;
        Ok(monitor)
    }

    /// A machine that goes on where its template was stopped, and the way to its monitor.
    fn restored(
        &self,
        order: &Order<'_>,
        state: &HiddenFile,
        memory: Memory<'_>,
        confinement: &str,
    ) -> Result<(Monitor, Qmp), Error> {
        let hardware = self.hardware(order, None, memory);
        let files = vec![state.path()];
        let (mut command, ours) = self.command(order, &hardware, files, confinement)?;
        let (control, monitors) = socket_pair()?;
        command
            .args(CONTROL)
            .args(["-incoming", "defer"])
            .stdout(Stdio::from(OwnedFd::from(monitors)));
        let monitor = self.spawn(command, ours)?;
        // It takes longer to start than a network to be made.
        let (greeted, network) = thread::scope(|scope| {
            let network = order.network.map(|network| scope.spawn(|| open(network)));
            (Qmp::greet(control), network.map(joined).transpose())
        });
        let monitor = monitor.keeping(Box::new(network?));
        let restored = greeted.and_then(|mut qmp| {
            if let Some(network) = order.network {
                plug_in(&mut qmp, network.device())?;
            }
            restore(&mut qmp, STATE_DESCRIPTOR)?;
            Ok(qmp)
        });
        match restored {
            Ok(qmp) => Ok((monitor, qmp)),
            Err(_) if monitor.has_complained() => Err(monitor.explain(Error::Lost)),
            Err(error) => Err(error),
        }
    }

    fn hardware<'a>(
        &self,
        order: &Order<'a>,
        boot: Option<Boot<'a>>,
        memory: Memory<'a>,
    ) -> Hardware<'a> {
        Hardware {
            accelerator: self.config.accelerator,
            shape: order.shape,
            boot,
            disks: order.disks,
            memory,
            tap: boot.and(order.network).map(MachineNetwork::device),
        }
    }

    /// QEMU on its leash, and our end of the way to its guest.
    fn command(
        &self,
        order: &Order<'_>,
        hardware: &Hardware<'_>,
        files: Vec<String>,
        confinement: &str,
    ) -> Result<(Command, UnixStream), Error> {
        let (ours, guests) = socket_pair()?;
        let leash = Leash {
            files,
            groups: order.group.entrances(),
            cores: order.cores.to_vec(),
            changes_user: false,
        };
        let mut command = leash.command(&self.config.program)?;
        command
            .args(hardware.arguments(Console::None))
            .args(["-sandbox", confinement])
            .stdin(Stdio::from(OwnedFd::from(guests)))
            .stdout(Stdio::null());
        Ok((command, ours))
    }

    fn spawn(&self, command: Command, ours: UnixStream) -> Result<Monitor, Error> {
        let log = HiddenFile::create(&self.config.work_dir)?;
        Ok(Monitor::new(
            Process::spawn(command, log)?,
            Link::new(ours)?,
        ))
    }
}

/// QEMU opens the device as who it is started by.
fn open(network: &MachineNetwork<'_>) -> Result<Network, Error> {
    network.open(None)
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

impl Hypervisor for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }

    /// With either accelerator: the guest has a kernel of its own, and no other way to the host's than through a process with
    /// few system calls left.
    fn isolation(&self) -> Isolation {
        Isolation::Microvm
    }

    fn warm_up(&self, shape: Shape) -> Result<(), Error> {
        if self.keeps_templates() {
            return self.template(shape).map(drop);
        }
        self.initial_files().map(drop)
    }

    fn start(&self, order: &Order<'_>) -> Result<Started, Error> {
        if !self.has_template_for(order) {
            return Ok(Started {
                monitor: self.booted(order)?,
                layers: vec![Layer::applied("start", "booted")],
            });
        }
        let (from, how) = match order.from {
            Some(sealed) => (
                Arc::clone(sealed),
                "from a template with its chamber sealed",
            ),
            None => (self.template(order.shape)?, "from a template"),
        };
        let memory = from.memory.path();
        let (monitor, _) =
            self.restored(order, &from.state, Memory::CopyOf(&memory), CONFINEMENT)?;
        Ok(Started {
            monitor: monitor.keeping(Box::new(Shedding(from))),
            layers: vec![Layer::applied("start", how)],
        })
    }

    fn write_down(
        &self,
        order: &Order<'_>,
        talk: &mut dyn FnMut(&mut Monitor) -> Result<Talked, Error>,
    ) -> Result<Option<WrittenDown>, Error> {
        if !self.has_template_for(order) {
            return Ok(None);
        }
        let template = self.template(order.shape)?;
        let memory = HiddenFile::in_memory()?.fill_from(&template.memory)?;
        let place = Memory::Template(&memory.path());
        let (mut monitor, mut qmp) =
            self.restored(order, &template.state, place, CONFINEMENT_OF_TEMPLATES)?;
        match talk(&mut monitor).map_err(|error| monitor.explain(error))? {
            Talked::Broken => Ok(None),
            Talked::Done => {
                let state = write_down(&mut qmp, &self.config.work_dir)?;
                WrittenDown::new(memory, state).map(Some)
            }
        }
    }

    /// Each page that a machine is the first to touch is there twice: in its template, as zeros, and for itself.
    fn memory_bytes(&self, shape: Shape) -> u64 {
        let times = if self.keeps_templates() { 2 } else { 1 };
        times * shape.memory_bytes + MONITOR_BYTES
    }

    fn layers(&self) -> Vec<Layer> {
        let accelerator = self.config.accelerator;
        let mut layers = vec![Layer::applied(
            "machine",
            format!("qemu with {}", accelerator.name()),
        )];
        if accelerator == Accelerator::Tcg {
            layers.push(Layer::missing(
                "timing",
                "the processor is emulated: the timings of this run mean nothing",
            ));
        }
        layers
    }

    fn work_dir(&self) -> &Path {
        &self.config.work_dir
    }
}
