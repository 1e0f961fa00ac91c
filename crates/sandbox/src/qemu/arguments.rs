//! The command line of QEMU.

use std::fs;

use kiln_guest_init::protocol::machine::PORT_NAME;

use super::backend::Accelerator;
use crate::microvm::{Disks, STEADY, Shape};

/// The translation cache: the default is a gigabyte, and a guest's kernel fills about a tenth of this.
const TRANSLATION_CACHE_MIB: u32 = 32;

/// What a machine is made of, apart from how it comes to life.
pub(super) struct Hardware<'a> {
    pub(super) accelerator: Accelerator,
    pub(super) shape: Shape,
    /// What it boots from; none where it is restored.
    pub(super) boot: Option<Boot<'a>>,
    pub(super) disks: &'a Disks,
    pub(super) memory: Memory<'a>,
    /// What is behind the network device of a shape that has one.
    pub(super) tap: Option<&'a str>,
}

/// What a machine boots from, by paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boot<'a> {
    pub(super) kernel: &'a str,
    pub(super) initramfs: &'a str,
}

/// Where the guest's memory lies.
pub(super) enum Memory<'a> {
    /// In a file whose content outlives the machine.
    Template(&'a str),
    /// A private copy of such a file, page by page as the guest writes.
    CopyOf(&'a str),
    /// Nowhere but in memory.
    Own,
}

/// Whether the machine has a console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Console {
    None,
    /// The first serial port, on the monitor's standard output.
    Serial,
}

impl Hardware<'_> {
    /// The arguments that describe the machine. A template and what is restored from it must agree in all of them, but for
    /// what the template booted from: that has become a part of its memory.
    pub(super) fn arguments(&self, console: Console) -> Vec<String> {
        let bytes = self.shape.memory_bytes;
        let mut arguments: Vec<String> = [
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
        ]
        .map(str::to_owned)
        .into();
        let mut add = |option: &str, value: String| {
            arguments.push(option.to_owned());
            arguments.push(value);
        };
        add("-machine", machine(console));
        add("-accel", accelerator(self.accelerator));
        add("-cpu", cpu(self.accelerator).to_owned());
        add("-smp", self.shape.cpus.to_string());
        add("-m", format!("size={bytes}B"));
        add("-object", self.memory.object(bytes));
        if let Some(boot) = self.boot {
            add("-kernel", boot.kernel.to_owned());
            add("-initrd", boot.initramfs.to_owned());
            add("-append", command_line(self.accelerator, console));
        }
        add("-device", device("virtio-serial"));
        add("-chardev", "socket,id=guest,fd=0".to_owned());
        add(
            "-device",
            format!("virtserialport,chardev=guest,name={PORT_NAME}"),
        );
        if self.shape.network {
            add("-netdev", network(self.tap));
            // A machine that moves tells its neighbours where it is now. A restored one has none that knew it.
            add(
                "-device",
                format!("{},netdev=net,guest_announce=off", device("virtio-net")),
            );
        }
        for (name, path, options) in [
            ("base", &self.disks.base, "readonly=on"),
            ("scratch", &self.disks.scratch, "cache=unsafe"),
        ] {
            let path = path.replace(',', ",,");
            add(
                "-drive",
                format!("if=none,id={name},file={path},format=raw,{options}"),
            );
            add("-device", format!("{},drive={name}", device("virtio-blk")));
        }
        arguments
    }
}

impl Memory<'_> {
    fn object(&self, bytes: u64) -> String {
        match self {
            Self::Template(path) => {
                format!("memory-backend-file,id=ram,size={bytes}B,mem-path={path},share=on")
            }
            Self::CopyOf(path) => {
                format!("memory-backend-file,id=ram,size={bytes}B,mem-path={path},share=off")
            }
            Self::Own => format!("memory-backend-ram,id=ram,size={bytes}B"),
        }
    }
}

/// The hub that the device of a machine without a tap device of its own is plugged into.
pub(super) const HUB: u8 = 0;

/// A template's device is connected to a hub and no further. It finds out then what the other end can do, so that no tap
/// device may do more.
fn network(tap: Option<&str>) -> String {
    match tap {
        Some(device) => {
            format!("tap,id=net,ifname={device},script=no,downscript=no,vnet_hdr=off")
        }
        None => format!("hubport,id=net,hubid={HUB}"),
    }
}

