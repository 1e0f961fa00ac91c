//! Runners, and the specs they offer.

use kiln_model::v0::{NewRunner, Runner, RunnerKey, RunnerToken, Spec, SpecRef, UpdateRunner};

use crate::{Client, Error, Page};

impl Client {
    /// Makes a runner. Its key is in this answer and never again.
    pub async fn create_runner(&self, runner: &NewRunner) -> Result<RunnerKey, Error> {
        self.post(&["v0", "runners"], runner).await
    }

    pub async fn list_runners(&self, page: Page) -> Result<Vec<Runner>, Error> {
        self.list(&["v0", "runners"], page, &[]).await
    }

    /// A runner by its UUID or slug.
    pub async fn get_runner(&self, runner: &str) -> Result<Runner, Error> {
        self.get(&["v0", "runners", runner]).await
    }

    /// A new key; the old one is dead at once.
    pub async fn rotate_runner_key(&self, runner: &str) -> Result<RunnerKey, Error> {
        self.post_nothing(&["v0", "runners", runner, "key"]).await
    }

    /// A new credential in the longer form; the old one is dead at once.
    pub async fn rotate_runner_token(&self, runner: &str) -> Result<RunnerToken, Error> {
        self.post_nothing(&["v0", "runners", runner, "token"]).await
    }

    pub async fn update_runner(
        &self,
        runner: &str,
        change: &UpdateRunner,
    ) -> Result<Runner, Error> {
        self.patch(&["v0", "runners", runner], change).await
    }

    /// Lets a runner take jobs of a spec; both by UUID or slug.
    pub async fn link_spec(&self, runner: &str, spec: &str) -> Result<Spec, Error> {
        let spec = SpecRef {
            spec: spec.to_owned(),
        };
        self.post(&["v0", "runners", runner, "specs"], &spec).await
    }

    pub async fn list_runner_specs(&self, runner: &str) -> Result<Vec<Spec>, Error> {
        self.get(&["v0", "runners", runner, "specs"]).await
    }

    pub async fn unlink_spec(&self, runner: &str, spec: &str) -> Result<(), Error> {
        self.delete(&["v0", "runners", runner, "specs", spec]).await
    }
}
