//! The last word about a job, in the bytes in which it is spooled and sent.

use std::sync::Arc;

use kiln_model::v0::{Conditions, IterationOutput, RunnerMessage};
use kiln_model::{Digest, JobUuid};

/// What the server accepts in one message.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// A terminal message, and what goes beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    job: JobUuid,
    text: String,
    large: Option<Attachment>,
}

/// Output that did not fit into the message, which names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub digest: Digest,
    pub size: u64,
    /// Until it is on disk.
    bytes: Option<Arc<str>>,
}

impl Attachment {
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref().map(str::as_bytes)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NotADelivery {
    #[error("not a message of a runner")]
    Malformed(#[from] serde_json::Error),
    #[error("not the last word about a job")]
    NotTerminal,
}

impl Delivery {
    pub fn completed(
        job: JobUuid,
        results: Vec<IterationOutput>,
        conditions: Option<&Conditions>,
    ) -> Self {
        let conditions = conditions.cloned().map(Box::new);
        Self::encode(
            job,
            &RunnerMessage::Completed {
                job,
                results,
                conditions,
                large: None,
            },
        )
    }

    pub fn failed(
        job: JobUuid,
        results: Vec<IterationOutput>,
        error: impl Into<String>,
        conditions: Option<&Conditions>,
    ) -> Self {
        let error = error.into();
        let message = RunnerMessage::Failed {
            job,
            results,
            error,
            conditions: conditions.cloned().map(Box::new),
            large: None,
        };
        Self::encode(job, &message)
    }

    pub fn canceled(job: JobUuid) -> Self {
        let message = RunnerMessage::Canceled {
            job,
            results: Vec::new(),
            conditions: None,
        };
        Self::encode(job, &message)
    }

    /// The same job as canceled, with what it had written until then.
    pub(crate) fn into_canceled(self) -> Self {
        let job = self.job;
        let Some((results, conditions)) = self.evidence() else {
            return Self::canceled(job);
        };
        let message = RunnerMessage::Canceled {
            job,
            results,
            conditions,
        };
        Self::encode(job, &message)
    }

    /// The same job as failed for another reason, unless it was completed after all.
    pub(crate) fn into_stopped(self, error: &str) -> Self {
        if matches!(self.message(), Ok(RunnerMessage::Completed { .. })) {
            return self;
        }
        let (job, evidence) = (self.job, self.evidence());
        let (results, conditions) = evidence.unwrap_or_default();
        let message = RunnerMessage::Failed {
            job,
            results,
            error: error.to_owned(),
            conditions,
            large: None,
        };
        Self::encode(job, &message)
    }

    /// The same without what would go beside it: the message has the beginning of every text.
    pub(crate) fn without_large(self) -> Self {
        let job = self.job;
        match self.message() {
            Ok(mut message @ (RunnerMessage::Completed { .. } | RunnerMessage::Failed { .. })) => {
                if let RunnerMessage::Completed { large, .. }
                | RunnerMessage::Failed { large, .. } = &mut message
                {
                    *large = None;
                }
                Self::encode(job, &message)
            }
            Ok(_) | Err(_) => self,
        }
    }

    /// The same without its bytes: they are on disk.
    pub(crate) fn spooled(self) -> Self {
        let large = self.large.map(|large| Attachment {
            bytes: None,
            ..large
        });
        Self { large, ..self }
    }

    /// The same with the bytes that go beside it.
    pub(crate) fn with_bytes(self, bytes: Arc<str>) -> Self {
        let large = self.large.map(|large| Attachment {
            bytes: Some(bytes),
            ..large
        });
        Self { large, ..self }
    }

    /// What goes beside the message.
    pub const fn large(&self) -> Option<&Attachment> {
        self.large.as_ref()
    }

    fn message(&self) -> serde_json::Result<RunnerMessage> {
        serde_json::from_str(&self.text)
    }

    fn evidence(&self) -> Option<(Vec<IterationOutput>, Option<Box<Conditions>>)> {
        match self.message().ok()? {
            RunnerMessage::Completed {
                results,
                conditions,
                ..
            }
            | RunnerMessage::Failed {
                results,
                conditions,
                ..
            }
            | RunnerMessage::Canceled {
                results,
                conditions,
                ..
            } => Some((results, conditions)),
            RunnerMessage::Ready { .. }
            | RunnerMessage::Running
            | RunnerMessage::Heartbeat
            | RunnerMessage::Output(_) => None,
        }
    }

    /// Reads what was spooled.
    pub fn parse(text: String) -> Result<Self, NotADelivery> {
        let message: RunnerMessage = serde_json::from_str(&text)?;
        let job = match &message {
            RunnerMessage::Completed { job, .. }
            | RunnerMessage::Failed { job, .. }
            | RunnerMessage::Canceled { job, .. } => *job,
            RunnerMessage::Ready { .. }
            | RunnerMessage::Running
            | RunnerMessage::Heartbeat
            | RunnerMessage::Output(_) => {
                return Err(NotADelivery::NotTerminal);
            }
        };
        let large = attachment(&message);
        Ok(Self { job, text, large })
    }

    pub const fn job(&self) -> JobUuid {
        self.job
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn encode(job: JobUuid, message: &RunnerMessage) -> Self {
        let text = serde_json::to_string(message).expect("a message has only text keys");
        let large = attachment(message);
        Self { job, text, large }
    }
}

/// What a message names beside itself.
fn attachment(message: &RunnerMessage) -> Option<Attachment> {
    let (RunnerMessage::Completed { large, .. } | RunnerMessage::Failed { large, .. }) = message
    else {
        return None;
    };
    large.as_deref().map(|large| Attachment {
        digest: large.digest.clone(),
        size: large.size,
        bytes: None,
    })
}

#[cfg(test)]
impl Delivery {
    /// A result that names so much output beside it.
    pub(crate) fn with_output_beside(job: JobUuid, size: u64) -> Self {
        let large = kiln_model::v0::LargeOutput {
            digest: Digest::from_hash(&[7; 32]).unwrap(),
            size,
            texts: Vec::new(),
        };
        let message = RunnerMessage::Completed {
            job,
            results: Vec::new(),
            conditions: None,
            large: Some(Box::new(large)),
        };
        Self::encode(job, &message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "01a1de48-2639-76f0-ac7d-6f226b3e8aa1";

    #[test]
    fn a_delivery_reads_back_as_what_was_written() {
        let job = JOB.parse().unwrap();
        for delivery in [
            Delivery::completed(job, vec![IterationOutput::default()], None),
            Delivery::failed(job, Vec::new(), "late", Some(&Conditions::default())),
            Delivery::canceled(job),
        ] {
            assert_eq!(
                Delivery::parse(delivery.text().to_owned()).unwrap(),
                delivery
            );
        }
    }

    #[test]
    fn a_delivery_without_conditions_is_written_as_stock_runners_write_it() {
        let job = JOB.parse().unwrap();
        let text = format!(r#"{{"event":"failed","job":"{JOB}","results":[],"error":"late"}}"#);
        assert_eq!(Delivery::failed(job, Vec::new(), "late", None).text(), text);
    }

    #[test]
    fn a_canceled_job_keeps_what_it_had_written() {
        let job = JOB.parse().unwrap();
        let wrote = IterationOutput {
            stdout: Some("so far".to_owned()),
            ..IterationOutput::default()
        };
        let canceled = Delivery::failed(job, vec![wrote], "stopped", None).into_canceled();
        assert!(canceled.text().contains(r#""event":"canceled""#));
        assert!(canceled.text().contains("so far"));
    }

    #[test]
    fn a_canceled_job_without_output_is_written_as_stock_runners_write_it() {
        let text = format!(r#"{{"event":"canceled","job":"{JOB}"}}"#);
        assert_eq!(Delivery::canceled(JOB.parse().unwrap()).text(), text);
    }

    #[test]
    fn a_stopped_job_says_why_and_a_completed_one_stays_completed() {
        let job = JOB.parse().unwrap();
        let failed = Delivery::failed(job, Vec::new(), "the command was stopped", None);
        assert!(
            failed
                .into_stopped("going down")
                .text()
                .contains("going down")
        );
        let completed = Delivery::completed(job, Vec::new(), None);
        assert_eq!(completed.clone().into_stopped("going down"), completed);
    }

    #[test]
    fn what_is_not_a_last_word_is_refused() {
        for text in [
            r#"{"event":"heartbeat"}"#,
            r#"{"event":"completed"}"#,
            "{",
            "",
        ] {
            assert!(Delivery::parse(text.to_owned()).is_err(), "{text}");
        }
    }
}
