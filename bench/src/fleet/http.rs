//! The smallest HTTP client that keeps its connection: it shares the cores with what it measures.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::broken;
use crate::failure::Failure;

/// A connection that asks one thing after another, with one key.
pub(super) struct Http {
    stream: TcpStream,
    address: SocketAddr,
    key: String,
    read: Vec<u8>,
}

impl Http {
    pub(super) async fn connect(address: SocketAddr, key: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await.map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        Ok(Self {
            stream,
            address,
            key: key.to_owned(),
            read: Vec::new(),
        })
    }

    /// Asks, and waits for the answer, which must be a good one: what its `X-Total-Count` says.
    pub(super) async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<Option<u64>, Failure> {
        self.ask(method, path, body).await?;
        self.answer().await
    }

    /// Asks, and does not wait. The answer is to be taken before the next question.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<(), Failure> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.key,
            body.len()
        );
        self.stream
            .write_all(request.as_bytes())
            .await
            .map_err(broken)
    }

    pub(super) async fn answer(&mut self) -> Result<Option<u64>, Failure> {
        loop {
            if let Some(head) = Head::parse(&self.read)
                && self.read.len() >= head.end + head.length
            {
                let rest = self.read.split_off(head.end + head.length);
                let whole = std::mem::replace(&mut self.read, rest);
                if !(200..300).contains(&head.status) {
                    let text = String::from_utf8_lossy(&whole);
                    return Err(Failure::Wrong(text.chars().take(600).collect()));
                }
                return Ok(head.total);
            }
            if self.stream.read_buf(&mut self.read).await.map_err(broken)? == 0 {
                return Err(Failure::Wrong("the server hung up".to_owned()));
            }
        }
    }
}

/// What stands before a body.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// Where the body begins, and how long it is.
    end: usize,
    length: usize,
    total: Option<u64>,
}

impl Head {
    /// Nothing as long as it is not all there.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let field = |name: &str| {
            text.lines().skip(1).find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim())
            })
        };
        Some(Self {
            status: text.split(' ').nth(1)?.parse().ok()?,
            end,
            length: field("content-length").map_or(Some(0), |value| value.parse().ok())?,
            total: field("x-total-count").and_then(|value| value.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_where_its_body_is_and_how_many_there_are() {
        let bytes =
            b"HTTP/1.1 201 Created\r\nX-Total-Count: 7\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1";
        let expected = Head {
            status: 201,
            end: 61,
            length: 2,
            total: Some(7),
        };
        assert_eq!(Head::parse(bytes), Some(expected));
    }

    #[test]
    fn half_a_head_is_none() {
        assert_eq!(Head::parse(b"HTTP/1.1 201 Created\r\nX-Total"), None);
    }
}
