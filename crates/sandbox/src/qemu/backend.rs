//! Making QEMU chambers.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kiln_model::Clock;

use super::arguments::{Console, Hardware, Memory, program_for_this_host};
use super::qmp::Qmp;
use super::template::{CONTROL, Recipe, Template, restore, socket_pair};
use crate::link::Link;
use crate::microvm::{
    GuestKernel, HiddenFile, Hypervisor, MachineChamber, Monitor, Order, Process, Shape, initramfs,
};
use crate::{Backend, BaseKind, Chamber, ChamberSpec, Error, Layer, Rootfs, guest};

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

#[derive(Clone, Debug)]
pub struct QemuConfig {
    pub program: PathBuf,
    pub kernel: GuestKernel,
    pub accelerator: Accelerator,
    /// For disks and templates. Files there have no names, so nothing is left in it.
    pub work_dir: PathBuf,
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
        }
    }
}

/// Chambers that are QEMU's machines.
#[derive(Debug)]
pub struct Qemu {
    clock: Arc<dyn Clock>,
    machines: Arc<Machines>,
}

impl Qemu {
    pub fn new(config: QemuConfig, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            machines: Arc::new(Machines {
                config,
                initramfs: OnceLock::new(),
                templates: Mutex::default(),
            }),
        }
    }
}

impl Backend for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }

    fn base_kind(&self) -> BaseKind {
        BaseKind::Disk
    }

    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        Ok(Box::new(MachineChamber::prepare(
            Arc::clone(&self.clock),
            Arc::clone(&self.machines) as Arc<dyn Hypervisor>,
            rootfs.resolved_disk()?,
            spec,
        )?))
    }
}

#[derive(Debug)]
struct Machines {
    config: QemuConfig,
    initramfs: OnceLock<HiddenFile>,
    templates: Mutex<BTreeMap<Shape, Arc<Template>>>,
}

impl Machines {
    fn initramfs(&self) -> Result<&HiddenFile, Error> {
        if let Some(file) = self.initramfs.get() {
            return Ok(file);
        }
        let file = HiddenFile::create(&self.config.work_dir)?;
        let mut writer = file.file();
        writer
            .write_all(&initramfs(&self.config.kernel)?)
            .map_err(|error| Error::host("cannot write the initial file system", error))?;
        Ok(self.initramfs.get_or_init(|| file))
    }

    /// The template of a shape, made on first use. Others wait meanwhile: they need it too, or its CPU time.
    fn template(&self, shape: Shape) -> Result<Arc<Template>, Error> {
        let mut templates = self
            .templates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = templates.get(&shape) {
            return Ok(Arc::clone(template));
        }
        let recipe = Recipe {
            program: &self.config.program,
            accelerator: self.config.accelerator,
            kernel: self.config.kernel.image(),
            initramfs: &self.initramfs()?.path(),
            work_dir: &self.config.work_dir,
        };
        let template = Arc::new(Template::make(&recipe, shape)?);
        templates.insert(shape, Arc::clone(&template));
        Ok(template)
    }
}

impl Hypervisor for Machines {
    fn warm_up(&self, shape: Shape) -> Result<(), Error> {
        self.template(shape).map(drop)
    }

    fn start(&self, order: &Order<'_>) -> Result<Monitor, Error> {
        let template = self.template(order.shape)?;
        let hardware = Hardware {
            accelerator: self.config.accelerator,
            shape: order.shape,
            kernel: self.config.kernel.image(),
            initramfs: &self.initramfs()?.path(),
            disks: order.disks,
            memory: Memory::CopyOf(&template.memory.path()),
        };
        let (ours, guests) = socket_pair()?;
        let (control, monitors) = socket_pair()?;
        let mut command = guest::on_a_leash(&self.config.program, &[template.state.path()])?;
        command
            .args(hardware.arguments(Console::None))
            .args(CONTROL)
            .args(["-incoming", "defer"])
            // What the guest might make QEMU do, if it could make QEMU do anything.
            .args([
                "-sandbox",
                "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
            ])
            .stdin(Stdio::from(OwnedFd::from(guests)))
            .stdout(Stdio::from(OwnedFd::from(monitors)));
        let log = HiddenFile::create(&self.config.work_dir)?;
        let monitor = Monitor::new(Process::spawn(command, log)?, Link::new(ours)?);
        order.group.add(monitor.pid())?;
        let restored = Qmp::greet(control).and_then(|mut qmp| restore(&mut qmp, STATE_DESCRIPTOR));
        match restored {
            Ok(()) => Ok(monitor),
            Err(_) if monitor.has_complained() => Err(monitor.explain(Error::Lost)),
            Err(error) => Err(error),
        }
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
