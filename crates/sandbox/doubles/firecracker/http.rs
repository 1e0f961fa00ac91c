//! Requests over a connection to the API socket.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::machine::Machine;
use super::requests;

/// Why a request is refused.
pub(super) type Fault = String;

/// Answers one request after another until the peer hangs up.
pub(super) fn converse(connection: UnixStream, machine: &Mutex<Machine>) {
    let mut connection = BufReader::new(connection);
    while let Ok(Some(request)) = read(&mut connection) {
        let mut machine = machine.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = request.and_then(|request| requests::answer(&mut machine, &request));
        drop(machine);
        if write(connection.get_mut(), &answer).is_err() {
            return;
        }
    }
}

pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

fn read(connection: &mut BufReader<UnixStream>) -> io::Result<Option<Result<Request, Fault>>> {
    let mut line = String::new();
    if connection.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.trim_end().split(' ');
    let (method, path, version) = (words.next(), words.next(), words.next());
    let mut length = 0;
    let mut is_json = false;
    loop {
        let mut header = String::new();
        connection.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(io::Error::other)?,
            "content-type" => is_json = value == "application/json",
            _ => {}
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    let (Some(method), Some(path), Some("HTTP/1.1")) = (method, path, version) else {
        return Ok(Some(Err("Invalid request line.".to_owned())));
    };
    if length > 0 && !is_json {
        return Ok(Some(Err("Unsupported media type.".to_owned())));
    }
    let body = match length {
        0 => Ok(None),
        _ => serde_json::from_slice(&body).map(Some),
    };
    Ok(Some(
        body.map(|body| Request {
            method: method.to_owned(),
            path: path.to_owned(),
            body,
        })
        .map_err(|error| error.to_string()),
    ))
}

fn write(connection: &mut UnixStream, answer: &Result<Option<Value>, Fault>) -> io::Result<()> {
    let (status, body) = match answer {
        Ok(None) => ("204 No Content", String::new()),
        Ok(Some(body)) => ("200 OK", body.to_string()),
        Err(fault) => (
            "400 Bad Request",
            json!({ "fault_message": fault }).to_string(),
        ),
    };
    write!(
        connection,
        "HTTP/1.1 {status}\r\nServer: Firecracker API\r\nConnection: keep-alive\r\n"
    )?;
    if !body.is_empty() {
        let length = body.len();
        write!(
            connection,
            "Content-Type: application/json\r\nContent-Length: {length}\r\n"
        )?;
    }
    write!(connection, "\r\n{body}")
}
