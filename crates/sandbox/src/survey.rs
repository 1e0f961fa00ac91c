//! What each back end needs and has on this host, and which one `auto` takes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use kiln_model::Clock;

use crate::firecracker::FirecrackerConfig;
use crate::microvm::{GuestKernel, KernelError};
use crate::programs::locate;
use crate::qemu::program_for_this_host;
use crate::{Check, Host, Layer, Probe, check_limits, network, probe_kvm};

/// On Debian, without installing it.
const FETCH_KERNEL: &str = if cfg!(target_arch = "aarch64") {
    "K=~/.local/share/kiln/kernel; mkdir -p $K && cd $(mktemp -d) && apt-get download $(apt-cache depends \
     linux-image-cloud-arm64 | awk '/Depends: linux-image/ {print $2}') && dpkg-deb --extract *.deb $K"
} else {
    "K=~/.local/share/kiln/kernel; mkdir -p $K && cd $(mktemp -d) && apt-get download $(apt-cache depends \
     linux-image-cloud-amd64 | awk '/Depends: linux-image/ {print $2}') && dpkg-deb --extract *.deb $K"
};

const FETCH_FIRECRACKER: &str = "F=v1.15.1-$(uname -m); curl -fsSL \
     https://github.com/firecracker-microvm/firecracker/releases/download/v1.15.1/firecracker-$F.tgz | tar xz && \
     install release-$F/firecracker-$F /usr/local/bin/firecracker";

/// Programs and files that were named; what was not is looked for in the usual places.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    pub firecracker: Option<PathBuf>,
    /// Through which Firecracker is started; without it, it is not jailed.
    pub jailer: Option<PathBuf>,
    pub qemu: Option<PathBuf>,
    pub kernel: Option<PathBuf>,
}

impl Programs {
    /// The first that is not there, and what it was named as: whoever named it would not want another in its place.
    pub fn misnamed(&self) -> Option<(&'static str, &Path)> {
        let programs = [
            ("firecracker", &self.firecracker),
            ("jailer", &self.jailer),
            ("qemu", &self.qemu),
        ];
        let is_missing = |path: &&Path| locate(path).is_err();
        programs
            .into_iter()
            .find_map(|(name, path)| Some((name, path.as_deref().filter(is_missing)?)))
            .or_else(|| {
                Some((
                    "kernel",
                    self.kernel.as_deref().filter(|path| !path.exists())?,
                ))
            })
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub check: Check,
}

/// What this host offers, the strongest back end first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    pub kvm: Check,
    pub kernel: Check,
    /// Of memory, swap, CPU time and processes, for chambers that are no machines.
    pub limits: Check,
    /// For what commands in namespaces write.
    pub disk: Check,
    /// For specs with a network.
    pub network: Check,
    pub backends: Vec<Finding>,
    /// What `auto` takes.
    pub auto: Option<&'static str>,
}

impl Survey {
    /// Looks, by doing wherever that is quick.
    pub fn of_this_host(programs: &Programs, clock: Arc<dyn Clock>) -> Self {
        let kvm = probe_kvm();
        let (kernel, found) = look_for_kernel(programs);
        let firecracker = firecracker(programs, &kvm, found.as_ref().ok_or(&kernel));
        let qemu = qemu(programs, &kernel);
        let Probe { namespaces, layers } = Host::probe(clock);
        let backends = vec![
            Finding {
                name: "firecracker",
                check: firecracker,
            },
            Finding {
                name: "qemu",
                check: if qemu.works && !kvm.works {
                    Check {
                        detail: format!("{}, emulated (tcg): timings mean nothing", qemu.detail),
                        ..qemu
                    }
                } else {
                    qemu
                },
            },
            Finding {
                name: "namespace",
                check: namespaces,
            },
        ];
        let auto = choose(&backends, kvm.works);
        Self {
            kvm,
            kernel,
            limits: check_limits(),
            disk: disk(&layers),
            network: network::check(),
            backends,
            auto,
        }
    }
}

/// The strongest that works. An emulated machine comes last: it would make every timing worthless without being asked.
fn choose(backends: &[Finding], kvm: bool) -> Option<&'static str> {
    let works = |name: &str| {
        backends
            .iter()
            .any(|finding| finding.name == name && finding.check.works)
    };
    let order: [(&'static str, bool); 4] = [
        ("firecracker", kvm),
        ("qemu", kvm),
        ("namespace", true),
        ("qemu", true),
    ];
    order
        .into_iter()
        .find(|(name, possible)| *possible && works(name))
        .map(|(name, _)| name)
}

fn look_for_kernel(programs: &Programs) -> (Check, Option<GuestKernel>) {
    let kernel = match &programs.kernel {
        Some(path) => GuestKernel::at(path),
        None => GuestKernel::find(),
    };
    match kernel {
        Ok(kernel) => {
            let release = kernel.release().unwrap_or("of unknown release");
            let detail = format!("{} ({release})", kernel.image().display());
            (yes(detail), Some(kernel))
        }
        Err(KernelError::Read { path, source }) if programs.kernel.is_some() => {
            let otherwise = "for the newest cloud kernel in the known places";
            (wrong("--kernel", &path, &source, otherwise), None)
        }
        Err(error) => (no(error.to_string(), FETCH_KERNEL), None),
    }
}

/// For a back end: where a kernel was named, that one is what has to be mended.
fn without_kernel(programs: &Programs, kernel: &Check) -> Check {
    if programs.kernel.is_some() {
        kernel.clone()
    } else {
        no("no guest kernel".to_owned(), "name one with --kernel")
    }
}

