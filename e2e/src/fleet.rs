//! Runners and clients that do not depend on one server: each goes on with another when the one it talks to is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use kiln_client::Client;
use kiln_model::JobUuid;
use kiln_model::v0::{
    Adapter, IterationOutput, NewRun, NewRunJob, RunnerMessage, ServerMessage, Settings,
};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// An image by its digest, which nobody looks up: the runners here execute nothing.
const IMAGE: &str = "image@sha256:abababababababababababababababababababababababababababababababab";
/// Between attempts on a server that is away.
const PAUSE: Duration = Duration::from_millis(50);
/// A server that says nothing for so long is as good as gone.
const PATIENCE: Duration = Duration::from_secs(20);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Where the servers are, in a fixed order.
pub type Servers = Arc<Vec<String>>;

/// What a runner of a fleet says as the result of a job: nobody else says the same.
pub fn result_of(job: JobUuid) -> String {
    format!(r#"{{"{job}": {{"latency": {{"value": 1}}}}}}"#)
}

/// Submits a run until some server acknowledges it. The same number is the same run, whoever hears it.
pub async fn submit(servers: &[String], key: &str, number: u32) -> JobUuid {
    let run = NewRun {
        project: Some("test".to_owned()),
        idempotency_key: Some(format!("01a1de47-71b7-7681-a510-0000{number:08x}")),
        settings: Some(Settings {
            adapter: Some(Adapter::Json),
            ..Settings::default()
        }),
        job: Some(NewRunJob {
            image: IMAGE.to_owned(),
            timeout: Some(600),
            ..NewRunJob::default()
        }),
        ..NewRun::default()
    };
    for server in servers.iter().cycle().skip(number as usize) {
        let client = Client::new(server, Some(key)).expect("a client");
        if let Ok(report) = client.submit_run(&run).await {
            return report.job.expect("a run of an image has a job");
        }
        sleep(PAUSE).await;
    }
    unreachable!("the servers are gone through for ever")
}

/// A runner that keeps to the protocol and to no server.
#[derive(Debug)]
pub struct FleetRunner {
    servers: Servers,
    name: String,
    key: String,
    /// Which server is next.
    turn: usize,
    /// What it holds; its result is delivered until it is acknowledged.
    held: Option<JobUuid>,
}

/// The connection came to an end.
struct Cut;

impl FleetRunner {
    pub fn new(servers: Servers, name: &str, key: &str, turn: usize) -> Self {
        Self {
            servers,
            name: name.to_owned(),
            key: key.to_owned(),
            turn,
            held: None,
        }
    }

    /// Works until told to stop and nothing is held.
    pub async fn run(mut self, stop: Arc<AtomicBool>) {
        while self.held.is_some() || !stop.load(Ordering::Relaxed) {
            let server = self.servers[self.turn % self.servers.len()].clone();
            self.turn += 1;
            let Some(mut socket) = self.dial(&server).await else {
                sleep(PAUSE).await;
                continue;
            };
            while self.work(&mut socket).await.is_ok() && !stop.load(Ordering::Relaxed) {}
        }
    }

    async fn dial(&self, server: &str) -> Option<Socket> {
        let url = format!(
            "{}/v0/runners/{}/channel",
            server.replacen("http", "ws", 1),
            self.name
        );
        let mut request = url.into_client_request().ok()?;
        let key = format!("Bearer {}", self.key).parse().ok()?;
        request.headers_mut().insert("authorization", key);
        let (socket, _) = timeout(PATIENCE, connect_async(request)).await.ok()?.ok()?;
        Some(socket)
    }

    /// Takes a job, or goes on with the one that is held, and delivers its result.
    async fn work(&mut self, socket: &mut Socket) -> Result<(), Cut> {
        let job = if let Some(job) = self.held {
            job
        } else {
            let ready = RunnerMessage::Ready {
                poll_timeout: Some(1),
                runner: None,
            };
            say(socket, &ready).await?;
            let ServerMessage::Job(job) = hear(socket).await? else {
                return Ok(());
            };
            job.uuid
        };
        self.held = Some(job);
        say(socket, &RunnerMessage::Running).await?;
        if hear(socket).await? == ServerMessage::Cancel {
            // It ended elsewhere: the result was accepted and only the acknowledgement lost, or it is not ours any more.
            self.deliver(socket, job).await?;
            return Ok(());
        }
        say(socket, &RunnerMessage::Heartbeat).await?;
        hear(socket).await?;
        self.deliver(socket, job).await
    }

    async fn deliver(&mut self, socket: &mut Socket, job: JobUuid) -> Result<(), Cut> {
        let iteration = IterationOutput {
            stdout: Some(result_of(job)),
            ..IterationOutput::default()
        };
        let completed = RunnerMessage::Completed {
            job,
            results: vec![iteration],
            conditions: None,
            large: None,
        };
        say(socket, &completed).await?;
        while hear(socket).await? != (ServerMessage::Ack { job: Some(job) }) {}
        self.held = None;
        Ok(())
    }
}

async fn say(socket: &mut Socket, message: &RunnerMessage) -> Result<(), Cut> {
    let text = serde_json::to_string(message).map_err(|_| Cut)?;
    let sent = timeout(PATIENCE, socket.send(Message::text(text))).await;
    sent.map_err(|_| Cut)?.map_err(|_| Cut)
}

async fn hear(socket: &mut Socket) -> Result<ServerMessage, Cut> {
    loop {
        let frame = timeout(PATIENCE, socket.next()).await.map_err(|_| Cut)?;
        match frame {
            Some(Ok(Message::Text(text))) => {
                return serde_json::from_str(&text).map_err(|_| Cut);
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            _ => return Err(Cut),
        }
    }
}
