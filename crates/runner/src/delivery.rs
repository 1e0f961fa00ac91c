//! The last word about a job, in the bytes in which it is spooled and sent.

use kiln_model::JobUuid;
use kiln_model::v0::{IterationOutput, RunnerMessage};
use serde_json::Value;

use crate::executor::Conditions;

/// What the server accepts in one message.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// A terminal message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    job: JobUuid,
    text: String,
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
        let conditions = conditions.map(written);
        Self::encode(
            job,
            &RunnerMessage::Completed {
                job,
                results,
                conditions,
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
            conditions: conditions.map(written),
        };
        Self::encode(job, &message)
    }

    pub fn canceled(job: JobUuid) -> Self {
        Self::encode(job, &RunnerMessage::Canceled { job })
    }

    /// Reads what was spooled.
    pub fn parse(text: String) -> Result<Self, NotADelivery> {
        let job = match serde_json::from_str(&text)? {
            RunnerMessage::Completed { job, .. }
            | RunnerMessage::Failed { job, .. }
            | RunnerMessage::Canceled { job } => job,
            RunnerMessage::Ready { .. } | RunnerMessage::Running | RunnerMessage::Heartbeat => {
                return Err(NotADelivery::NotTerminal);
            }
        };
        Ok(Self { job, text })
    }

    pub const fn job(&self) -> JobUuid {
        self.job
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    fn encode(job: JobUuid, message: &RunnerMessage) -> Self {
        let text = serde_json::to_string(message).expect("a message has only text keys");
        Self { job, text }
    }
}

fn written(conditions: &Conditions) -> Value {
    serde_json::to_value(conditions).expect("conditions have only text keys")
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
