//! Which back end a runner's chambers come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_model::Clock;
use kiln_sandbox::{
    Accelerator, Backend, FirecrackerConfig, GuestKernel, Machines, Namespaces, Processes,
    Programs, QemuConfig, Survey, probe_kvm,
};
use kiln_store::SystemClock;

use crate::commands::Context;
use crate::commands::server::make_directory;
use crate::failure::Failure;

/// The one the settings ask for.
pub(in crate::commands) fn chosen(
    context: &Context<'_>,
    data: &Path,
) -> Result<Box<dyn Backend>, Failure> {
    let settings = &context.settings;
    let named = |key: &str| settings.get(key).map(PathBuf::from);
    let programs = Programs {
        firecracker: named("firecracker"),
        jailer: named("jailer"),
        qemu: named("qemu"),
        kernel: named("kernel"),
    };
    let wanted = settings.need("backend")?;
    let name = if wanted == "auto" {
        if let Some((setting, path)) = programs.misnamed() {
            let path = path.display();
            return Err(
                Failure::usage(format!("{setting} is {path}, which is not there")).hint(format!(
                    "correct {setting}, leave it out, or name a back end that needs none with --backend"
                )),
            );
        }
        Survey::of_this_host(&programs, Arc::new(SystemClock::new()))
            .auto
            .ok_or_else(|| {
                Failure::unexpected("no back end works on this host")
                    .hint("`kiln doctor` says what each of them lacks")
            })?
    } else {
        warn_of_unused(context, wanted);
        wanted
    };
    match name {
        "namespace" => Ok(namespaces(data)),
        "qemu" => qemu(&programs, &data.join("machines")),
        "firecracker" => firecracker(&programs, &data.join("machines")),
        "process" => processes(context, &data.join("processes")),
        other => Err(Failure::usage(format!("there is no back end {other:?}"))
            .hint("backend is auto, namespace, qemu, firecracker or process")),
    }
}

/// Whoever names a program means it to be used.
fn warn_of_unused(context: &Context<'_>, backend: &str) {
    for (setting, users) in [
        ("qemu", &["qemu"][..]),
        ("firecracker", &["firecracker"]),
        ("jailer", &["firecracker"]),
        ("kernel", &["qemu", "firecracker"]),
    ] {
        if context.settings.get(setting).is_some() && !users.contains(&backend) {
            let users = users.join(" or ");
            context.terminal.warn(&format!(
                "{setting} is set, but jobs run in the back end {backend}; to use it, add --backend {users}"
            ));
        }
    }
}

/// The one that runs on any Linux host.
pub(in crate::commands) fn namespaces(data: &Path) -> Box<dyn Backend> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    Box::new(Namespaces::new(clock, data))
}

fn qemu(programs: &Programs, work_dir: &Path) -> Result<Box<dyn Backend>, Failure> {
    make_directory(work_dir)?;
    let accelerator = if probe_kvm().works {
        Accelerator::Kvm
    } else {
        Accelerator::Tcg
    };
    let mut config = QemuConfig::new(kernel(programs)?, accelerator, work_dir);
    if let Some(program) = &programs.qemu {
        config.program.clone_from(program);
    }
    Ok(Box::new(Machines::qemu(
        config,
        Arc::new(SystemClock::new()),
    )))
}

fn firecracker(programs: &Programs, work_dir: &Path) -> Result<Box<dyn Backend>, Failure> {
    make_directory(work_dir)?;
    let usual = || PathBuf::from("firecracker");
    let config = FirecrackerConfig {
        program: programs.firecracker.clone().unwrap_or_else(usual),
        jailer: programs.jailer.clone(),
        kernel: kernel(programs)?,
        work_dir: work_dir.to_owned(),
    };
    let backend = Machines::firecracker(config, Arc::new(SystemClock::new()))
        .map_err(|error| Failure::unexpected("Firecracker cannot be used").because(&error))?;
    Ok(Box::new(backend))
}

/// No sandbox, for who has said so in as many words.
fn processes(context: &Context<'_>, work_dir: &Path) -> Result<Box<dyn Backend>, Failure> {
    if !context.settings.is_on("danger-allow-no-sandbox")? {
        return Err(Failure::usage("the back end process is no sandbox")
            .hint("add --danger-allow-no-sandbox if every job may do to this host what you may"));
    }
    context.terminal.warn(
        "jobs run WITHOUT A SANDBOX, as processes of this host: they can do all that this runner can",
    );
    make_directory(work_dir)?;
    let backend = Processes::new(work_dir, Arc::new(SystemClock::new()))
        .map_err(|error| Failure::unexpected("jobs cannot run here").because(&error))?;
    Ok(Box::new(backend))
}

fn kernel(programs: &Programs) -> Result<GuestKernel, Failure> {
    match &programs.kernel {
        Some(path) => GuestKernel::at(path),
        None => GuestKernel::find(),
    }
    .map_err(|error| Failure::usage("there is no kernel for machines").because(&error))
}
