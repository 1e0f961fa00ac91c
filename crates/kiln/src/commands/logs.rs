//! What a job writes, as it writes it, and the rest of it at the end.

use std::collections::BTreeMap;

use kiln_client::{Client, Error, FeedItem};
use kiln_model::JobUuid;
use kiln_model::v0::{JobOutput, LiveText, TextKind};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// How much of each stream was printed.
#[derive(Debug)]
pub(super) struct Printed<'a> {
    terminal: &'a Terminal,
    /// By iteration, and whether it is standard error.
    ends: BTreeMap<(u64, bool), u64>,
}

impl<'a> Printed<'a> {
    pub(super) const fn new(terminal: &'a Terminal) -> Self {
        Self {
            terminal,
            ends: BTreeMap::new(),
        }
    }

    /// Whether anything was printed while the job ran.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn see(&mut self, item: &FeedItem) -> Result<(), Failure> {
        match item {
            FeedItem::Event(_) => Ok(()),
            FeedItem::Output { text, .. } => self.print(text),
        }
    }

    fn print(&mut self, text: &LiveText) -> Result<(), Failure> {
        let end = self.end(text.iteration, text.stream);
        if text.start > *end {
            let missing = text.start - *end;
            self.terminal
                .note(&format!("[kiln: {missing} bytes went by]"));
        }
        let end = self.end(text.iteration, text.stream);
        *end = text.start + text.text.len() as u64;
        self.terminal.piece(&text.text)
    }

    /// What the job wrote after what was printed.
    pub(super) fn print_rest(&mut self, output: &JobOutput) -> Result<(), Failure> {
        for (iteration, result) in (0..).zip(&output.results) {
            for (stream, text) in [
                (TextKind::Stdout, &result.stdout),
                (TextKind::Stderr, &result.stderr),
            ] {
                let text = text.as_deref().unwrap_or_default();
                let end = usize::try_from(*self.end(iteration, stream)).unwrap_or(usize::MAX);
                self.terminal
                    .piece(&text[text.floor_char_boundary(end)..])?;
            }
            for (path, contents) in result.output.iter().flatten() {
                self.terminal.data(&format!("── {path}\n{contents}"))?;
            }
        }
        if let Some(error) = &output.error {
            self.terminal.data(&format!("error: {error}"))?;
        }
        Ok(())
    }

    fn end(&mut self, iteration: u64, stream: TextKind) -> &mut u64 {
        let key = (iteration, stream == TextKind::Stderr);
        self.ends.entry(key).or_default()
    }
}

/// Puts the whole of each text in the place of what the job shows of it.
pub(super) async fn fill(
    client: &Client,
    project: &str,
    job: JobUuid,
    output: &mut JobOutput,
) -> Result<(), Error> {
    let Some(large) = output.large.take() else {
        return Ok(());
    };
    for text in &large.texts {
        let whole = client.get_large_text(project, job, text).await?;
        if let Some(place) = text.place(&mut output.results) {
            *place = whole;
        }
    }
    Ok(())
}
