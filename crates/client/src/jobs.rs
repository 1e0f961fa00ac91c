//! The jobs of a project.

use kiln_model::v0::{Job, JobEvent, LargeText, TextKind, Waiting};
use kiln_model::{JobUuid, Status};

use reqwest::Method;

use crate::{Client, Error, Page};

/// Jobs of a project, which is named by its UUID or slug.
impl Client {
    /// Newest first, without their output.
    pub async fn list_jobs(
        &self,
        project: &str,
        status: Option<Status>,
        page: Page,
    ) -> Result<Vec<Job>, Error> {
        let filter = status.map(|status| ("status", status.name()));
        self.list(
            &["v0", "projects", project, "jobs"],
            page,
            filter.as_slice(),
        )
        .await
    }

    pub async fn get_job(&self, project: &str, job: JobUuid) -> Result<Job, Error> {
        let job = job.to_string();
        self.get(&["v0", "projects", project, "jobs", &job]).await
    }

    /// What a job wrote that is longer than what [`Client::get_job`] shows of it, whole.
    pub async fn get_large_text(
        &self,
        project: &str,
        job: JobUuid,
        text: &LargeText,
    ) -> Result<String, Error> {
        let (job, iteration) = (job.to_string(), text.iteration.to_string());
        let stream = match text.stream {
            TextKind::Stdout => "stdout",
            TextKind::Stderr => "stderr",
            TextKind::File => "file",
        };
        let path = [
            "v0", "projects", project, "jobs", &job, "output", &iteration, stream,
        ];
        let mut request = self.request(Method::GET, &path)?;
        if let Some(file) = &text.path {
            request = request.query(&[("path", file)]);
        }
        let response = self.send(request).await?;
        let text = response.text().await;
        text.map_err(|source| Error::Unreachable {
            server: self.base().to_owned(),
            source: source.without_url(),
        })
    }

    /// Cancels a job that has not ended; one that has is a conflict.
    pub async fn cancel_job(&self, project: &str, job: JobUuid) -> Result<Job, Error> {
        let job = job.to_string();
        self.post_nothing(&["v0", "projects", project, "jobs", &job, "cancel"])
            .await
    }

    /// Does an ended job again, as a new job that names it.
    pub async fn retry_job(&self, project: &str, job: JobUuid) -> Result<Job, Error> {
        let job = job.to_string();
        self.post_nothing(&["v0", "projects", project, "jobs", &job, "retry"])
            .await
    }

    /// Why a job waits.
    pub async fn explain_job(&self, project: &str, job: JobUuid) -> Result<Waiting, Error> {
        let job = job.to_string();
        self.get(&["v0", "projects", project, "jobs", &job, "why"])
            .await
    }

    pub async fn list_job_events(
        &self,
        project: &str,
        job: JobUuid,
    ) -> Result<Vec<JobEvent>, Error> {
        let job = job.to_string();
        self.get(&["v0", "projects", project, "jobs", &job, "events"])
            .await
    }
}
