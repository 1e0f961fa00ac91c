//! Resource limits of the command, clamped to what this host lets us set.

use kiln_guest_init::protocol::{Layer, ResourceLimit, Stage};
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
    value: u64,
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
            let value = getrlimit(resource)
                .maximum
                .map_or(limit.value, |hard| hard.min(limit.value));
            let layer_name = format!("rlimit-{name}");
            let layer = if value < limit.value {
                Layer::missing(
                    &layer_name,
                    format!("clamped from {} to {value}, the hard limit", limit.value),
                )
            } else {
                Layer::applied(&layer_name, value.to_string())
            };
            Ok(Planned {
                resource,
                value,
                layer,
            })
        })
        .collect()
}

/// Sets the limits of this process.
pub(crate) fn apply(limits: &[Planned]) -> Result<(), Fault> {
    for limit in limits {
        let both = Rlimit {
            current: Some(limit.value),
            maximum: Some(limit.value),
        };
        setrlimit(limit.resource, both)
            .at(Stage::Limits, || format!("cannot set {}", limit.layer.name))?;
    }
    Ok(())
}
