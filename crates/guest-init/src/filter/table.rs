//! The tables of system calls.
//!
//! The principle: a call is allowed when an ordinary program uses it on its own files, memory, processes, sockets and
//! clocks. Refused is what reaches another process's insides, the host's configuration, mounts, namespaces, keys or
//! tracing, even where the missing capabilities would refuse it too: the kernel's code behind these calls is then out of
//! reach. Absent from all tables, and thus unknown to the command, are calls whose arguments a filter cannot see
//! (`clone3`, `io_uring`), calls that no current program makes, and calls newer than this table.

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the system call tables are written for x86_64 and aarch64");

/// The same number everywhere; the C library's table for aarch64 lacks it.
const FCHMODAT2: i64 = 452;

/// Allowed, some of them not with every argument: see the lists below.
#[rustfmt::skip]
pub(super) const ALLOWED: &[i64] = &[
    libc::SYS_accept, libc::SYS_accept4, libc::SYS_bind, libc::SYS_brk, libc::SYS_capget,
    libc::SYS_capset, libc::SYS_chdir, libc::SYS_clock_getres, libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep, libc::SYS_clone, libc::SYS_close, libc::SYS_close_range,
    libc::SYS_connect, libc::SYS_copy_file_range, libc::SYS_dup, libc::SYS_dup3,
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2, libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group,
    libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_fadvise64, libc::SYS_fallocate,
    libc::SYS_fchdir, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_fcntl, libc::SYS_fdatasync, libc::SYS_fgetxattr, libc::SYS_flistxattr,
    libc::SYS_flock, libc::SYS_fremovexattr, libc::SYS_fsetxattr, libc::SYS_fstat,
    libc::SYS_fstatfs, libc::SYS_fsync, libc::SYS_ftruncate, libc::SYS_futex, libc::SYS_futex_waitv,
    libc::SYS_get_robust_list, libc::SYS_getcpu, libc::SYS_getcwd, libc::SYS_getdents64,
    libc::SYS_getegid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getgroups,
    libc::SYS_getitimer, libc::SYS_getpeername, libc::SYS_getpgid, libc::SYS_getpid,
    libc::SYS_getppid, libc::SYS_getpriority, libc::SYS_getrandom, libc::SYS_getresgid,
    libc::SYS_getresuid, libc::SYS_getrlimit, libc::SYS_getrusage, libc::SYS_getsid,
    libc::SYS_getsockname, libc::SYS_getsockopt, libc::SYS_gettid, libc::SYS_gettimeofday,
    libc::SYS_getuid, libc::SYS_getxattr, libc::SYS_inotify_add_watch, libc::SYS_inotify_init1,
    libc::SYS_inotify_rm_watch, libc::SYS_io_cancel, libc::SYS_io_destroy, libc::SYS_io_getevents,
    libc::SYS_io_setup, libc::SYS_io_submit, libc::SYS_ioctl, libc::SYS_ioprio_get,
    libc::SYS_ioprio_set, libc::SYS_kill, libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset, libc::SYS_landlock_restrict_self, libc::SYS_lgetxattr,
    libc::SYS_linkat, libc::SYS_listen, libc::SYS_listxattr, libc::SYS_llistxattr,
    libc::SYS_lremovexattr, libc::SYS_lseek, libc::SYS_lsetxattr, libc::SYS_madvise,
    libc::SYS_membarrier, libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_mincore,
    libc::SYS_mkdirat, libc::SYS_mknodat, libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_mlockall,
    libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_mq_getsetattr, libc::SYS_mq_notify,
    libc::SYS_mq_open, libc::SYS_mq_timedreceive, libc::SYS_mq_timedsend, libc::SYS_mq_unlink,
    libc::SYS_mremap, libc::SYS_mseal, libc::SYS_msgctl, libc::SYS_msgget, libc::SYS_msgrcv,
    libc::SYS_msgsnd, libc::SYS_msync, libc::SYS_munlock, libc::SYS_munlockall, libc::SYS_munmap,
    libc::SYS_nanosleep, libc::SYS_newfstatat, libc::SYS_openat, libc::SYS_openat2,
    libc::SYS_personality, libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal, libc::SYS_pipe2,
    libc::SYS_pkey_alloc, libc::SYS_pkey_free, libc::SYS_pkey_mprotect, libc::SYS_ppoll,
    libc::SYS_prctl, libc::SYS_pread64, libc::SYS_preadv, libc::SYS_preadv2, libc::SYS_prlimit64,
    libc::SYS_pselect6, libc::SYS_pwrite64, libc::SYS_pwritev, libc::SYS_pwritev2, libc::SYS_read,
    libc::SYS_readahead, libc::SYS_readlinkat, libc::SYS_readv, libc::SYS_recvfrom,
    libc::SYS_recvmmsg, libc::SYS_recvmsg, libc::SYS_removexattr, libc::SYS_renameat,
    libc::SYS_renameat2, libc::SYS_restart_syscall, libc::SYS_rseq, libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_sigreturn, libc::SYS_rt_sigsuspend, libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity, libc::SYS_sched_getattr, libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler, libc::SYS_sched_rr_get_interval, libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr, libc::SYS_sched_setparam, libc::SYS_sched_setscheduler,
    libc::SYS_sched_yield, libc::SYS_seccomp, libc::SYS_semctl, libc::SYS_semget, libc::SYS_semop,
    libc::SYS_semtimedop, libc::SYS_sendfile, libc::SYS_sendmmsg, libc::SYS_sendmsg,
    libc::SYS_sendto, libc::SYS_set_robust_list, libc::SYS_set_tid_address, libc::SYS_setfsgid,
    libc::SYS_setfsuid, libc::SYS_setgid, libc::SYS_setgroups, libc::SYS_setitimer,
    libc::SYS_setpgid, libc::SYS_setpriority, libc::SYS_setregid, libc::SYS_setresgid,
    libc::SYS_setresuid, libc::SYS_setreuid, libc::SYS_setrlimit, libc::SYS_setsid,
    libc::SYS_setsockopt, libc::SYS_setuid, libc::SYS_setxattr, libc::SYS_shmat, libc::SYS_shmctl,
    libc::SYS_shmdt, libc::SYS_shmget, libc::SYS_shutdown, libc::SYS_sigaltstack,
    libc::SYS_signalfd4, libc::SYS_socket, libc::SYS_socketpair, libc::SYS_splice, libc::SYS_statfs,
    libc::SYS_statx, libc::SYS_symlinkat, libc::SYS_sync, libc::SYS_sync_file_range,
    libc::SYS_syncfs, libc::SYS_sysinfo, libc::SYS_tee, libc::SYS_tgkill, libc::SYS_timer_create,
    libc::SYS_timer_delete, libc::SYS_timer_getoverrun, libc::SYS_timer_gettime,
    libc::SYS_timer_settime, libc::SYS_timerfd_create, libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime, libc::SYS_times, libc::SYS_tkill, libc::SYS_truncate,
    libc::SYS_umask, libc::SYS_uname, libc::SYS_unlinkat, libc::SYS_utimensat, libc::SYS_vmsplice,
    libc::SYS_wait4, libc::SYS_waitid, libc::SYS_write, libc::SYS_writev, FCHMODAT2,
    #[cfg(target_arch = "x86_64")] libc::SYS_access,
    #[cfg(target_arch = "x86_64")] libc::SYS_alarm,
    #[cfg(target_arch = "x86_64")] libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")] libc::SYS_chown,
    #[cfg(target_arch = "x86_64")] libc::SYS_creat,
    #[cfg(target_arch = "x86_64")] libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_create,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] libc::SYS_eventfd,
    #[cfg(target_arch = "x86_64")] libc::SYS_fork,
    #[cfg(target_arch = "x86_64")] libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")] libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")] libc::SYS_getpgrp,
    #[cfg(target_arch = "x86_64")] libc::SYS_inotify_init,
    #[cfg(target_arch = "x86_64")] libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")] libc::SYS_link,
    #[cfg(target_arch = "x86_64")] libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")] libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")] libc::SYS_open,
    #[cfg(target_arch = "x86_64")] libc::SYS_pause,
    #[cfg(target_arch = "x86_64")] libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_rename,
    #[cfg(target_arch = "x86_64")] libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_select,
    #[cfg(target_arch = "x86_64")] libc::SYS_signalfd,
    #[cfg(target_arch = "x86_64")] libc::SYS_stat,
    #[cfg(target_arch = "x86_64")] libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_time,
    #[cfg(target_arch = "x86_64")] libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_utime,
    #[cfg(target_arch = "x86_64")] libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")] libc::SYS_vfork,
];

