//! Ours: output that does not fit into one message. It is uploaded beside the channel, and the last word about the job
//! names it; a stock server or runner never notices.

use serde::{Deserialize, Serialize};

use super::{IterationOutput, JobOutput};
use crate::Digest;

/// The header of a channel's answer in which a server says how many bytes of output it takes beside the message.
pub const OUTPUT_LIMIT_HEADER: &str = "kiln-output-limit";

/// What was uploaded: texts one after the other, and where in it each of them lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeOutput {
    pub digest: Digest,
    pub size: u64,
    pub texts: Vec<LargeText>,
}

/// A text of which the message has only the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeText {
    /// From 0.
    pub iteration: u64,
    pub stream: TextKind,
    /// Of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where it begins in what was uploaded.
    pub start: u64,
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    Stdout,
    Stderr,
    File,
}

/// How far an upload has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadProgress {
    /// How many bytes are there, from the first on.
    pub received: u64,
    /// Whether all of it is there and its digest was found right.
    pub complete: bool,
}

impl LargeText {
    /// Where it ends in what was uploaded.
    pub const fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }

    /// Where its beginning is among results.
    pub fn place<'a>(&self, results: &'a mut [IterationOutput]) -> Option<&'a mut String> {
        let iteration = results.get_mut(usize::try_from(self.iteration).ok()?)?;
        match (self.stream, &self.path) {
            (TextKind::Stdout, _) => iteration.stdout.as_mut(),
            (TextKind::Stderr, _) => iteration.stderr.as_mut(),
            (TextKind::File, Some(path)) => iteration.output.as_mut()?.get_mut(path),
            (TextKind::File, None) => None,
        }
    }
}

impl JobOutput {
    /// Forgets where texts lie that are not part of the output, or not of what was uploaded.
    pub fn forget_strays(&mut self) {
        let Self { results, large, .. } = self;
        if let Some(large) = large {
            let size = large.size;
            large
                .texts
                .retain(|text| text.end() <= size && text.place(results).is_some());
        }
    }

    /// Puts the whole texts in the place of their beginnings. What lies nowhere in `uploaded` stays as it is.
    pub fn fill(&mut self, uploaded: &str) {
        let Some(large) = self.large.take() else {
            return;
        };
        for text in &large.texts {
            let range = usize::try_from(text.start)
                .ok()
                .zip(usize::try_from(text.end()).ok());
            let whole = range.and_then(|(start, end)| uploaded.get(start..end));
            if let (Some(whole), Some(place)) = (whole, text.place(&mut self.results)) {
                whole.clone_into(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn text(stream: TextKind, path: Option<&str>, start: u64, size: u64) -> LargeText {
        LargeText {
            iteration: 0,
            stream,
            path: path.map(str::to_owned),
            start,
            size,
        }
    }

    fn output(texts: Vec<LargeText>) -> JobOutput {
        JobOutput {
            results: vec![IterationOutput {
                exit_code: 0,
                stdout: Some("be".to_owned()),
                stderr: Some("whole".to_owned()),
                output: Some(BTreeMap::from([("/f".to_owned(), "fi".to_owned())])),
            }],
            large: Some(Box::new(LargeOutput {
                digest: Digest::from_hash(&[7; 32]).unwrap(),
                size: 13,
                texts,
            })),
            ..JobOutput::default()
        }
    }

    #[test]
    fn whole_texts_take_the_place_of_their_beginnings() {
        let mut filled = output(vec![
            text(TextKind::Stdout, None, 0, 9),
            text(TextKind::File, Some("/f"), 9, 4),
        ]);
        filled.fill("beginningfile");
        let result = &filled.results[0];
        assert_eq!(result.stdout.as_deref(), Some("beginning"));
        assert_eq!(result.stderr.as_deref(), Some("whole"));
        assert_eq!(result.output.as_ref().unwrap()["/f"], "file");
        assert_eq!(filled.large, None);
    }

    #[test]
    fn texts_that_lie_nowhere_are_forgotten() {
        let mut strays = output(vec![
            text(TextKind::Stdout, None, 5, u64::MAX),
            text(TextKind::File, Some("/other"), 0, 1),
            text(TextKind::File, None, 0, 1),
            text(TextKind::Stderr, None, 0, 13),
        ]);
        strays.forget_strays();
        let texts = &strays.large.as_ref().unwrap().texts;
        assert_eq!(texts, &[text(TextKind::Stderr, None, 0, 13)]);
    }

    #[test]
    fn a_range_that_cuts_a_character_changes_nothing() {
        let mut odd = output(vec![text(TextKind::Stdout, None, 0, 1)]);
        odd.fill("é");
        assert_eq!(odd.results[0].stdout.as_deref(), Some("be"));
    }
}
