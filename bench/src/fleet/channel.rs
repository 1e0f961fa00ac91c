//! A runner's side of its channel, over a bare socket: ten thousand of them are to fit beside the server.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::broken;
use super::words::{self, Heard, POLL_SECONDS, RUNNING};
use super::world::Credentials;
use crate::failure::Failure;

/// A text that is the whole message, masked as a client's must be.
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x8;
const MASKED: u8 = 0x80;
/// The length follows in two bytes, or in eight.
const LONGER: u8 = 0x7e;
const LONGEST: u8 = 0x7f;
/// Masked by zeros, bytes stay as they are.
const MASK: [u8; 4] = [0; 4];
/// A source address has fewer ports than there may be runners.
const RUNNERS_PER_ADDRESS: usize = 4_000;

pub(super) struct Channel {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Channel {
    /// Connects as the runner that stands at `place` among all.
    pub(super) async fn open(
        server: SocketAddr,
        runner: &Credentials,
        place: usize,
    ) -> Result<Self, Failure> {
        let socket = TcpSocket::new_v4().map_err(broken)?;
        let number = u8::try_from(place / RUNNERS_PER_ADDRESS).unwrap_or(u8::MAX);
        socket.set_reuseaddr(true).map_err(broken)?;
        socket
            .bind(SocketAddr::from((Ipv4Addr::new(127, 0, 1, number), 0)))
            .map_err(broken)?;
        let stream = socket.connect(server).await.map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        let mut channel = Self {
            stream,
            read: Vec::new(),
        };
        channel.shake_hands(server, runner).await?;
        Ok(channel)
    }

    pub(super) async fn say(&mut self, message: &str) -> Result<(), Failure> {
        self.stream
            .write_all(&masked(message))
            .await
            .map_err(broken)
    }

    /// The next message. Nothing is lost when nobody waits to the end.
    pub(super) async fn hear(&mut self) -> Result<Heard, Failure> {
        loop {
            if let Some(frame) = Frame::parse(&self.read) {
                let payload = &self.read[frame.start..frame.end];
                let heard = match frame.kind {
                    CLOSE => Err(Failure::Wrong(format!(
                        "the server closed a channel: {}",
                        String::from_utf8_lossy(payload.get(2..).unwrap_or_default())
                    ))),
                    _ => Heard::read(payload),
                };
                self.read.drain(..frame.end);
                return heard;
            }
            self.more().await?;
        }
    }

    /// Waits for a job that was asked for, and asks again whenever there is none.
    pub(super) async fn job(&mut self) -> Result<String, Failure> {
        loop {
            match self.hear().await? {
                Heard::Job(job) => return Ok(job),
                Heard::NoJob => self.say(&words::ready(POLL_SECONDS)).await?,
                other @ (Heard::Ack | Heard::Cancel) => return Err(unexpected(&other)),
            }
        }
    }

    /// Says something that is acknowledged.
    pub(super) async fn tell(&mut self, message: &str) -> Result<(), Failure> {
        self.say(message).await?;
        match self.hear().await? {
            Heard::Ack => Ok(()),
            other @ (Heard::Job(_) | Heard::NoJob | Heard::Cancel) => Err(unexpected(&other)),
        }
    }

    /// Begins a job and ends it.
    pub(super) async fn carry_out(&mut self, job: &str) -> Result<(), Failure> {
        self.tell(RUNNING).await?;
        self.tell(&words::completed(job)).await
    }

    async fn shake_hands(
        &mut self,
        server: SocketAddr,
        runner: &Credentials,
    ) -> Result<(), Failure> {
        let request = format!(
            "GET /v0/runners/{}/channel HTTP/1.1\r\nHost: {server}\r\nAuthorization: Bearer {}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: a2lsbi1iZW5jaC1mbGVldA==\r\n\r\n",
            runner.uuid, runner.key
        );
        self.stream
            .write_all(request.as_bytes())
            .await
            .map_err(broken)?;
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        if !self.read.starts_with(b"HTTP/1.1 101") {
            let text = String::from_utf8_lossy(&self.read);
            return Err(Failure::Wrong(text.chars().take(200).collect()));
        }
        self.read.drain(..end);
        Ok(())
    }

    async fn more(&mut self) -> Result<(), Failure> {
        match self.stream.read_buf(&mut self.read).await.map_err(broken)? {
            0 => Err(Failure::Wrong("the server hung up".to_owned())),
            _ => Ok(()),
        }
    }
}

fn unexpected(heard: &Heard) -> Failure {
    Failure::Wrong(format!("a runner heard {heard:?} when it should not"))
}

fn masked(message: &str) -> Vec<u8> {
    let mut frame = vec![TEXT];
    match u8::try_from(message.len()) {
        Ok(short) if short < LONGER => frame.push(MASKED | short),
        _ => {
            let length = u16::try_from(message.len()).expect("runners of ours say little");
            frame.push(MASKED | LONGER);
            frame.extend(length.to_be_bytes());
        }
    }
    frame.extend(MASK);
    frame.extend(message.as_bytes());
    frame
}

/// Where the payload of a whole frame of the server's lies.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    kind: u8,
    start: usize,
    end: usize,
}

impl Frame {
    /// Nothing as long as it is not all there.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, length) = (bytes.first()? & 0xf, *bytes.get(1)?);
        let (start, length) = match length {
            LONGER => (4, be(bytes.get(2..4)?)),
            LONGEST => (10, be(bytes.get(2..10)?)),
            short => (2, usize::from(short)),
        };
        let end = start + length;
        (bytes.len() >= end).then_some(Self { kind, start, end })
    }
}

fn be(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_frames_are_found_when_they_are_whole() {
        let short = Frame {
            kind: 1,
            start: 2,
            end: 4,
        };
        assert_eq!(Frame::parse(b"\x81\x02{}\x81"), Some(short));
        assert_eq!(Frame::parse(b"\x81\x02{"), None);
        let mut bytes = vec![TEXT, LONGER, 1, 0];
        assert_eq!(Frame::parse(&bytes), None);
        bytes.resize(4 + 256, b' ');
        let long = Frame {
            kind: 1,
            start: 4,
            end: 260,
        };
        assert_eq!(Frame::parse(&bytes), Some(long));
    }

    #[test]
    fn what_is_said_is_masked_by_nothing() {
        assert_eq!(masked("{}"), b"\x81\x82\0\0\0\0{}");
        assert_eq!(
            masked(&" ".repeat(300))[..4],
            [TEXT, MASKED | LONGER, 1, 44]
        );
    }
}
