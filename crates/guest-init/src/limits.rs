//! Resource limits of the command, clamped to what this host lets us set.

use kiln_guest_init::protocol::{Layer, ResourceLimit, Stage, UNLIMITED};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::fault::{At, Fault};

/// The limits by their Linux numbers. A number outside this list is refused.
const RESOURCES: [(u32, Resource, &str); 16] = [
    (0, Resource::Cpu, "cpu"),
    (1, Resource::Fsize, "fsize"),
    (2, Resource::Data, "data"),
    (3, Resource::Stack, "stack"),
    (4, Resource::Core, "core"),
    (5, Resource::Rss, "rss"),
    (6, Resource::Nproc, "nproc"),
    (7, Resource::Nofile, "nofile"),
    (8, Resource::Memlock, "memlock"),
    (9, Resource::As, "as"),
    (10, Resource::Locks, "locks"),
    (11, Resource::Sigpending, "sigpending"),
    (12, Resource::Msgqueue, "msgqueue"),
    (13, Resource::Nice, "nice"),
    (14, Resource::Rtprio, "rtprio"),
    (15, Resource::Rttime, "rttime"),
];

/// One limit as it will be set.
#[derive(Debug)]
pub(crate) struct Planned {
    resource: Resource,
    soft: u64,
    hard: u64,
    pub(crate) layer: Layer,
}

/// Clamps each limit to the hard limit in force: without `CAP_SYS_RESOURCE` on the host it can only be lowered.
pub(crate) fn plan(limits: &[ResourceLimit]) -> Result<Vec<Planned>, Fault> {
    limits
        .iter()
        .map(|limit| {
            let Some((_, resource, name)) = RESOURCES
                .into_iter()
                .find(|(number, ..)| *number == limit.resource)
            else {
                return Err(Fault::new(
                    Stage::Limits,
                    format!("there is no resource limit {}", limit.resource),
                ));
            };
            let most = getrlimit(resource).maximum.unwrap_or(UNLIMITED);
            let (soft, hard) = (limit.soft.min(most), limit.hard.min(most));
            let layer_name = format!("rlimit-{name}");
            let layer = if hard < limit.hard {
                let asked = shown(limit.soft, limit.hard);
                let given = shown(soft, hard);
                Layer::missing(
                    &layer_name,
                    format!("clamped from {asked} to {given}, the hard limit"),
                )
            } else {
                Layer::applied(&layer_name, shown(soft, hard))
            };
            Ok(Planned {
                resource,
                soft,
                hard,
                layer,
            })
        })
        .collect()
}

/// One number if both are the same.
fn shown(soft: u64, hard: u64) -> String {
    let one = |value| match value {
        UNLIMITED => "unlimited".to_owned(),
        value => value.to_string(),
    };
    if soft == hard {
        one(hard)
    } else {
        format!("{}:{}", one(soft), one(hard))
    }
}

/// Sets the limits of this process.
pub(crate) fn apply(limits: &[Planned]) -> Result<(), Fault> {
    for limit in limits {
        let limited = |value| (value != UNLIMITED).then_some(value);
        let both = Rlimit {
            current: limited(limit.soft),
            maximum: limited(limit.hard),
        };
        setrlimit(limit.resource, both)
            .at(Stage::Limits, || format!("cannot set {}", limit.layer.name))?;
    }
    Ok(())
}