/// Refused with `EPERM`.
#[rustfmt::skip]
pub(super) const REFUSED: &[i64] = &[
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp,
    libc::SYS_pidfd_getfd, libc::SYS_process_madvise, libc::SYS_process_mrelease, libc::SYS_mount,
    libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_open_tree,
    libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick,
    libc::SYS_mount_setattr, libc::SYS_unshare, libc::SYS_setns, libc::SYS_bpf,
    libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl,
    libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at, libc::SYS_quotactl,
    libc::SYS_quotactl_fd, libc::SYS_acct, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_reboot,
    libc::SYS_syslog, libc::SYS_vhangup, libc::SYS_settimeofday, libc::SYS_clock_settime,
    libc::SYS_clock_adjtime, libc::SYS_adjtimex, libc::SYS_sethostname, libc::SYS_setdomainname,
    libc::SYS_mbind, libc::SYS_set_mempolicy, libc::SYS_set_mempolicy_home_node,
    libc::SYS_migrate_pages, libc::SYS_move_pages, libc::SYS_get_mempolicy,
    libc::SYS_lookup_dcookie, libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")] libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")] libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")] libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")] libc::SYS_sysfs,
    #[cfg(target_arch = "x86_64")] libc::SYS__sysctl,
];

