//! From how a job went to the message that says so, within what the server accepts.

use kiln_model::JobUuid;
use kiln_model::v0::{Conditions, Truncated};

use crate::executor::{Execution, SetUpError, Verdict};
use crate::{Delivery, MAX_MESSAGE_BYTES, Output};

/// A reason for a person; a longer one is not read.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// The message for a job that was executed.
pub(crate) fn of_execution(job: JobUuid, execution: Execution) -> Delivery {
    let Execution {
        verdict,
        mut output,
        mut conditions,
    } = execution;
    let deliver = |output: Output, conditions: &Conditions| match &verdict {
        Verdict::Completed => Delivery::completed(job, output.into_results(), Some(conditions)),
        Verdict::Failed(error) => {
            Delivery::failed(job, output.into_results(), bounded(error), Some(conditions))
        }
    };
    // The words around the texts: the same message with all of them shortened to nothing.
    conditions.truncated = Some(Truncated {
        texts: u64::MAX,
        lost_bytes: u64::MAX,
    });
    let mut bare = output.clone();
    bare.shrink(0);
    let around = deliver(bare, &conditions).text().len();
    let Some(budget) = MAX_MESSAGE_BYTES.checked_sub(around) else {
        return too_large(job, output.iterations().len());
    };
    output.shrink(budget);
    conditions.truncated = output.truncated();
    let delivery = deliver(output, &conditions);
    if delivery.text().len() > MAX_MESSAGE_BYTES {
        return too_large(job, conditions.iterations.len());
    }
    delivery
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

    use kiln_model::v0::RunnerMessage;
    use serde_json::Value;

    use super::*;
    use crate::Iteration;

    fn job() -> JobUuid {
        "01a1de48-2639-76f0-ac7d-6f226b3e8aa1".parse().unwrap()
    }

    fn report(verdict: Verdict, iterations: impl IntoIterator<Item = Iteration>) -> Delivery {
        let mut output = Output::default();
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
