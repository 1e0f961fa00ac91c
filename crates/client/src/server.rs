//! The server itself.

use kiln_model::v0::ServerVersion;

use crate::{Client, Error};

impl Client {
    pub async fn server_version(&self) -> Result<ServerVersion, Error> {
        self.get(&["v0", "server", "version"]).await
    }

    /// Succeeds when the server is ready to serve.
    pub async fn check_health(&self) -> Result<(), Error> {
        self.probe(&["healthz"]).await
    }
}