/// No program that is not an attack makes these: they end it.
#[rustfmt::skip]
pub(super) const FATAL: &[i64] = &[
    libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_init_module, libc::SYS_finit_module,
    libc::SYS_delete_module,
    #[cfg(target_arch = "x86_64")] libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")] libc::SYS_ioperm,
];

/// Unix, IPv4, IPv6 and netlink: the families a program needs to find out that there is no network. Others (packet,
/// vsock, the kernel's crypto) have a long history of holes.
pub(super) const SOCKET_FAMILIES: &[u64] = &[
    libc::AF_UNIX.unsigned_abs() as u64,
    libc::AF_INET.unsigned_abs() as u64,
    libc::AF_INET6.unsigned_abs() as u64,
    libc::AF_NETLINK.unsigned_abs() as u64,
];

/// Plain Linux, 32-bit addresses, no address randomization, and the question which one is set.
pub(super) const PERSONALITIES: &[u64] = &[0x0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];

/// The flags of `clone` that make namespaces.
pub(super) const NAMESPACES: &[u64] = &[
    libc::CLONE_NEWUSER.unsigned_abs() as u64,
    libc::CLONE_NEWNS.unsigned_abs() as u64,
    libc::CLONE_NEWPID.unsigned_abs() as u64,
    libc::CLONE_NEWNET.unsigned_abs() as u64,
    libc::CLONE_NEWIPC.unsigned_abs() as u64,
    libc::CLONE_NEWUTS.unsigned_abs() as u64,
    libc::CLONE_NEWCGROUP.unsigned_abs() as u64,
];

/// Putting words into a terminal's input.
pub(super) const REFUSED_IOCTLS: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX];
