//! A number in memory that a child shares with its parent.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Zero until the child has set it. Unlike a pipe it wakes nobody, and it is gone from the child with exec.
#[derive(Debug)]
pub(crate) struct SharedNumber(NonNull<AtomicU64>);

impl SharedNumber {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory of ours.
        let place = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(place.cast())
            .map(Self)
            .ok_or_else(|| io::Error::other("there is nothing at zero"))
    }

    pub(crate) fn set(&self, value: u64) {
        self.get_ref().store(value, Ordering::Release);
    }

    pub(crate) fn get(&self) -> u64 {
        self.get_ref().load(Ordering::Acquire)
    }

    fn get_ref(&self) -> &AtomicU64 {
        // SAFETY: the mapping is whole pages of zeros, which is a valid number, and lives as long as this.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for SharedNumber {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<AtomicU64>()) };
    }
}
