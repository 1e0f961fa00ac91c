//! The older transport: a claim by long poll, and one socket per claimed job, whose words name no job and whose results are
//! flat.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{IterationOutput, JobOutput, LargeOutput, LiveText};

/// `POST /v0/runners/{runner}/jobs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRequest {
    /// Seconds, 30 unless told, at most 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_timeout: Option<u32>,
}

/// `POST /v0/runners/{runner}/jobs/{job}/token`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullToken {
    pub oci_token: String,
}

impl std::fmt::Debug for PullToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PullToken").finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JobMessage {
    Running,
    Heartbeat,
    /// What the job writes while it runs, where the server asks for it. Not answered.
    Output(LiveText),
    Completed {
        exit_code: i32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stdout: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<BTreeMap<String, String>>,
        /// What was uploaded beside the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        large: Option<Box<LargeOutput>>,
    },
    Failed {
        error: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stdout: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        large: Option<Box<LargeOutput>>,
    },
    Canceled,
}

impl JobMessage {
    /// What the process wrote, if this is a last word that brings it: a run of one iteration.
    pub fn into_output(self) -> Option<JobOutput> {
        match self {
            Self::Completed {
                exit_code,
                stdout,
                stderr,
                output,
                large,
            } => Some(JobOutput {
                results: vec![IterationOutput {
                    exit_code,
                    stdout,
                    stderr,
                    output,
                }],
                large,
                ..JobOutput::default()
            }),
            Self::Failed {
                error,
                exit_code,
                stdout,
                stderr,
                large,
            } => {
                let wrote = exit_code.is_some() || stdout.is_some() || stderr.is_some();
                let iteration = wrote.then(|| IterationOutput {
                    exit_code: exit_code.unwrap_or(-1),
                    stdout,
                    stderr,
                    output: None,
                });
                Some(JobOutput {
                    results: iteration.into_iter().collect(),
                    error: Some(error),
                    large,
                    ..JobOutput::default()
                })
            }
            Self::Running | Self::Heartbeat | Self::Output(_) | Self::Canceled => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_result_is_a_run_of_one_iteration() {
        let text = r#"{"event":"completed","exit_code":0,"stdout":"out","output":{"/a":"b"}}"#;
        let message: JobMessage = serde_json::from_str(text).unwrap();
        let output = message.into_output().unwrap();
        assert_eq!(output.results.len(), 1);
        assert_eq!(output.results[0].stdout.as_deref(), Some("out"));
        assert_eq!(output.error, None);
    }

    #[test]
    fn a_failure_needs_only_its_reason() {
        let text = r#"{"event":"failed","error":"no image"}"#;
        let message: JobMessage = serde_json::from_str(text).unwrap();
        let output = message.into_output().unwrap();
        assert_eq!(output.error.as_deref(), Some("no image"));
        assert!(output.results.is_empty());
    }
}
