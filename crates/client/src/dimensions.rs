//! What numbers are filed under: branches, testbeds, benchmarks and measures.

use kiln_model::v0::{Benchmark, Branch, Measure, Testbed};
use serde::de::DeserializeOwned;

use crate::{Client, Error, Page};

/// One of the four, and where it is kept.
pub trait Dimension: DeserializeOwned {
    const PATH: &'static str;
}

impl Dimension for Branch {
    const PATH: &'static str = "branches";
}

impl Dimension for Testbed {
    const PATH: &'static str = "testbeds";
}

impl Dimension for Benchmark {
    const PATH: &'static str = "benchmarks";
}

impl Dimension for Measure {
    const PATH: &'static str = "measures";
}

impl Client {
    /// In order of names, without what is archived.
    pub async fn list_dimension<D: Dimension>(
        &self,
        project: &str,
        page: Page,
    ) -> Result<Vec<D>, Error> {
        self.list(&["v0", "projects", project, D::PATH], page, &[])
            .await
    }

    /// One by its UUID, slug or name.
    pub async fn get_dimension<D: Dimension>(
        &self,
        project: &str,
        reference: &str,
    ) -> Result<D, Error> {
        self.get(&["v0", "projects", project, D::PATH, reference])
            .await
    }
}
