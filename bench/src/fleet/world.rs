//! A server's data with a spec or two, and runners that may connect.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_model::{Clock as _, Digest, RunnerUuid};
use kiln_store::sql::{lane, runner, spec};
use kiln_store::{Error, Store, StoreConfig, SystemClock, SystemEntropy, Tx};
use sha2::{Digest as _, Sha256};

use super::Scene;
use super::http::Http;
use super::server::Server;
use crate::failure::Failure;

/// The spec that every runner serves, and one that nobody does.
pub(super) const SPEC: &str = "bench";
pub(super) const ELSEWHERE: &str = "elsewhere";

pub(super) struct World {
    kiln: PathBuf,
    data: PathBuf,
    /// The administrator's.
    pub(super) key: String,
    pub(super) runners: Vec<Credentials>,
}

/// How a runner shows who it is.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) uuid: RunnerUuid,
    pub(super) key: String,
}

impl World {
    pub(super) fn make(scene: &Scene<'_>, name: &str, runners: usize) -> Result<Self, Failure> {
        let data = scene.place.join(name);
        std::fs::create_dir_all(&data).map_err(|source| Failure::io("make a directory", source))?;
        let server = Server::start(&scene.kiln, &data, 0)?;
        let key = std::fs::read_to_string(data.join("admin.key"))
            .map_err(|source| Failure::io("read the key", source))?;
        let mut world = Self {
            kiln: scene.kiln.clone(),
            data,
            key: key.trim().to_owned(),
            runners: Vec::new(),
        };
        scene.runtime.block_on(world.make_specs(&server))?;
        server.stop()?;
        world.runners = enlist(&world.database(), runners)?;
        Ok(world)
    }

    pub(super) fn start(&self) -> Result<Server, Failure> {
        self.start_at(0)
    }

    pub(super) fn start_at(&self, port: u16) -> Result<Server, Failure> {
        Server::start(&self.kiln, &self.data, port)
    }

    /// Only while no server runs.
    pub(super) fn database(&self) -> PathBuf {
        self.data.join("kiln.db")
    }

    pub(super) async fn connect(&self, server: &Server) -> Result<Http, Failure> {
        Http::connect(server.address(), &self.key).await
    }

    async fn make_specs(&self, server: &Server) -> Result<(), Failure> {
        let mut http = self.connect(server).await?;
        for name in [SPEC, ELSEWHERE] {
            let spec = format!(
                r#"{{"name":"{name}","os":"linux","architecture":"x86_64","cpu":1,"memory":536870912,"disk":1073741824}}"#
            );
            http.call("POST", "/v0/specs", &spec).await?;
        }
        Ok(())
    }
}

/// Runners that serve the spec; in one transaction, since they are not what is measured.
fn enlist(database: &Path, count: usize) -> Result<Vec<Credentials>, Failure> {
    let (clock, entropy) = (Arc::new(SystemClock::new()), Arc::new(SystemEntropy));
    let wall = clock.wall();
    let runners: Vec<Credentials> = (0..count)
        .map(|number| Credentials {
            uuid: RunnerUuid::mint(wall, &*entropy),
            key: format!("bencher_runner_{number:030}"),
        })
        .collect();
    let config = StoreConfig::new(database.display().to_string(), clock, entropy);
    let store = Store::open(&config)?;
    let new = runners.clone();
    let enlisted = store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            let spec = spec::find_by_ref(tx, SPEC)?.ok_or(Error::Closed)?;
            for (number, runner) in new.iter().enumerate() {
                let name = format!("runner-{number}");
                let (name, slug) = (name.parse(), name.parse());
                let hash = Digest::from_hash(&Sha256::digest(&runner.key));
                let id = runner::insert(
                    tx,
                    runner.uuid,
                    &name.expect("a valid name"),
                    &slug.expect("a valid slug"),
                    hash.expect("SHA-256 has 32 bytes").hex(),
                )?;
                lane::link(tx, id, spec.lane)?;
            }
            Ok::<_, Error>(())
        })
        .wait();
    store.close();
    enlisted?;
    Ok(runners)
}
