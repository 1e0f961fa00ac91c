//! Projects and their keys.

use kiln_model::v0::{
    CreatedProjectKey, Image, NewKey, NewProject, Project, ProjectKey, UpdateProject,
};

use crate::{Client, Error, Page};

impl Client {
    pub async fn create_project(
        &self,
        organization: &str,
        project: &NewProject,
    ) -> Result<Project, Error> {
        self.post(&["v0", "organizations", organization, "projects"], project)
            .await
    }

    /// Everything that is public, and what is the caller's.
    pub async fn list_projects(&self, page: Page) -> Result<Vec<Project>, Error> {
        self.list(&["v0", "projects"], page, &[]).await
    }

    /// A project by its UUID or slug.
    pub async fn get_project(&self, project: &str) -> Result<Project, Error> {
        self.get(&["v0", "projects", project]).await
    }

    pub async fn update_project(
        &self,
        project: &str,
        change: &UpdateProject,
    ) -> Result<Project, Error> {
        self.patch(&["v0", "projects", project], change).await
    }

    /// Cancels its live jobs and hides it.
    pub async fn delete_project(&self, project: &str) -> Result<(), Error> {
        self.delete(&["v0", "projects", project]).await
    }

    /// The tags of all its repositories.
    pub async fn list_images(&self, project: &str, page: Page) -> Result<Vec<Image>, Error> {
        self.list(&["v0", "projects", project, "images"], page, &[])
            .await
    }

    /// A key that opens one project. It is in this answer and never again.
    pub async fn create_project_key(
        &self,
        project: &str,
        key: &NewKey,
    ) -> Result<CreatedProjectKey, Error> {
        self.post(&["v0", "projects", project, "keys"], key).await
    }

    pub async fn list_project_keys(
        &self,
        project: &str,
        page: Page,
    ) -> Result<Vec<ProjectKey>, Error> {
        self.list(&["v0", "projects", project, "keys"], page, &[])
            .await
    }

    pub async fn get_project_key(&self, project: &str, key: &str) -> Result<ProjectKey, Error> {
        self.get(&["v0", "projects", project, "keys", key]).await
    }

    /// The key is dead at once.
    pub async fn revoke_project_key(&self, project: &str, key: &str) -> Result<(), Error> {
        self.delete(&["v0", "projects", project, "keys", key]).await
    }
}
