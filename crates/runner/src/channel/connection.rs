//! One connection: a task that dials and then carries messages both ways.

use std::error::Error as _;
use std::fmt::Write as _;

use futures_util::{SinkExt as _, StreamExt as _};
use kiln_model::v0::{LIVE_OUTPUT_HEADER, OUTPUT_LIMIT_HEADER, SLOTS_HEADER, ServerMessage};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::http::{HeaderMap, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};
use tokio_util::task::AbortOnDropHandle;

use super::Target;
use crate::MAX_MESSAGE_BYTES;

/// Messages that wait for the network: heartbeats come once a second, so the peer has long been silent.
const OUTGOING: usize = 64;

/// Messages that wait for the agent, which is never busy for long.
const INCOMING: usize = 16;

/// Most messages are tiny; the defaults would hold 128 KiB for each direction.
const BUFFER_BYTES: usize = 4 << 10;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A channel being opened, open, or lost. Dropping it cuts it off.
#[derive(Debug)]
pub(crate) struct Connection {
    outgoing: mpsc::Sender<Message>,
    incoming: mpsc::Receiver<Heard>,
    _task: AbortOnDropHandle<()>,
}

/// What a server says about itself when a channel opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// How many bytes of output it takes beside a message; none if it does not know of such a thing.
    pub(crate) output_limit: Option<u64>,
    /// How many bytes of what a job writes while it runs it takes in one message; none if it does not want to hear of it.
    pub(crate) live_piece: Option<usize>,
    /// How many slots a runner may have; none if it does not know of such a thing.
    pub(crate) slots: Option<u32>,
}

/// What a connection tells. `Refused` and `Lost` come last.
#[derive(Debug)]
pub(crate) enum Heard {
    Connected(Greeting),
    Message(ServerMessage),
    Refused,
    /// With the reason, for people.
    Lost(String),
}

/// The peer takes nothing any more.
#[derive(Debug)]
pub(crate) struct Stuck;

impl Connection {
    pub(crate) fn open(target: &Target) -> Self {
        let (outgoing, to_send) = mpsc::channel(OUTGOING);
        let (tell, incoming) = mpsc::channel(INCOMING);
        let request = target.request();
        let task = tokio::spawn(async move {
            let last = converse(request, to_send, &tell).await;
            // Nobody listens any more when the connection was dropped.
            let _ = tell.send(last).await;
        });
        Self {
            outgoing,
            incoming,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn send(&self, text: String) -> Result<(), Stuck> {
        self.outgoing
            .try_send(Message::text(text))
            .map_err(|_| Stuck)
    }

    /// Whether something that may be lost can be sent without getting in the way of what may not.
    pub(crate) fn has_room(&self) -> bool {
        self.outgoing.capacity() > OUTGOING / 2
    }

    /// Begins an orderly close: what the server has sent is still heard, and then that it is lost.
    pub(crate) fn close(&self) -> Result<(), Stuck> {
        self.outgoing
            .try_send(Message::Close(None))
            .map_err(|_| Stuck)
    }

    pub(crate) async fn hear(&mut self) -> Heard {
        let heard = self.incoming.recv().await;
        heard.unwrap_or_else(|| Heard::Lost("the connection's task ended".to_owned()))
    }
}

async fn converse(
    request: tokio_tungstenite::tungstenite::handshake::client::Request,
    to_send: mpsc::Receiver<Message>,
    tell: &mpsc::Sender<Heard>,
) -> Heard {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    match connect_async_with_config(request, Some(config), true).await {
        Ok((socket, answer)) => {
            let greeting = Greeting::read(answer.headers());
            if tell.send(Heard::Connected(greeting)).await.is_err() {
                return Heard::Lost(String::new());
            }
            Heard::Lost(pump(socket, to_send, tell).await)
        }
        Err(Error::Http(response)) => match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Heard::Refused,
            status => Heard::Lost(format!("the server answered {status}")),
        },
        Err(error) => Heard::Lost(describe(&error)),
    }
}

impl Greeting {
    fn read(headers: &HeaderMap) -> Self {
        let said = |name: &str| headers.get(name)?.to_str().ok();
        Self {
            output_limit: said(OUTPUT_LIMIT_HEADER).and_then(|limit| limit.parse().ok()),
            live_piece: said(LIVE_OUTPUT_HEADER).and_then(|size| size.parse().ok()),
            slots: said(SLOTS_HEADER).and_then(|most| most.parse().ok()),
        }
    }
}

/// Carries messages until one side ends; answers why.
async fn pump(
    mut socket: Socket,
    mut to_send: mpsc::Receiver<Message>,
    tell: &mpsc::Sender<Heard>,
) -> String {
    loop {
        tokio::select! {
            message = to_send.recv() => {
                let Some(message) = message else {
                    return "the agent ended".to_owned();
                };
                if let Err(error) = socket.send(message).await {
                    return describe(&error);
                }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
                    Ok(message) => {
                        if tell.send(Heard::Message(message)).await.is_err() {
                            return "the agent ended".to_owned();
                        }
                    }
                    // A newer server may have more to say than we understand.
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn std::error::Error, "a message of the server is not understood");
                    }
                },
                Some(Ok(Message::Close(frame))) => {
                    let reason = frame.filter(|frame| !frame.reason.is_empty());
                    return match reason {
                        Some(frame) => format!("the server closed the channel: {}", frame.reason),
                        None => "the server closed the channel".to_owned(),
                    };
                }
                // Pings are answered by the library.
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return describe(&error),
                None => return "the connection ended".to_owned(),
            },
        }
    }
}

/// The error with its causes, on one line.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            // Writing to a string cannot fail.
            let _ = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}
