//! A clock, an executor and a server that do what a test says, when it says so.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{SinkExt as _, StreamExt as _};
use kiln_model::v0::{ClaimedJob, Conditions, SLOTS_HEADER};
use kiln_model::{Clock, Entropy, Millis};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};
use tokio_util::sync::CancellationToken;

use crate::{
    AgentConfig, AgentError, Agents, Ended, Execution, Executor, Iteration, Output, Prepared,
    SetUpError, Shutdown, Terms, Timer, Updates, Verdict,
};

pub(super) const JOB: &str = "01a1de47-71b7-7681-a510-54ad0fe9b85b";

/// Time that passes only when the test says so.
#[derive(Debug)]
pub(super) struct ManualTimer {
    now: watch::Sender<Millis>,
    wake: watch::Sender<Millis>,
}

impl ManualTimer {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            now: watch::Sender::new(Millis(1_000_000)),
            wake: watch::Sender::new(Millis::ZERO),
        })
    }

    pub(super) fn advance(&self, span: Duration) {
        self.now.send_modify(|now| *now = *now + span);
    }

    /// Waits until an agent sleeps, for not longer than this, then moves to the end of its sleep.
    async fn jump_within(&self, longest: Duration) {
        let mut wake = self.wake.subscribe();
        let now = *self.now.borrow();
        let is_meant = |at: &Millis| *at > now && *at <= now + longest;
        let at = *wake.wait_for(is_meant).await.unwrap();
        self.now.send_modify(|now| *now = at.max(*now));
    }
}

impl Clock for ManualTimer {
    fn wall(&self) -> Millis {
        *self.now.borrow()
    }

    fn monotonic(&self) -> Millis {
        *self.now.borrow()
    }
}

impl Timer for ManualTimer {
    fn sleep_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.wake.send_replace(at);
            let mut now = self.now.subscribe();
            now.wait_for(|now| *now >= at).await.unwrap();
        })
    }
}

#[derive(Debug)]
struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// What a test lets the executor do next.
#[derive(Debug)]
enum Step {
    SetUp(Result<(), String>),
    Execute(Box<Execution>),
    Panic,
}

/// An executor that waits for its next step or a cancel.
#[derive(Clone, Debug)]
struct Scripted {
    steps: Arc<Mutex<mpsc::UnboundedReceiver<Step>>>,
    set_ups: watch::Sender<u32>,
}

impl Scripted {
    async fn step(&self, cancel: &CancellationToken) -> Option<Step> {
        let mut steps = self.steps.lock().await;
        tokio::select! {
            step = steps.recv() => Some(step.expect("the test is still there")),
            () = cancel.cancelled() => None,
        }
    }
}

impl Executor for Scripted {
    fn set_up(
        &self,
        _job: ClaimedJob,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Box<dyn Prepared>, SetUpError>> {
        let script = self.clone();
        script.set_ups.send_modify(|count| *count += 1);
        Box::pin(async move {
            let failed = |error: &str| {
                Err(SetUpError {
                    error: error.to_owned(),
                    conditions: Box::default(),
                })
            };
            match script.step(&cancel).await {
                Some(Step::SetUp(Ok(()))) => Ok(Box::new(script) as Box<dyn Prepared>),
                Some(Step::SetUp(Err(error))) => failed(&error),
                Some(Step::Panic) => panic!("as the test wants"),
                Some(step @ Step::Execute(_)) => panic!("{step:?} during set-up"),
                None => failed("canceled"),
            }
        })
    }
}

impl Prepared for Scripted {
    fn execute(self: Box<Self>, terms: Terms) -> BoxFuture<'static, Execution> {
        Box::pin(async move {
            match self.step(&terms.cancel).await {
                Some(Step::Execute(execution)) => *execution,
                Some(Step::Panic) => panic!("as the test wants"),
                Some(step @ Step::SetUp(_)) => panic!("{step:?} during execution"),
                None => execution(Verdict::Failed("canceled".to_owned()), []),
            }
        })
    }
}