/// The program that emulates this host's kind of processor.
pub(crate) const fn program_for_this_host() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        "qemu-system-aarch64"
    } else {
        "qemu-system-x86_64"
    }
}

fn machine(console: Console) -> String {
    if cfg!(target_arch = "aarch64") {
        return "virt,gic-version=max,memory-backend=ram".to_owned();
    }
    let serial = match console {
        Console::None => "off",
        Console::Serial => "on",
    };
    // A stock kernel finds virtio-mmio devices by ACPI only.
    format!("microvm,acpi=on,x-option-roms=off,isa-serial={serial},memory-backend=ram")
}

fn accelerator(accelerator: Accelerator) -> String {
    match accelerator {
        Accelerator::Kvm => "kvm".to_owned(),
        Accelerator::Tcg => format!("tcg,thread=multi,tb-size={TRANSLATION_CACHE_MIB}"),
    }
}

const fn cpu(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::Kvm => "host",
        Accelerator::Tcg => "max",
    }
}

/// A virtio device on the bus that this machine has.
fn device(name: &str) -> String {
    let bus = if cfg!(target_arch = "aarch64") {
        "pci"
    } else {
        "device"
    };
    format!("{name}-{bus}")
}

fn command_line(accelerator: Accelerator, console: Console) -> String {
    // A kernel that tests its own arithmetic at every boot is sure of it, a quarter of a second later.
    let mut words = ["panic=-1", "cryptomgr.notests", STEADY]
        .map(str::to_owned)
        .to_vec();
    match console {
        Console::None => words.push("quiet".to_owned()),
        Console::Serial if cfg!(target_arch = "aarch64") => {
            words.push("console=ttyAMA0".to_owned());
        }
        Console::Serial => words.push("console=ttyS0".to_owned()),
    }
    if cfg!(target_arch = "x86_64") {
        words.push("reboot=t".to_owned());
        if accelerator == Accelerator::Tcg {
            words.extend(clock_hints());
        }
    }
    words.join(" ")
}

/// An emulated machine of this kind has no clock by which Linux could find out how fast its time stamp counter is, and
/// that counter is the host's.
fn clock_hints() -> Vec<String> {
    const KERNEL_TICKS_PER_SECOND: u64 = 250;
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kilohertz = kilohertz(&cpu_info).unwrap_or(2_000_000);
    vec![
        format!("tsc_early_khz={kilohertz}"),
        format!("lpj={}", kilohertz * 1000 / KERNEL_TICKS_PER_SECOND),
    ]
}

fn kilohertz(cpu_info: &str) -> Option<u64> {
    let line = cpu_info.lines().find(|line| line.starts_with("cpu MHz"))?;
    let (megahertz, fraction) = line.split_once(':')?.1.trim().split_once('.')?;
    let fraction = format!("{fraction:0<3}");
    Some(megahertz.parse::<u64>().ok()? * 1000 + fraction.get(..3)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_frequency_is_read_to_the_kilohertz() {
        assert_eq!(
            kilohertz("processor\t: 0\ncpu MHz\t\t: 2793.436\n"),
            Some(2_793_436)
        );
        assert_eq!(kilohertz("cpu MHz : 3000.0\n"), Some(3_000_000));
        assert_eq!(kilohertz("no frequency\n"), None);
    }

    #[test]
    fn a_comma_in_a_disks_path_stays_a_part_of_it() {
        let disks = Disks {
            base: "/a,readonly=off".into(),
            scratch: "/b".into(),
        };
        let hardware = Hardware {
            accelerator: Accelerator::Tcg,
            shape: Shape {
                cpus: 1,
                memory_bytes: 1 << 28,
                network: false,
            },
            boot: None,
            disks: &disks,
            memory: Memory::Own,
            tap: None,
        };
        let arguments = hardware.arguments(Console::None);
        assert!(
            arguments
                .iter()
                .any(|argument| argument.contains("file=/a,,readonly=off,format=raw,readonly=on"))
        );
    }

    #[test]
    fn every_kernel_is_told_to_be_steady() {
        for console in [Console::None, Console::Serial] {
            assert!(command_line(Accelerator::Kvm, console).contains(STEADY));
        }
    }

    #[test]
    fn only_an_emulated_processor_is_told_its_speed() {
        assert!(!command_line(Accelerator::Kvm, Console::None).contains("tsc_early_khz"));
    }
}
