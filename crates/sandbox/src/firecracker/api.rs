//! Firecracker's API: HTTP requests with JSON bodies over a Unix socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::Error;

/// Firecracker answers within milliseconds; a start takes longer and still far less than this. Only the time of a
/// snapshot depends on the host's disk.
const PATIENCE: Duration = Duration::from_secs(30);

/// No answer comes near either.
const MAX_HEAD_BYTES: u64 = 16 << 10;
const MAX_BODY_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Api {
    stream: BufReader<UnixStream>,
}

impl Api {
    pub(super) fn connect(path: &Path) -> std::io::Result<Self> {
        let socket = UnixStream::connect(path)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream: BufReader::new(socket),
        })
    }

    pub(super) fn get(&mut self, path: &str) -> Result<Value, Error> {
        self.request(PATIENCE, "GET", path, None)
    }

    pub(super) fn put(&mut self, path: &str, body: &Value) -> Result<(), Error> {
        self.put_within(PATIENCE, path, body)
    }

    /// The same, for what may take long.
    pub(super) fn put_within(
        &mut self,
        patience: Duration,
        path: &str,
        body: &Value,
    ) -> Result<(), Error> {
        self.request(patience, "PUT", path, Some(body)).map(drop)
    }

    pub(super) fn patch(&mut self, path: &str, body: &Value) -> Result<(), Error> {
        self.request(PATIENCE, "PATCH", path, Some(body)).map(drop)
    }

    fn request(
        &mut self,
        patience: Duration,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let describe = if body.is_empty() {
            String::new()
        } else {
            let length = body.len();
            format!("Content-Type: application/json\r\nContent-Length: {length}\r\n")
        };
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n{describe}\r\n{body}"
        );
        let socket = self.stream.get_mut();
        socket
            .set_read_timeout(Some(patience))
            .and_then(|()| socket.write_all(text.as_bytes()))
            .map_err(|error| Error::host("cannot write to Firecracker", error))?;
        let (status, answer) = self.answer()?;
        match status {
            200 | 204 => Ok(answer),
            _ => {
                let fault = answer
                    .get("fault_message")
                    .and_then(Value::as_str)
                    .unwrap_or("it gives no reason");
                Err(broken(&format!("{method} {path} is refused: {fault}")))
            }
        }
    }

    fn answer(&mut self) -> Result<(u16, Value), Error> {
        let mut status = None;
        let mut length = 0;
        let mut head = (&mut self.stream).take(MAX_HEAD_BYTES);
        loop {
            let mut line = String::new();
            let read = head
                .read_line(&mut line)
                .map_err(|error| Error::host("cannot read from Firecracker", error))?;
            if read == 0 {
                return Err(broken("it hung up in the middle of an answer"));
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            match (status, line.split_once(':')) {
                (None, _) => {
                    status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
                    if status.is_none() {
                        return Err(broken("it does not speak HTTP"));
                    }
                }
                (Some(_), Some((name, value))) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().unwrap_or(usize::MAX);
                }
                (Some(_), _) => {}
            }
        }
        if length > MAX_BODY_BYTES {
            return Err(broken("its answer is too long"));
        }
        let mut body = vec![0; length];
        self.stream
            .read_exact(&mut body)
            .map_err(|error| Error::host("cannot read from Firecracker", error))?;
        let value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Ok((status.unwrap_or(0), value))
    }
}

pub(super) fn broken(what: &str) -> Error {
    Error::Machine {
        reason: format!("Firecracker: {what}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use serde_json::json;

    use super::*;

    /// Answers one request with these bytes, and returns the request.
    fn ask(answer: &'static str, act: impl FnOnce(&mut Api)) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("api");
        let listener = UnixListener::bind(&path).unwrap();
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = vec![0; 4096];
            let read = socket.read(&mut request).unwrap();
            socket.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        act(&mut Api::connect(&path).unwrap());
        server.join().unwrap()
    }

    #[test]
    fn a_request_is_one_as_http_has_it() {
        let request = ask("HTTP/1.1 204 \r\nServer: x\r\n\r\n", |api| {
            api.put("/entropy", &json!({})).unwrap();
        });
        assert!(
            request.starts_with("PUT /entropy HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.ends_with("Content-Length: 2\r\n\r\n{}"),
            "{request}"
        );
    }

    #[test]
    fn a_refusal_tells_its_reason() {
        let answer = "HTTP/1.1 400 \r\nContent-Length: 23\r\n\r\n{\"fault_message\":\"why\"}";
        ask(answer, |api| {
            let error = api.put("/vsock", &json!({})).unwrap_err();
            assert!(error.to_string().contains("why"), "{error}");
        });
    }

    #[test]
    fn an_answer_comes_back() {
        let answer = "HTTP/1.1 200 \r\nContent-length: 9\r\n\r\n{\"id\":\"a\"}";
        ask(&answer[..answer.len() - 1], |api| {
            // One byte short of JSON is still all the bytes that were announced.
            assert_eq!(api.get("/").unwrap(), Value::Null);
        });
    }
}