pub(super) fn execution(
    verdict: Verdict,
    iterations: impl IntoIterator<Item = Iteration>,
) -> Execution {
    let mut output = Output::default();
    for iteration in iterations {
        output.push(iteration);
    }
    Execution {
        verdict,
        output,
        conditions: Conditions::default(),
    }
}

/// An agent, its server and everything it depends on.
pub(super) struct Bench {
    pub(super) timer: Arc<ManualTimer>,
    pub(super) shutdown: Shutdown,
    steps: mpsc::UnboundedSender<Step>,
    script: Scripted,
    listener: TcpListener,
    directory: TempDir,
    agent: Option<JoinHandle<Result<Ended, AgentError>>>,
    /// That is skipped while a connection is waited for.
    longest_sleep: Duration,
}

impl Bench {
    /// Everything but the agent.
    pub(super) async fn new() -> Self {
        let (steps, receiver) = mpsc::unbounded_channel();
        Self {
            timer: ManualTimer::new(),
            shutdown: Shutdown::default(),
            steps,
            script: Scripted {
                steps: Arc::new(Mutex::new(receiver)),
                set_ups: watch::Sender::new(0),
            },
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            directory: TempDir::new().unwrap(),
            agent: None,
            longest_sleep: Duration::from_hours(1),
        }
    }

    pub(super) async fn started() -> Self {
        let mut bench = Self::new().await;
        bench.start();
        bench
    }

    pub(super) fn start(&mut self) {
        self.start_with(1, false);
    }

    /// With so many slots, and ready to be replaced or not.
    pub(super) fn start_with(&mut self, slots: u32, updates: bool) {
        if slots > 1 {
            // One slot comes again while another waits for a job, which must not seem to take long.
            self.longest_sleep = Duration::from_secs(10);
        }
        let config = AgentConfig {
            server_url: format!("http://{}", self.listener.local_addr().unwrap()),
            runner: "rack-7".to_owned(),
            key: "bencher_runner_key".to_owned(),
            data_dir: self.data_dir().to_owned(),
        };
        let agents = Agents::with_timer(
            &config,
            slots,
            Arc::new(self.script.clone()),
            Arc::clone(&self.timer) as Arc<dyn Timer>,
            Arc::new(Zeros),
        );
        let mut agents = agents.unwrap();
        if updates {
            agents = agents.with_updates(&Updates::default());
        }
        self.agent = Some(tokio::spawn(agents.run(self.shutdown.clone())));
    }

    /// As `kill -9` does: no word, no clean-up.
    pub(super) async fn kill(&mut self) {
        let agent = self.agent.take().unwrap();
        agent.abort();
        assert!(agent.await.unwrap_err().is_cancelled());
    }

    pub(super) async fn ended(&mut self) -> Result<Ended, AgentError> {
        self.agent.take().unwrap().await.unwrap()
    }

