//! What a job writes, as it writes it, and the rest of it at the end.

use std::collections::BTreeMap;

use kiln_client::{Client, Error, FeedItem};
use kiln_model::JobUuid;
use kiln_model::v0::{Ended, JobOutput, LiveText, TextKind};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// How much of each stream was printed.
#[derive(Debug)]
pub(super) struct Printed<'a> {
    terminal: &'a Terminal,
    place: Place,
    /// By iteration, and whether it is standard error.
    ends: BTreeMap<(u64, bool), u64>,
    /// The iteration that wrote last.
    iteration: u64,
    /// Whether what was printed last did not end its line.
    in_line: bool,
}

/// Where it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is what was asked for.
    Data,
    /// It goes along with something else, and so says which iteration it is of.
    Aside,
}

impl<'a> Printed<'a> {
    pub(super) const fn new(terminal: &'a Terminal) -> Self {
        Self::at(terminal, Place::Data)
    }

    pub(super) const fn aside(terminal: &'a Terminal) -> Self {
        Self::at(terminal, Place::Aside)
    }

    const fn at(terminal: &'a Terminal, place: Place) -> Self {
        Self {
            terminal,
            place,
            ends: BTreeMap::new(),
            iteration: 0,
            in_line: false,
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

    pub(super) fn print(&mut self, text: &LiveText) -> Result<(), Failure> {
        let end = self.end(text.iteration, text.stream);
        if text.start > *end {
            let missing = text.start - *end;
            self.terminal
                .note(&format!("[kiln: {missing} bytes went by]"));
        }
        let end = self.end(text.iteration, text.stream);
        *end = text.start + text.text.len() as u64;
        self.put(text.iteration, &text.text)
    }

    /// What the first iterations of the job wrote after what was printed.
    pub(super) fn print_rest(&mut self, output: &JobOutput, first: usize) -> Result<(), Failure> {
        for (index, result) in output.results.iter().enumerate().take(first) {
            let iteration = index as u64;
            for (stream, text) in [
                (TextKind::Stdout, &result.stdout),
                (TextKind::Stderr, &result.stderr),
            ] {
                let text = text.as_deref().unwrap_or_default();
                let end = usize::try_from(*self.end(iteration, stream)).unwrap_or(usize::MAX);
                self.put(iteration, &text[text.floor_char_boundary(end)..])?;
            }
            for (path, contents) in result.output.iter().flatten() {
                self.put(iteration, &format!("── {path}\n{contents}\n"))?;
            }
            if let Some(end) = bad_end(output, index) {
                let line_end = if self.in_line { "\n" } else { "" };
                self.put(iteration, &format!("{line_end}── {end}\n"))?;
            }
        }
        Ok(())
    }

    /// Ends the line that was begun beside something else.
    pub(super) fn end_line(&mut self) {
        if self.in_line && self.place == Place::Aside {
            self.terminal.aside("\n");
            self.in_line = false;
        }
    }

    fn put(&mut self, iteration: u64, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        if self.iteration != iteration && self.place == Place::Aside {
            self.end_line();
            self.terminal.aside(&format!("── iteration {iteration}\n"));
        }
        self.iteration = iteration;
        self.in_line = !text.ends_with('\n');
        match self.place {
            Place::Data => self.terminal.piece(text),
            Place::Aside => {
                self.terminal.aside(text);
                Ok(())
            }
        }
    }

    fn end(&mut self, iteration: u64, stream: TextKind) -> &mut u64 {
        let key = (iteration, stream == TextKind::Stderr);
        self.ends.entry(key).or_default()
    }
}

/// How an iteration ended, unless it ended well, or its job failed with it and says so.
pub(super) fn bad_end(output: &JobOutput, index: usize) -> Option<String> {
    let exit_code = output.results.get(index)?.exit_code;
    if output.error.is_some() && index + 1 == output.results.len() {
        return None;
    }
    let conditions = output.conditions.as_deref();
    let told = conditions.and_then(|conditions| conditions.iterations.get(index));
    let signal = told.and_then(|told| told.signal);
    match told.and_then(|told| told.ended.as_ref()) {
        None | Some(Ended::Exited) => {
            (exit_code != 0).then(|| format!("exited with code {exit_code}"))
        }
        Some(Ended::Signaled) => Some(signal.map_or_else(
            || "killed by a signal".to_owned(),
            |signal| format!("killed by signal {signal}"),
        )),
        Some(Ended::TimedOut) => Some("ran into its timeout".to_owned()),
        Some(Ended::Canceled) => Some("stopped".to_owned()),
        Some(Ended::OutOfMemory) => Some("ran out of memory".to_owned()),
        Some(Ended::DiskFull) => Some(format!("filled its disk (exit code {exit_code})")),
        Some(Ended::Other(words)) => Some(words.clone()),
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
