#![doc = include_str!("../README.md")]

use std::ffi::{c_int, c_long};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

const VARIABLE: &str = "KILN_BENCH_SLOW_FSYNC_MS";

// SAFETY: the name, the arguments and the meaning are those of the C library's function.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(file: c_int) -> c_int {
    late(libc::SYS_fsync, file)
}

// SAFETY: the name, the arguments and the meaning are those of the C library's function.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(file: c_int) -> c_int {
    late(libc::SYS_fdatasync, file)
}

fn late(call: c_long, file: c_int) -> c_int {
    #[expect(clippy::disallowed_methods, reason = "the wait is the purpose")]
    thread::sleep(delay());
    // SAFETY: both calls take a file descriptor, whatever its value, and touch no memory.
    let answer = unsafe { libc::syscall(call, file) };
    c_int::try_from(answer).unwrap_or(-1)
}

fn delay() -> Duration {
    static DELAY: OnceLock<Duration> = OnceLock::new();
    *DELAY.get_or_init(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        let millis = text.parse().unwrap_or(0.0);
        Duration::try_from_secs_f64(millis / 1e3).unwrap_or_default()
    })
}
