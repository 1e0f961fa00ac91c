//! A server in this process and the smallest client that can talk to it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiln_control::Denied;
use kiln_control::access::Caller;
use kiln_control::projects::{self, OnTheFly};
use kiln_model::{OrganizationUuid, ProjectUuid};
use kiln_server::{Server, ServerConfig};
use kiln_store::{Store, StoreConfig, SystemClock, SystemEntropy, Tx};
use tokio::runtime::Runtime;

use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

pub(super) struct Running {
    runtime: Runtime,
    server: Server,
    address: SocketAddr,
    key: String,
}

impl Running {
    pub(super) fn start(place: &Path) -> Result<Self, Failure> {
        let runtime = Runtime::new().map_err(|source| Failure::io("start a runtime", source))?;
        let (clock, entropy) = (Arc::new(SystemClock::default()), Arc::new(SystemEntropy));
        let path = place.join("numbers.db").display().to_string();
        let config = StoreConfig::new(path, clock.clone(), entropy.clone());
        create_project(&config)?;
        let config = ServerConfig::new(([127, 0, 0, 1], 0).into(), config);
        let server = runtime
            .block_on(Server::start(config, clock, entropy))
            .map_err(|error| Failure::Wrong(error.to_string()))?;
        let key = server
            .admin_key()
            .ok_or_else(|| Failure::Wrong("the server has no key for us".to_owned()))?
            .to_owned();
        Ok(Self {
            address: server.address(),
            runtime,
            server,
            key,
        })
    }

    pub(super) fn stop(self) {
        self.runtime.block_on(self.server.stop());
    }

    /// Sends a request and reads the whole answer. The time is from the first byte to the last.
    pub(super) fn call(&self, method: &str, path: &str, body: &str) -> Result<Answer, Failure> {
        let watch = Stopwatch::start();
        let io = |source| Failure::io("talk to the server", source);
        let mut stream = TcpStream::connect(self.address).map_err(io)?;
        let head = format!(
            "{method} /v0/{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            self.key,
            body.len()
        );
        stream.write_all(head.as_bytes()).map_err(io)?;
        stream.write_all(body.as_bytes()).map_err(io)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(io)?;
        let took = watch.elapsed();
        let split = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .ok_or_else(|| Failure::Wrong("the server hung up".to_owned()))?;
        if !answer.starts_with(b"HTTP/1.1 2") {
            let text = String::from_utf8_lossy(&answer);
            return Err(Failure::Wrong(text.chars().take(400).collect()));
        }
        Ok(Answer {
            took,
            body: answer.split_off(split + 4),
        })
    }
}

pub(super) struct Answer {
    pub(super) took: Duration,
    pub(super) body: Vec<u8>,
}

/// The project `bench`, before any server has the store open.
fn create_project(config: &StoreConfig) -> Result<(), Failure> {
    let store = Store::open(config)?;
    let wall = config.clock.wall();
    let ids = OnTheFly {
        project: ProjectUuid::mint(wall, &*config.entropy),
        organization: OrganizationUuid::mint(wall, &*config.entropy),
    };
    let create = move |tx: &mut dyn Tx| {
        projects::find_or_create(tx, &Caller::Anonymous, "bench", ids).map(drop)
    };
    let created = store.ledger.submit(create).wait();
    store.close();
    created.map_err(|denied: Denied| Failure::Wrong(denied.to_string()))
}
