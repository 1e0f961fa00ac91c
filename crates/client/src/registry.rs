//! A server's registry, for its operators.

use kiln_model::operator::registry::{
    CollectRequest, Collected, Quota, RegistryStats, Verified, VerifyRequest,
};
use reqwest::Method;

use crate::{Client, Error};

impl Client {
    pub async fn registry_stats(&self) -> Result<RegistryStats, Error> {
        self.get(&["v0", "server", "registry"]).await
    }

    /// Collects one page of what nobody needs.
    pub async fn collect_registry(&self, request: &CollectRequest) -> Result<Collected, Error> {
        self.post(&["v0", "server", "registry", "gc"], request)
            .await
    }

    /// Reads and hashes one page of what there is.
    pub async fn verify_registry(&self, request: &VerifyRequest) -> Result<Verified, Error> {
        self.post(&["v0", "server", "registry", "verify"], request)
            .await
    }

    pub async fn quota(&self, project: &str) -> Result<Quota, Error> {
        self.get(&["v0", "server", "registry", "quotas", project])
            .await
    }

    pub async fn set_quota(&self, project: &str, quota: Option<u64>) -> Result<Quota, Error> {
        let body = Quota { bytes: 0, quota };
        let path = ["v0", "server", "registry", "quotas", project];
        let request = self.request(Method::PUT, &path)?.json(&body);
        self.read(self.send(request).await?).await
    }
}
