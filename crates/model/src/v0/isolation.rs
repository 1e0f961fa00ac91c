//! How far a job is kept from its host.

use std::str::FromStr;

use super::named::stands_as_its_name;

/// What stands between a job and its host, weakest first: who asks for one of these accepts the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// The host's kernel, in namespaces of the job's own.
    Namespace,
    /// A kernel of the job's own, in a machine, whoever makes that. One that QEMU emulates (TCG) counts too: the level says
    /// what stands between, not what timings are worth. But QEMU's makers promise no walls there, only with hardware
    /// virtualization; who needs that promise asks for [`Isolation::Firecracker`].
    Microvm,
    /// A machine by hardware virtualization, whose monitor is itself in a jail. Firecracker without its jailer is
    /// [`Isolation::Microvm`], and so is QEMU, emulated or not.
    Firecracker,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no isolation {name:?}: it is namespace, microvm or firecracker")]
pub struct UnknownIsolation {
    pub name: String,
}

impl UnknownIsolation {
    /// Cut short: it may come from anybody.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.chars().take(64).collect(),
        }
    }
}

/// What a stock spec's `sandbox` says for any machine.
pub(super) const SANDBOX: &str = "firecracker";

impl Isolation {
    pub const ALL: [Self; 3] = [Self::Namespace, Self::Microvm, Self::Firecracker];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Microvm => "microvm",
            Self::Firecracker => "firecracker",
        }
    }

    /// The closest that a spec's `sandbox` can say, for runners that know only that.
    pub const fn sandbox(self) -> Option<&'static str> {
        match self {
            Self::Namespace => None,
            Self::Microvm | Self::Firecracker => Some(SANDBOX),
        }
    }
}

impl FromStr for Isolation {
    type Err = UnknownIsolation;

    fn from_str(name: &str) -> Result<Self, UnknownIsolation> {
        let found = Self::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| UnknownIsolation::new(name))
    }
}

stands_as_its_name!(Isolation);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_crosses_the_wire_under_its_name() {
        for level in Isolation::ALL {
            let wire = serde_json::to_string(&level).unwrap();
            assert_eq!(wire, format!("{:?}", level.name()));
            assert_eq!(serde_json::from_str::<Isolation>(&wire).unwrap(), level);
        }
    }

    #[test]
    fn an_unknown_level_is_refused_with_the_ones_there_are() {
        let error = serde_json::from_str::<Isolation>(r#""glass""#).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(r#""glass""#), "{told}");
        for level in Isolation::ALL {
            assert!(told.contains(level.name()), "{told}");
        }
    }

    #[test]
    fn a_later_level_is_the_stronger_one_and_any_is_more_than_none() {
        assert!(Isolation::ALL.is_sorted_by(|weaker, stronger| weaker < stronger));
        assert!(None < Some(Isolation::Namespace));
    }
}
