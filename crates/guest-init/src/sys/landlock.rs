//! The three Landlock system calls.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::check;

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

/// `struct landlock_ruleset_attr`; older kernels know only its first fields.
#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent: i32,
}

/// A ruleset being built.
#[derive(Debug)]
pub(crate) struct Ruleset(OwnedFd);

impl Ruleset {
    /// The version of Landlock this kernel has.
    pub(crate) fn abi() -> io::Result<u32> {
        // SAFETY: asking for the version takes no attributes.
        let version = check(unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                ptr::null::<RulesetAttr>(),
                0_usize,
                CREATE_RULESET_VERSION,
            )
        })?;
        u32::try_from(version).map_err(io::Error::other)
    }

    pub(crate) fn new(abi: u32, handled_access_fs: u64, scoped: u64) -> io::Result<Self> {
        let attr = RulesetAttr {
            handled_access_fs,
            handled_access_net: 0,
            scoped,
        };
        let known: usize = match abi {
            0..4 => 8,
            4..6 => 16,
            _ => 24,
        };
        // SAFETY: `attr` is live and at least as long as the size we state.
        let fd = check(unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attr,
                known,
                0_u32,
            )
        })?;
        let fd = i32::try_from(fd).map_err(io::Error::other)?;
        // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn allow_beneath(
        &self,
        parent: BorrowedFd<'_>,
        allowed_access: u64,
    ) -> io::Result<()> {
        let attr = PathBeneathAttr {
            allowed_access,
            parent: parent.as_raw_fd(),
        };
        // SAFETY: `attr` is the structure this rule type reads.
        let result = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.0.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const attr,
                0_u32,
            )
        };
        check(result).map(drop)
    }

    /// Applies the rules to this process and its future children. Needs `no_new_privs`.
    pub(crate) fn restrict_self(&self) -> io::Result<()> {
        // SAFETY: two integers, no memory.
        check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0_u32) })
            .map(drop)
    }
}
