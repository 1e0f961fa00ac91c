//! The host's side of Firecracker's vsock: a Unix socket on which a port is asked for by name.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Firecracker answers at once, or hangs up because nobody listens in the guest yet.
const PATIENCE: Duration = Duration::from_secs(5);

/// `OK` and a port number.
const MAX_ANSWER_BYTES: u64 = 32;

/// Connects to a port of the guest; `None` while nobody listens there.
pub(super) fn connect(path: &Path, port: u32) -> io::Result<Option<UnixStream>> {
    let mut socket = match UnixStream::connect(path) {
        Ok(socket) => socket,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    socket.set_read_timeout(Some(PATIENCE))?;
    match socket.write_all(format!("CONNECT {port}\n").as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(None),
        result => result?,
    }
    let mut answer = String::new();
    // One byte at a time: what follows the line is already the guest's.
    let read = BufReader::with_capacity(1, (&socket).take(MAX_ANSWER_BYTES)).read_line(&mut answer);
    match read {
        Ok(_) if answer.starts_with("OK ") && answer.ends_with('\n') => {
            socket.set_read_timeout(None)?;
            Ok(Some(socket))
        }
        Ok(0) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
        Ok(_) => Err(io::Error::other("an answer that is not the protocol's")),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
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
        let result = connect(&path, 1024);
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
        assert!(connect(Path::new("/no/such/socket"), 1).unwrap().is_none());
    }
}
