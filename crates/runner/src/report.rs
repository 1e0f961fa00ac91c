//! From how a job went to the message that says so, within what the server accepts.

use kiln_model::v0::{Conditions, LargeOutput, RunnerMessage, Truncated};
use kiln_model::{Digest, JobUuid};
use sha2::{Digest as _, Sha256};

use crate::executor::{Execution, SetUpError, Verdict};
use crate::{Delivery, MAX_MESSAGE_BYTES, Output};

/// A reason for a person; a longer one is not read.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// The message for a job that was executed. What does not fit into it goes beside it, up to `beside` bytes, and is cut off
/// beyond that.
pub(crate) fn of_execution(job: JobUuid, execution: Execution, beside: usize) -> Delivery {
    let Execution {
        verdict,
        mut output,
        mut conditions,
    } = execution;
    let report = Report { job, verdict };
    // The words around the texts: the same message with all of them shortened to nothing.
    conditions.truncated = Some(Truncated {
        texts: u64::MAX,
        lost_bytes: u64::MAX,
    });
    let mut bare = output.clone();
    bare.shrink(0);
    let around = |large| {
        report
            .message(bare.clone(), &conditions, large)
            .text()
            .len()
    };
    let room = |large| MAX_MESSAGE_BYTES.checked_sub(around(large));
    let every_text = LargeOutput {
        digest: digest(""),
        size: u64::MAX,
        texts: output.names(),
    };
    let with_large = room(Some(every_text)).filter(|_| beside > 0);
    let (budget, beside) = match (with_large, room(None)) {
        (Some(budget), _) => (budget, beside),
        (None, Some(budget)) => (budget, 0),
        (None, None) => return too_large(job, output.iterations().len()),
    };
    let delivery = if beside == 0 {
        output.shrink(budget);
        conditions.truncated = output.truncated();
        report.message(output, &conditions, None)
    } else {
        output.cap(beside);
        conditions.truncated = output.truncated();
        report.split(output, &conditions, budget)
    };
    if delivery.text().len() > MAX_MESSAGE_BYTES {
        return too_large(job, conditions.iterations.len());
    }
    delivery
}

/// What is said about a job.
struct Report {
    job: JobUuid,
    verdict: Verdict,
}

impl Report {
    fn split(&self, mut output: Output, conditions: &Conditions, budget: usize) -> Delivery {
        let (whole, texts) = output.split(budget);
        if texts.is_empty() {
            return self.message(output, conditions, None);
        }
        let large = LargeOutput {
            digest: digest(&whole),
            size: whole.len() as u64,
            texts,
        };
        self.message(output, conditions, Some(large))
            .with_bytes(whole.into())
    }

    fn message(
        &self,
        output: Output,
        conditions: &Conditions,
        large: Option<LargeOutput>,
    ) -> Delivery {
        let job = self.job;
        let results = output.into_results();
        let conditions = Some(Box::new(conditions.clone()));
        let large = large.map(Box::new);
        let message = match &self.verdict {
            Verdict::Completed => RunnerMessage::Completed {
                job,
                results,
                conditions,
                large,
            },
            Verdict::Failed(error) => RunnerMessage::Failed {
                job,
                results,
                error: bounded(error),
                conditions,
                large,
            },
        };
        Delivery::encode(job, &message)
    }
}

fn digest(text: &str) -> Digest {
    Digest::from_hash(&Sha256::digest(text.as_bytes())).expect("a SHA-256 has 32 bytes")
}

/// The message for a job that could not be set up.
pub(crate) fn of_set_up_error(job: JobUuid, failure: &SetUpError) -> Delivery {
    Delivery::failed(
        job,
        Vec::new(),
        bounded(&failure.error),
        Some(&failure.conditions),
    )
}

fn too_large(job: JobUuid, iterations: usize) -> Delivery {
    let error = format!(
        "deliver: the results of {iterations} iterations do not fit into one message of {MAX_MESSAGE_BYTES} bytes \
         even without their output; ask for fewer iterations or files"
    );
    Delivery::failed(job, Vec::new(), error, None)
}

