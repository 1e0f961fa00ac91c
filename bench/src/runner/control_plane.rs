//! The server's side of one runner's channel: hands out the same job again and again, and stops the time.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use kiln_model::{Clock as _, JobUuid};
use kiln_store::{SystemClock, SystemEntropy};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

use super::registry::Registry;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

const TIMEOUT_SECONDS: u32 = 60;
const MEMORY_BYTES: u64 = 512 << 20;
const DISK_BYTES: u64 = 1 << 30;
const LONG_AGO: &str = "2026-01-01T00:00:00Z";
const SOMETHING: &str = "01a1de46-fda8-7a10-bb6c-5474e6ed6cc1";

pub(super) struct ControlPlane {
    listener: TcpListener,
    port: u16,
}

impl ControlPlane {
    pub(super) async fn listen() -> Result<Self, Failure> {
        let failed = |source| Failure::io("listen", source);
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Hands out jobs for so long. What the runner needed for each, beside the command.
    pub(super) async fn hand_out(
        &self,
        registry: &Registry,
        span: Duration,
    ) -> Result<Vec<Duration>, Failure> {
        let accepted = self.listener.accept().await;
        let (stream, _) = accepted.map_err(|source| Failure::io("meet the runner", source))?;
        stream
            .set_nodelay(true)
            .map_err(|source| Failure::io("meet the runner", source))?;
        let socket = accept_async(stream).await.map_err(broken)?;
        let mut channel = Channel { socket };
        let all = Stopwatch::start();
        let mut spans = Vec::new();
        while all.elapsed() < span {
            spans.push(channel.one_job(registry).await?);
        }
        Ok(spans)
    }
}

struct Channel {
    socket: WebSocketStream<TcpStream>,
}

impl Channel {
    async fn one_job(&mut self, registry: &Registry) -> Result<Duration, Failure> {
        while self.hear().await?["event"] != "ready" {}
        let uuid = JobUuid::mint(SystemClock::new().wall(), &SystemEntropy);
        let job = job(uuid, registry);
        let watch = Stopwatch::start();
        self.say(&job).await?;
        loop {
            let said = self.hear().await?;
            let span = watch.elapsed();
            match said["event"].as_str() {
                Some("completed") => {
                    self.acknowledge(uuid).await?;
                    return Ok(span.saturating_sub(command(&said)?));
                }
                Some("running" | "heartbeat") => self.acknowledge(uuid).await?,
                _ => return Err(Failure::Wrong(format!("the runner said {said}"))),
            }
        }
    }

    async fn acknowledge(&mut self, job: JobUuid) -> Result<(), Failure> {
        self.say(&json!({"event": "ack", "job": job})).await
    }

    async fn say(&mut self, message: &Value) -> Result<(), Failure> {
        let message = Message::text(message.to_string());
        self.socket.send(message).await.map_err(broken)
    }

    async fn hear(&mut self) -> Result<Value, Failure> {
        loop {
            let heard = self.socket.next().await;
            let heard = heard.ok_or_else(|| Failure::Wrong("the runner went away".to_owned()))?;
            if let Message::Text(text) = heard.map_err(broken)? {
                return Ok(serde_json::from_str(&text)?);
            }
        }
    }
}

/// How long the command itself took, as the result tells.
fn command(completed: &Value) -> Result<Duration, Failure> {
    let wall = completed["conditions"]["iterations"][0]["wall_us"].as_u64();
    wall.map(Duration::from_micros)
        .ok_or_else(|| Failure::Wrong(format!("no time of the command in {completed}")))
}

fn job(uuid: JobUuid, registry: &Registry) -> Value {
    json!({
        "event": "job",
        "uuid": uuid,
        "spec": {
            "uuid": SOMETHING, "name": "bench", "slug": "bench",
            "os": "linux", "architecture": std::env::consts::ARCH, "sandbox": null,
            "cpu": 1, "memory": MEMORY_BYTES, "disk": DISK_BYTES, "network": false,
            "fallback": null, "created": LONG_AGO, "modified": LONG_AGO, "archived": null,
        },
        "config": {
            "registry": registry.url, "project": SOMETHING, "digest": registry.digest,
            "image": format!("bench@{}", registry.digest), "timeout": TIMEOUT_SECONDS,
        },
        "oci_token": "bench",
        "timeout": TIMEOUT_SECONDS,
        "created": LONG_AGO,
    })
}

fn broken(error: impl std::error::Error) -> Failure {
    Failure::Wrong(format!("the channel to the runner broke: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_what_the_result_says() {
        let completed = json!({"conditions": {"iterations": [{"wall_us": 1500}]}});
        assert_eq!(command(&completed).unwrap(), Duration::from_micros(1500));
        assert!(command(&json!({})).is_err());
    }
}
