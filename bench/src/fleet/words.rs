//! What runners and clients say here, and what they hear.

use crate::failure::Failure;

pub(super) const RUNNING: &str = r#"{"event":"running"}"#;
pub(super) const HEARTBEAT: &str = r#"{"event":"heartbeat"}"#;
/// Seconds for which a runner of ours asks.
pub(super) const POLL_SECONDS: u32 = 55;

/// A digest that no image has: it is looked up by whoever pulls it, and here nobody does.
const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const RESULT: &str = r#"{\"speed\":{\"latency\":{\"value\":42.5}}}"#;

/// An idle runner asks for a job; what a runner tells about itself it tells once for each connection.
pub(super) fn ready(seconds: u32) -> String {
    format!(r#"{{"event":"ready","poll_timeout":{seconds}}}"#)
}

pub(super) fn introduction(seconds: u32) -> String {
    format!(
        r#"{{"event":"ready","poll_timeout":{seconds},"runner":{{"os":"linux","arch":"x86_64","version":"0.1.0"}}}}"#
    )
}

/// The result of one benchmark with one measure.
pub(super) fn completed(job: &str) -> String {
    format!(
        r#"{{"event":"completed","job":"{job}","results":[{{"exit_code":0,"stdout":"{RESULT}"}}]}}"#
    )
}

/// A run for the given spec, as a client sends it.
pub(super) fn run(project: &str, spec: &str) -> String {
    format!(
        r#"{{"project":"{project}","branch":"main","start_time":"2026-01-01T00:00:00Z","end_time":"2026-01-01T00:00:00Z","results":[],"settings":{{"adapter":"json"}},"job":{{"image":"{project}@{DIGEST}","spec":"{spec}"}}}}"#
    )
}

/// What a runner hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Job(String),
    NoJob,
    Ack,
    Cancel,
}

impl Heard {
    /// Without reading all of it: a load generator that parses JSON measures itself.
    pub(super) fn read(payload: &[u8]) -> Result<Self, Failure> {
        let text = String::from_utf8_lossy(payload);
        let event = between(&text, r#"{"event":""#);
        match event {
            Some("ack") => Ok(Self::Ack),
            Some("no_job") => Ok(Self::NoJob),
            Some("cancel") => Ok(Self::Cancel),
            Some("job") => match between(&text, r#""uuid":""#) {
                Some(uuid) => Ok(Self::Job(uuid.to_owned())),
                None => Err(Failure::Wrong(format!("a job without an id: {text}"))),
            },
            _ => Err(Failure::Wrong(format!("a runner heard {text}"))),
        }
    }
}

/// What stands between the first `before` and the next quotation mark.
fn between<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use kiln_model::v0::{NewRun, RunnerMessage};

    use super::*;

    #[test]
    fn everything_that_is_said_is_what_servers_understand() {
        let job = "01a1de48-2639-76f0-ac7d-6f226b3e8aa1";
        for word in [
            RUNNING.to_owned(),
            HEARTBEAT.to_owned(),
            ready(POLL_SECONDS),
            introduction(1),
            completed(job),
        ] {
            serde_json::from_str::<RunnerMessage>(&word).unwrap();
        }
        let run: NewRun = serde_json::from_str(&run("fleet", "bench")).unwrap();
        assert_eq!(run.job.unwrap().spec.as_deref(), Some("bench"));
    }

    #[test]
    fn what_is_heard_is_told_apart_by_its_event() {
        let job = br#"{"event":"job","uuid":"01a1","spec":{"uuid":"02b2"}}"#;
        assert_eq!(Heard::read(job).unwrap(), Heard::Job("01a1".to_owned()));
        let ack = br#"{"event":"ack","job":"01a1"}"#;
        assert_eq!(Heard::read(ack).unwrap(), Heard::Ack);
        assert!(Heard::read(br#"{"event":"update"}"#).is_err());
    }
}
