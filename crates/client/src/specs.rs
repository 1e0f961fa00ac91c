//! Hardware shapes.

use kiln_model::v0::{NewSpec, Spec, UpdateSpec};

use crate::{Client, Error, Page};

impl Client {
    pub async fn create_spec(&self, spec: &NewSpec) -> Result<Spec, Error> {
        self.post(&["v0", "specs"], spec).await
    }

    pub async fn list_specs(&self, page: Page) -> Result<Vec<Spec>, Error> {
        self.list(&["v0", "specs"], page, &[]).await
    }

    /// A spec by its UUID or slug.
    pub async fn get_spec(&self, spec: &str) -> Result<Spec, Error> {
        self.get(&["v0", "specs", spec]).await
    }

    pub async fn update_spec(&self, spec: &str, change: &UpdateSpec) -> Result<Spec, Error> {
        self.patch(&["v0", "specs", spec], change).await
    }

    /// Only a spec that nothing refers to.
    pub async fn delete_spec(&self, spec: &str) -> Result<(), Error> {
        self.delete(&["v0", "specs", spec]).await
    }
}