fn bounded(error: &str) -> String {
    let end = error.floor_char_boundary(MAX_ERROR_BYTES);
    error[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kiln_model::v0::JobOutput;
    use serde_json::Value;

    use super::*;
    use crate::Iteration;

    fn job() -> JobUuid {
        "01a1de48-2639-76f0-ac7d-6f226b3e8aa1".parse().unwrap()
    }

    fn report(verdict: Verdict, iterations: impl IntoIterator<Item = Iteration>) -> Delivery {
        report_beside(verdict, iterations, 0)
    }

    fn report_beside(
        verdict: Verdict,
        iterations: impl IntoIterator<Item = Iteration>,
        beside: usize,
    ) -> Delivery {
        let mut output = Output::new(beside.max(MAX_MESSAGE_BYTES));
        for iteration in iterations {
            output.push(iteration);
        }
        let conditions = Conditions::default();
        of_execution(
            job(),
            Execution {
                verdict,
                output,
                conditions,
            },
            beside,
        )
    }

    fn printed(stdout: &str) -> Iteration {
        Iteration {
            stdout: stdout.into(),
            ..Iteration::default()
        }
    }

    #[test]
    fn a_small_result_is_sent_whole() {
        let delivery = report(Verdict::Completed, [printed("42\n")]);
        let RunnerMessage::Completed { results, .. } =
            serde_json::from_str(delivery.text()).unwrap()
        else {
            panic!("{delivery:?}")
        };
        assert_eq!(results[0].stdout.as_deref(), Some("42\n"));
        assert!(!delivery.text().contains("truncated"));
    }

    #[test]
    fn a_result_of_any_size_fits_into_a_message_and_fills_it() {
        for text in ["\u{1}", "🦀"] {
            let delivery = report(
                Verdict::Completed,
                [printed(
                    &text.repeat(MAX_MESSAGE_BYTES / text.len() + 1_000),
                )],
            );
            let size = delivery.text().len();
            assert!(size <= MAX_MESSAGE_BYTES, "{text:?}: {size}");
            assert!(size > MAX_MESSAGE_BYTES - 2_000, "{text:?}: {size}");
            let read: Value = serde_json::from_str(delivery.text()).unwrap();
            assert_eq!(read["conditions"]["truncated"]["texts"], 1, "{text:?}");
            assert!(matches!(
                serde_json::from_str(delivery.text()),
                Ok(RunnerMessage::Completed { .. })
            ));
        }
    }

    fn job_output(delivery: &Delivery) -> JobOutput {
        let RunnerMessage::Completed { results, large, .. } =
            serde_json::from_str(delivery.text()).unwrap()
        else {
            panic!("{delivery:?}")
        };
        JobOutput {
            results,
            large,
            ..JobOutput::default()
        }
    }

    #[test]
    fn what_does_not_fit_goes_beside_the_message_whole() {
        let long = "0123456789\n".repeat(600_000);
        let iterations = [printed("short"), printed(&long)];
        let delivery = report_beside(Verdict::Completed, iterations, 64 << 20);
        assert!(delivery.text().len() <= MAX_MESSAGE_BYTES);
        assert!(!delivery.text().contains("truncated"));
        let bytes = delivery.large().unwrap().bytes().unwrap().to_vec();
        let mut output = job_output(&delivery);
        output.fill(std::str::from_utf8(&bytes).unwrap());
        assert_eq!(output.results[0].stdout.as_deref(), Some("short"));
        assert_eq!(output.results[1].stdout.as_deref(), Some(long.as_str()));
    }

    #[test]
    fn what_fits_goes_into_the_message_alone() {
        let delivery = report_beside(Verdict::Completed, [printed("42")], 64 << 20);
        assert_eq!(delivery.large(), None);
    }

    #[test]
    fn more_than_the_server_takes_is_cut_off_and_marked() {
        let beside = 5 << 20;
        let long = "x".repeat(6 << 20);
        let delivery = report_beside(Verdict::Completed, [printed(&long)], beside);
        let large = delivery.large().unwrap();
        assert!(large.size <= beside as u64, "{}", large.size);
        let text = std::str::from_utf8(large.bytes().unwrap()).unwrap();
        assert!(text.ends_with(" of 6291456 bytes]\n"));
        let read: Value = serde_json::from_str(delivery.text()).unwrap();
        assert_eq!(read["conditions"]["truncated"]["texts"], 1);
    }

    #[test]
    fn without_what_goes_beside_it_the_message_has_the_beginnings() {
        let long = "x".repeat(6 << 20);
        let delivery = report_beside(Verdict::Completed, [printed(&long)], 64 << 20);
        let alone = delivery.without_large();
        assert_eq!(alone.large(), None);
        let stdout = job_output(&alone).results[0].stdout.clone().unwrap();
        assert!(stdout.starts_with("xxx") && stdout.contains("[kiln: cut off after"));
    }

    #[test]
    fn results_too_many_for_a_message_fail_with_advice() {
        let files: BTreeMap<_, _> = (0..255)
            .map(|n| (format!("/{n}/{}", "p".repeat(100)), "".into()))
            .collect();
        let iteration = Iteration {
            files: Some(files),
            ..Iteration::default()
        };
        let delivery = report(Verdict::Completed, vec![iteration; 1_000]);
        assert!(
            delivery
                .text()
                .contains("ask for fewer iterations or files")
        );
    }

    #[test]
    fn an_endless_reason_is_bounded() {
        let delivery = report(Verdict::Failed("é".repeat(1 << 20)), []);
        assert!(delivery.text().len() < 2 * MAX_ERROR_BYTES);
    }
}