fn firecracker(programs: &Programs, kvm: &Check, kernel: Result<&GuestKernel, &Check>) -> Check {
    if let Some(jailer) = &programs.jailer
        && let Err(error) = locate(jailer)
    {
        return wrong("--jailer", jailer, &error, "to go without a jailer");
    }
    let named = programs.firecracker.as_deref();
    let program = match (
        locate(named.unwrap_or_else(|| Path::new("firecracker"))),
        named,
    ) {
        (Ok(program), _) => program,
        (Err(error), Some(named)) => {
            return wrong("--firecracker", named, &error, "for the one in PATH");
        }
        (Err(_), None) => return no("no program firecracker".to_owned(), FETCH_FIRECRACKER),
    };
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(check) => return without_kernel(programs, check),
    };
    let config = FirecrackerConfig {
        program,
        jailer: programs.jailer.clone(),
        kernel: kernel.clone(),
        work_dir: std::env::temp_dir(),
    };
    match config.check_version() {
        Err(error) => no(error.to_string(), FETCH_FIRECRACKER),
        Ok(version) if !kvm.works => Check {
            works: false,
            detail: format!("version {version}, but KVM is of no use: {}", kvm.detail),
            fix: kvm.fix.clone(),
        },
        Ok(version) if kernel.release().is_some() => no(
            format!("version {version}, but the kernel is compressed"),
            "name an uncompressed ELF kernel with --kernel",
        ),
        Ok(version) if programs.jailer.is_some() && !rustix::process::geteuid().is_root() => no(
            format!("version {version}, but its jailer needs root"),
            "run the runner as root, or without --jailer",
        ),
        Ok(version) if programs.jailer.is_some() => yes(format!("version {version}, jailed")),
        Ok(version) => yes(format!("version {version}, without its jailer (--jailer)")),
    }
}

fn qemu(programs: &Programs, kernel: &Check) -> Check {
    let usual = program_for_this_host();
    let named = programs.qemu.as_deref();
    match (locate(named.unwrap_or_else(|| Path::new(usual))), named) {
        (Ok(program), _) if !says_it_is_qemu(&program) => no(
            format!("{} does not say that it is QEMU", program.display()),
            "correct --qemu, or leave it out for the one in PATH",
        ),
        (Ok(program), _) if kernel.works => yes(program.display().to_string()),
        (Ok(_), _) => without_kernel(programs, kernel),
        (Err(error), Some(named)) => wrong("--qemu", named, &error, "for the one in PATH"),
        (Err(_), None) => no(
            format!("no program {usual}"),
            "apt-get install qemu-system-x86 (or qemu-system-arm)",
        ),
    }
}

fn says_it_is_qemu(program: &Path) -> bool {
    let mut command = Command::new(program);
    let asked = command.arg("--version").stdin(Stdio::null()).output();
    asked.is_ok_and(|answer| answer.stdout.starts_with(b"QEMU "))
}

fn disk(layers: &[Layer]) -> Check {
    match layers.iter().find(|layer| layer.name == "disk") {
        Some(layer) if layer.applied => {
            yes("namespace chambers have disks of their own".to_owned())
        }
        Some(_) if !rustix::process::geteuid().is_root() => no(
            "what is written in a namespace chamber counts as its memory: only root can have disks"
                .to_owned(),
            "run the runner as root",
        ),
        Some(layer) => no(
            format!(
                "what is written in a namespace chamber counts as its memory: {}",
                layer.detail
            ),
            "load the loop driver and ext4: modprobe -a loop ext4",
        ),
        None => no(
            "there are no namespace chambers".to_owned(),
            "see namespace",
        ),
    }
}

fn yes(detail: String) -> Check {
    Check {
        works: true,
        detail,
        fix: None,
    }
}

fn no(detail: String, fix: &str) -> Check {
    Check {
        works: false,
        detail,
        fix: Some(fix.to_owned()),
    }
}

/// What an option names is not there: nothing that could be installed would be looked at.
fn wrong(option: &str, path: &Path, error: &io::Error, otherwise: &str) -> Check {
    let path = path.display();
    let why = if error.kind() == io::ErrorKind::NotFound {
        "which is not there".to_owned()
    } else {
        format!("which cannot be used: {error}")
    };
    no(
        format!("{option} is wrong: it names {path}, {why}"),
        &format!("correct {option} {path}, or leave it out {otherwise}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(working: &[&str]) -> Vec<Finding> {
        ["firecracker", "qemu", "namespace"]
            .into_iter()
            .map(|name| Finding {
                name,
                check: Check {
                    works: working.contains(&name),
                    detail: String::new(),
                    fix: None,
                },
            })
            .collect()
    }

    #[test]
    fn a_real_machine_is_preferred_to_namespaces() {
        let all = findings(&["firecracker", "qemu", "namespace"]);
        assert_eq!(choose(&all, true), Some("firecracker"));
        assert_eq!(
            choose(&findings(&["qemu", "namespace"]), true),
            Some("qemu")
        );
    }

    #[test]
    fn an_emulated_machine_is_taken_only_where_there_is_nothing_else() {
        assert_eq!(
            choose(&findings(&["qemu", "namespace"]), false),
            Some("namespace")
        );
        assert_eq!(choose(&findings(&["qemu"]), false), Some("qemu"));
    }

    #[test]
    fn where_nothing_works_nothing_is_taken() {
        assert_eq!(choose(&findings(&[]), true), None);
    }
}
