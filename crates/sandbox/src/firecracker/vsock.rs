//! The host's side of Firecracker's vsock: a Unix socket on which a port is asked for by name.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::CancelToken;

/// Before the guest's driver is there nobody answers, and a question that a restore cut off is never answered. Firecracker
/// itself gives up after two seconds.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// `OK` and a port number.
const MAX_ANSWER_BYTES: usize = 32;

/// Connects to a port of the guest; `None` while nobody listens there, or if it was canceled.
pub(super) fn connect(
    path: &Path,
    port: u32,
    cancel: &CancelToken,
) -> io::Result<Option<UnixStream>> {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, Interrupted, NotFound};
    let mut socket = match UnixStream::connect(path) {
        Ok(socket) => socket,
        Err(error) if matches!(error.kind(), NotFound | ConnectionRefused) => return Ok(None),
        Err(error) => return Err(error),
    };
    match socket.write_all(format!("CONNECT {port}\n").as_bytes()) {
        Err(error) if error.kind() == BrokenPipe => return Ok(None),
        result => result?,
    }
    // One byte at a time: what follows the line is already the guest's.
    let mut answer = Vec::new();
    while !answer.ends_with(b"\n") && answer.len() < MAX_ANSWER_BYTES {
        if !has_news(&socket, cancel) {
            return Ok(None);
        }
        let mut byte = [0];
        match socket.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => answer.extend(byte),
            Err(error) if error.kind() == Interrupted => {}
            Err(error) if error.kind() == ConnectionReset => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    if answer.starts_with(b"OK ") && answer.ends_with(b"\n") {
        Ok(Some(socket))
    } else {
        Err(io::Error::other("an answer that is not the protocol's"))
    }
}

/// Whether something is to be read before patience ends or it is canceled.
fn has_news(socket: &UnixStream, cancel: &CancelToken) -> bool {
    let mut fds = [
        PollFd::new(socket, PollFlags::IN),
        PollFd::new(cancel, PollFlags::IN),
    ];
    // Interrupted is as good as out of patience: there will be another attempt.
    poll(&mut fds, Some(&PATIENCE)).is_ok() && !fds[0].revents().is_empty()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// Connects to something that answers the handshake like this.
    fn shake(answer: &'static [u8]) -> io::Result<Option<UnixStream>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vsock");
        let listener = UnixListener::bind(&path).unwrap();
        let server = thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&socket).read_line(&mut line).unwrap();
            assert_eq!(line, "CONNECT 1024\n");
            (&socket).write_all(answer).unwrap();
        });
        let result = connect(&path, 1024, &CancelToken::new().unwrap());
        server.join().unwrap();
        result
    }

    #[test]
    fn what_follows_the_answer_is_the_guests() {
        let mut socket = shake(b"OK 1073741824\nhello").unwrap().unwrap();
        let mut rest = String::new();
        socket.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "hello");
    }

    #[test]
    fn a_hang_up_means_that_nobody_listens_yet() {
        assert!(shake(b"").unwrap().is_none());
    }

    #[test]
    fn another_answer_is_an_error() {
        assert!(shake(b"NO\n").is_err());
    }

    #[test]
    fn a_socket_that_is_not_there_yet_is_not_an_error() {
        let cancel = CancelToken::new().unwrap();
        let connected = connect(Path::new("/no/such/socket"), 1, &cancel).unwrap();
        assert!(connected.is_none());
    }

    #[test]
    fn a_cancel_ends_the_wait_for_a_device_that_nobody_serves() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vsock");
        let _unserved = UnixListener::bind(&path).unwrap();
        let cancel = CancelToken::new().unwrap();
        cancel.cancel();
        assert!(connect(&path, 1, &cancel).unwrap().is_none());
    }
}
