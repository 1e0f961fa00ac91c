//! What the user sees: data on stdout, everything else on stderr.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::{Exit, Failure};

#[derive(Debug)]
pub(crate) struct Terminal {
    quiet: bool,
    progress: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    pub(crate) const fn new(quiet: bool) -> Self {
        Self {
            quiet,
            progress: Mutex::new(None),
        }
    }

    /// Data: one line, or several.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        let written = self.beside_progress(|| {
            let mut out = anstream::stdout().lock();
            writeln!(out, "{}", printable(text)).and_then(|()| out.flush())
        });
        match written {
            // Whoever read this has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => Ok(outcome?),
        }
    }

    /// Data that does not end with a line.
    pub(crate) fn piece(&self, text: &str) -> Result<(), Failure> {
        let written = self.beside_progress(|| {
            let mut out = anstream::stdout().lock();
            write!(out, "{}", printable(text)).and_then(|()| out.flush())
        });
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => Ok(outcome?),
        }
    }

    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|error| {
            Failure::unexpected("the answer cannot be written as JSON").because(&error)
        })?;
        self.data(&text)
    }

    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// One line about what is going on.
    pub(crate) fn note(&self, line: &str) {
        if !self.quiet {
            self.above_progress(line);
        }
    }

    /// What a job writes, beside the data.
    pub(crate) fn aside(&self, text: &str) {
        self.pass_on(printable(text).as_bytes());
    }

    /// What a command of the user's own prints, as it is.
    pub(crate) fn pass_on(&self, bytes: &[u8]) {
        if !self.quiet {
            // If stderr is gone there is nobody to tell.
            let _ = self.beside_progress(|| io::stderr().lock().write_all(bytes));
        }
    }

    pub(crate) fn warn(&self, line: &str) {
        self.above_progress(&format!("warning: {line}"));
    }

    /// A line that shows what the command is doing now; only on a terminal.
    pub(crate) fn progress(&self, what: &str) {
        if self.quiet || !io::stderr().is_terminal() {
            return;
        }
        let mut progress = self.lock();
        let bar = progress.get_or_insert_with(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
                .expect("the template is a constant");
            bar.set_style(style);
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
            bar
        });
        bar.set_message(what.to_owned());
    }

    pub(crate) fn end_progress(&self) {
        if let Some(bar) = self.lock().take() {
            bar.finish_and_clear();
        }
    }

    pub(crate) fn fail(&self, failure: &Failure) -> Exit {
        self.end_progress();
        let mut err = anstream::stderr().lock();
        let mut text = format!("error: {}\n", failure.message);
        for cause in &failure.causes {
            text.push_str("  cause: ");
            text.push_str(cause);
            text.push('\n');
        }
        if let Some(hint) = &failure.hint {
            text.push_str("hint: ");
            text.push_str(hint);
            text.push('\n');
        }
        // If stderr is gone there is nobody to tell.
        let _ = err.write_all(printable(&text).as_bytes());
        failure.exit
    }

    fn above_progress(&self, line: &str) {
        self.beside_progress(|| {
            // If stderr is gone there is nobody to tell.
            let _ = writeln!(anstream::stderr().lock(), "{}", printable(line));
        });
    }

    /// Takes the progress line away while `write` writes.
    fn beside_progress<T>(&self, write: impl FnOnce() -> T) -> T {
        match &*self.lock() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<ProgressBar>> {
        self.progress
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Names and outputs come from anywhere: what a terminal would obey is not printed.
fn printable(text: &str) -> String {
    let shown = |c: char| {
        if c.is_control() && c != '\n' && c != '\t' {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_given_orders() {
        assert_eq!(
            printable("a\u{1b}[31mb\r\n\tc\u{9b}"),
            "a\u{fffd}[31mb\u{fffd}\n\tc\u{fffd}"
        );
    }
}
