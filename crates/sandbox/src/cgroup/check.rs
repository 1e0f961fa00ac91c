//! Whether this host lets us limit anything.

use std::path::Path;

use super::group::Group;
use super::hierarchy::Hierarchies;
use crate::{ChamberSpec, Check, Error, Layer, Missing};

/// Finds out by making a group with limits, and removing it.
pub fn check_limits() -> Check {
    match limits_of_a_group() {
        Ok(layers) => judge(&layers, delegation()),
        Err(error) => Check {
            works: false,
            detail: error.to_string(),
            fix: Some(delegation().to_owned()),
        },
    }
}

fn limits_of_a_group() -> Result<Vec<Layer>, Error> {
    let spec = ChamberSpec {
        missing_limits: Missing::Accept,
        ..ChamberSpec::default()
    };
    Group::create(&Hierarchies::detect()?, &spec)?.remove()
}

fn judge(layers: &[Layer], fix: &str) -> Check {
    let missing: Vec<&Layer> = layers.iter().filter(|layer| !layer.applied).collect();
    let names = |layers: &[&Layer]| {
        let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
        names.join(", ")
    };
    match missing.as_slice() {
        [] => Check {
            works: true,
            detail: names(&layers.iter().collect::<Vec<_>>()),
            fix: None,
        },
        [first, ..] => Check {
            works: false,
            detail: format!("not of {} ({})", names(&missing), first.detail),
            fix: Some(fix.to_owned()),
        },
    }
}

/// How one gets groups to make others below.
fn delegation() -> &'static str {
    let root = rustix::process::geteuid().is_root();
    if root {
        "give it a control group that it may change: Delegate=yes in its unit, or a container with /sys/fs/cgroup to write to"
    } else if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        "start it with systemd-run --user --scope --property=Delegate=yes, or as root"
    } else {
        "run it as root"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_first_reason_and_what_to_do() {
        let layers = [
            Layer::applied("cpu", "1 CPUs"),
            Layer::missing("memory", "Permission denied"),
            Layer::missing("pids", "no such controller"),
        ];
        let check = judge(&layers, "run it as root");
        assert!(!check.works);
        assert_eq!(check.detail, "not of memory, pids (Permission denied)");
        assert_eq!(check.fix.as_deref(), Some("run it as root"));

        let check = judge(&layers[..1], "run it as root");
        assert!(check.works);
        assert_eq!((check.detail.as_str(), check.fix), ("cpu", None));
    }
}
