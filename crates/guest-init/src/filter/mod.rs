//! Which system calls a command may make.

mod table;

use std::collections::BTreeMap;

use kiln_guest_init::protocol::Stage;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::fault::Fault;

/// The compiled filters, in the order in which they must be installed.
#[derive(Debug)]
pub(crate) struct Filters(Vec<BpfProgram>);

impl Filters {
    /// Compiles the tables.
    ///
    /// What no table names does not exist (`ENOSYS`), so that programs written for newer kernels fall back. Linux takes
    /// the most severe verdict of all filters and, among errors, the one installed last: known but refused calls answer
    /// `EPERM`, and calls that only an attack makes end the process.
    pub(crate) fn compile() -> Result<Self, Fault> {
        Ok(Self(vec![
            program(
                plain(table::ALLOWED),
                errno(libc::ENOSYS),
                SeccompAction::Allow,
            )?,
            program(
                plain(table::REFUSED),
                SeccompAction::Allow,
                errno(libc::EPERM),
            )?,
            program(
                refused_with_conditions()?,
                SeccompAction::Allow,
                errno(libc::EPERM),
            )?,
            program(
                plain(table::FATAL),
                SeccompAction::Allow,
                SeccompAction::KillProcess,
            )?,
        ]))
    }

    /// Puts this process and its future children under the filters. Needs `no_new_privs`.
    pub(crate) fn apply(&self) -> Result<(), Fault> {
        self.0
            .iter()
            .try_for_each(|program| apply_filter(program))
            .map_err(|error| Fault::new(Stage::Seccomp, error.to_string()))
    }
}

fn plain(calls: &[i64]) -> BTreeMap<i64, Vec<SeccompRule>> {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

/// Arguments that are refused for calls that are otherwise allowed.
fn refused_with_conditions() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Fault> {
    let none_of = |values: &[u64]| rule(0, values.iter().map(|&value| (SeccompCmpOp::Ne, value)));
    let terminal_input = table::REFUSED_IOCTLS
        .iter()
        .map(|&request| rule(1, [(SeccompCmpOp::Eq, request)]));
    let namespaces = table::NAMESPACES
        .iter()
        .map(|&flag| rule(0, [(SeccompCmpOp::MaskedEq(flag), flag)]));
    Ok(BTreeMap::from([
        (libc::SYS_ioctl, terminal_input.collect::<Result<_, _>>()?),
        (libc::SYS_clone, namespaces.collect::<Result<_, _>>()?),
        (libc::SYS_socket, vec![none_of(table::SOCKET_FAMILIES)?]),
        (libc::SYS_socketpair, vec![none_of(table::SOCKET_FAMILIES)?]),
        (libc::SYS_personality, vec![none_of(table::PERSONALITIES)?]),
    ]))
}

/// A rule that matches when every comparison of the argument's low 32 bits holds.
fn rule(
    argument: u8,
    comparisons: impl IntoIterator<Item = (SeccompCmpOp, u64)>,
) -> Result<SeccompRule, Fault> {
    comparisons
        .into_iter()
        .map(|(operator, value)| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        })
        .collect::<Result<_, _>>()
        .and_then(SeccompRule::new)
        .map_err(|error| Fault::new(Stage::Seccomp, error.to_string()))
}

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, Fault> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH);
    architecture
        .and_then(|architecture| SeccompFilter::new(rules, otherwise, matched, architecture))
        .and_then(BpfProgram::try_from)
        .map_err(|error| Fault::new(Stage::Seccomp, error.to_string()))
}

fn errno(errno: libc::c_int) -> SeccompAction {
    SeccompAction::Errno(errno.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_compile() {
        assert!(Filters::compile().is_ok());
    }

    #[test]
    fn no_call_is_in_two_tables() {
        let mut all: Vec<i64> = [table::ALLOWED, table::REFUSED, table::FATAL].concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
