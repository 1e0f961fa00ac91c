//! What this host can do.

use std::sync::Arc;

use kiln_guest_init::protocol::Stage;
use kiln_model::Clock;

use crate::{
    Backend, CancelToken, ChamberSpec, Command, Error, Layer, Limits, Missing, Namespaces, Rootfs,
    Transcript,
};

/// Distributions switch user namespaces off in three different ways.
const USER_NAMESPACES: &str = "allow user namespaces: sysctl -w user.max_user_namespaces=15000 \
     kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0";

/// Every host has this directory, and what is there outlives a boot.
const ON_DISK: &str = "/var/tmp";

/// This host.
#[derive(Clone, Copy, Debug)]
pub struct Host;

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether a whole namespace chamber was made, and a program run in it.
    pub namespaces: Check,
    /// The layers and limits of that chamber.
    pub layers: Vec<Layer>,
}

/// One finding, with what to do about a bad one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub works: bool,
    pub detail: String,
    pub fix: Option<String>,
}

impl Host {
    /// Finds out by doing: runs the guest program itself in an empty chamber.
    pub fn probe(clock: Arc<dyn Clock>) -> Probe {
        match run_in_empty_chamber(clock) {
            Ok(layers) => Probe {
                namespaces: Check {
                    works: true,
                    detail: told_of(&layers),
                    fix: None,
                },
                layers,
            },
            Err(error) => Probe {
                namespaces: Check {
                    works: false,
                    detail: explain(&error),
                    fix: fix_for(&error),
                },
                layers: Vec::new(),
            },
        }
    }
}

/// Limits and the disk have checks of their own.
fn told_of(layers: &[Layer]) -> String {
    let made = "a chamber was made and a program ran in it".to_owned();
    let checked = ["memory", "swap", "cpu", "pids", "cpuacct", "disk"];
    let weak = layers
        .iter()
        .filter(|layer| !layer.applied && !checked.contains(&layer.name.as_str()));
    weak.fold(made, |told, layer| {
        format!("{told}; without {}: {}", layer.name, layer.detail)
    })
}

fn run_in_empty_chamber(clock: Arc<dyn Clock>) -> Result<Vec<Layer>, Error> {
    let spec = ChamberSpec {
        disk_bytes: 1 << 20,
        missing_limits: Missing::Accept,
        ..ChamberSpec::default()
    };
    let mut chamber = Namespaces::new(clock, ON_DISK).prepare(&Rootfs::empty(), &spec)?;
    // Before exec the command is still the guest program, so this names it without a file in the chamber.
    let command = Command::new(["/proc/self/exe", "probe"]);
    let exit = chamber.run(
        &command,
        &Limits::default(),
        &mut Transcript::default(),
        &CancelToken::new()?,
    )?;
    chamber.destroy()?;
    match exit.code() {
        Some(0) => Ok(exit.sealed.layers),
        _ => Err(Error::Lost),
    }
}

/// The error with its causes, in one line.
pub(crate) fn explain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn fix_for(error: &Error) -> Option<String> {
    let Error::Seal { stage, .. } = error else {
        return None;
    };
    let fixes = [
        (Stage::Namespaces, USER_NAMESPACES),
        (Stage::IdMaps, USER_NAMESPACES),
        (Stage::Overlay, "load overlayfs: modprobe overlay"),
        (
            Stage::Proc,
            "uncover /proc; for a container: docker run --security-opt systempaths=unconfined",
        ),
    ];
    fixes
        .into_iter()
        .find(|(at, _)| at == stage)
        .map(|(_, fix)| fix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_layer_is_told_and_a_missing_limit_is_told_elsewhere() {
        let layers = [
            Layer::applied("seccomp", "allow-list"),
            Layer::missing("landlock", "this kernel has none"),
            Layer::missing("memory", "Permission denied"),
        ];
        assert_eq!(
            told_of(&layers),
            "a chamber was made and a program ran in it; without landlock: this kernel has none"
        );
    }
}
