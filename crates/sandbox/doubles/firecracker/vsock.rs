//! The host's side of the vsock device.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use kiln_guest_init::protocol::machine::VSOCK_PORT;

use super::guest;
use super::machine::Parts;
use super::trouble::Trouble;

/// Whether the guest's processors stand still.
static PAUSED: AtomicBool = AtomicBool::new(true);

/// How often the guest is not listening yet: the first who ask find nobody.
static BOOTING: AtomicU32 = AtomicU32::new(2);

/// Whether the guest has yet to hear that its connections are gone: one that it takes before that goes with them.
static IS_RESET: AtomicBool = AtomicBool::new(false);

/// Host ports are given out from here on.
const FIRST_HOST_PORT: u32 = 1 << 30;

pub(super) fn pause() {
    PAUSED.store(true, Ordering::SeqCst);
}

pub(super) fn resume() {
    PAUSED.store(false, Ordering::SeqCst);
}

/// Lets the next connection be lost, as may happen after a restore.
pub(super) fn reset() {
    IS_RESET.store(true, Ordering::SeqCst);
}

/// Takes connections until the process ends.
pub(super) fn serve(listener: UnixListener, parts: Parts) {
    thread::spawn(move || {
        let _unanswered = if Trouble::of_this_program() == Trouble::Silence {
            listener.accept().ok()
        } else {
            None
        };
        for connection in listener.incoming().flatten() {
            let parts = parts.clone();
            thread::spawn(move || {
                if let Ok(Some(connection)) = accept(connection) {
                    guest::live(&connection, &parts);
                }
            });
        }
    });
}

/// `None` where nobody listens: the connection is closed without a word.
fn accept(mut connection: UnixStream) -> io::Result<Option<UnixStream>> {
    let mut line = String::new();
    // One byte at a time: what follows the line is already for the guest.
    BufReader::with_capacity(1, (&connection).take(32)).read_line(&mut line)?;
    let port = line
        .strip_prefix("CONNECT ")
        .and_then(|rest| rest.strip_suffix('\n'))
        .and_then(|port| port.parse::<u32>().ok());
    let is_up = BOOTING
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        })
        .is_err();
    if port != Some(VSOCK_PORT) || !is_up || PAUSED.load(Ordering::SeqCst) {
        return Ok(None);
    }
    writeln!(connection, "OK {FIRST_HOST_PORT}")?;
    if !IS_RESET.swap(false, Ordering::SeqCst) {
        return Ok(Some(connection));
    }
    if Trouble::of_this_program() == Trouble::Silence {
        // As it is with real ones: the guest knows that this one is gone, and tells nobody.
        std::mem::forget(connection);
    }
    Ok(None)
}