    pub(super) fn data_dir(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn spooled(&self) -> usize {
        std::fs::read_dir(self.data_dir().join("spool"))
            .unwrap()
            .count()
    }

    pub(super) fn is_held(&self) -> bool {
        self.data_dir().join("held").exists()
    }

    /// Waits until the executor was given a job.
    pub(super) async fn setting_up(&self) {
        let mut set_ups = self.script.set_ups.subscribe();
        set_ups.wait_for(|count| *count > 0).await.unwrap();
    }

    /// Waits until the agent has nothing to do but to wait for the end of an orderly close.
    pub(super) async fn closing(&self) {
        let soon = self.timer.monotonic() + Duration::from_secs(2);
        let mut wake = self.timer.wake.subscribe();
        wake.wait_for(|at| *at == soon).await.unwrap();
    }

    pub(super) fn set_up(&self) {
        self.steps.send(Step::SetUp(Ok(()))).unwrap();
    }

    pub(super) fn fail_set_up(&self, error: &str) {
        self.steps.send(Step::SetUp(Err(error.to_owned()))).unwrap();
    }

    pub(super) fn execute(&self, execution: Execution) {
        self.steps.send(Step::Execute(Box::new(execution))).unwrap();
    }

    pub(super) fn panic(&self) {
        self.steps.send(Step::Panic).unwrap();
    }

    pub(super) fn beat(&self) {
        self.timer.advance(Duration::from_secs(1));
    }

    /// The agent's next connection attempt, before the upgrade.
    async fn dialed(&self) -> TcpStream {
        loop {
            tokio::select! {
                biased;
                accepted = self.listener.accept() => return accepted.unwrap().0,
                () = self.timer.jump_within(self.longest_sleep) => {}
            }
        }
    }

    /// A connection attempt that nobody expects.
    pub(super) async fn dialed_again(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }

    /// The agent's next channel, which it opens in its own time.
    pub(super) async fn connected(&self) -> Channel {
        self.opened(None).await.0
    }

    /// The same with a server that knows so many slots; and what was asked for beside the path.
    pub(super) async fn opened(&self, slots: Option<u32>) -> (Channel, Option<String>) {
        let mut query = None;
        #[expect(clippy::result_large_err, reason = "the library prescribes it")]
        let check =
            |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
                assert_eq!(request.uri().path(), "/v0/runners/rack-7/channel");
                let key = &request.headers()["authorization"];
                assert_eq!(key, "Bearer bencher_runner_key");
                query = request.uri().query().map(str::to_owned);
                if let Some(slots) = slots {
                    response.headers_mut().insert(SLOTS_HEADER, slots.into());
                }
                Ok(response)
            };
        let socket = self.dialed().await;
        let channel = Channel(accept_hdr_async(socket, check).await.unwrap());
        (channel, query)
    }

    /// Answers the next attempt with a status.
    pub(super) async fn refuse(&self, status: &str) {
        let mut socket = self.dialed().await;
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        socket.write_all(answer.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
    }
}

/// The server's end of a channel. Dropping it cuts the connection.
pub(super) struct Channel(pub(super) WebSocketStream<TcpStream>);

impl Channel {
    pub(super) async fn frame(&mut self) -> Message {
        self.0
            .next()
            .await
            .expect("the agent is connected")
            .unwrap()
    }

    pub(super) async fn message(&mut self) -> Value {
        let frame = self.frame().await;
        assert!(frame.is_text(), "{frame:?}");
        serde_json::from_str(frame.to_text().unwrap()).unwrap()
    }

    pub(super) async fn expect(&mut self, event: &str) -> Value {
        let message = self.message().await;
        assert_eq!(message["event"], event, "{message}");
        message
    }

    /// The next message that is not a heartbeat. Every heartbeat is acknowledged.
    pub(super) async fn expect_after_heartbeats(&mut self, event: &str) -> Value {
        loop {
            let message = self.message().await;
            if message["event"] != "heartbeat" {
                assert_eq!(message["event"], event, "{message}");
                return message;
            }
            self.acknowledge().await;
        }
    }

    pub(super) async fn send(&mut self, message: &Value) {
        self.0
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
    }

    pub(super) async fn acknowledge(&mut self) {
        self.send(&json!({"event": "ack", "job": JOB})).await;
    }

    /// Waits for `ready` and answers with a job.
    pub(super) async fn hand_over_job(&mut self) {
        self.expect("ready").await;
        self.send(&job()).await;
    }

    /// Hands over a job and brings it to execution.
    pub(super) async fn begin_job(&mut self, bench: &Bench) {
        self.hand_over_job().await;
        bench.set_up();
        self.expect("running").await;
        self.acknowledge().await;
    }
}

/// A job as recorded.
pub(super) fn job() -> Value {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../../../../fixtures/channel/happy.json")).unwrap();
    let job = rows.into_iter().find_map(|row| {
        let message = row.get("server")?;
        (message["event"] == "job").then(|| message.clone())
    });
    job.unwrap()
}
