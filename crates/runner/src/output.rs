//! What the command wrote, iteration by iteration, within bounds.

use std::collections::BTreeMap;

use kiln_model::v0::{IterationOutput, LargeText, TextKind, Truncated};

use crate::MAX_MESSAGE_BYTES;

/// Room for the mark at the end of a text that was cut off.
const MARK_BYTES: usize = 96;

/// All iterations of a job. It never holds much more than can be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    iterations: Vec<Iteration>,
    kept_bytes: usize,
    limit: usize,
}

impl Default for Output {
    /// For one message.
    fn default() -> Self {
        Self::new(MAX_MESSAGE_BYTES)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iteration {
    pub exit_code: i32,
    pub stdout: Captured,
    pub stderr: Captured,
    /// By path; `None` when no files were asked for.
    pub files: Option<BTreeMap<String, Captured>>,
}

/// The beginning of a text, and how much of it is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    text: String,
    lost_bytes: u64,
}

impl Captured {
    /// The first bytes of something longer by `lost_bytes`. What is not UTF-8 is replaced.
    pub fn new(kept: &[u8], lost_bytes: u64) -> Self {
        Self {
            text: String::from_utf8_lossy(kept).into_owned(),
            lost_bytes,
        }
    }

    /// Shortens the text so that it takes at most `limit` bytes in JSON. A character is never cut in two.
    fn shorten(&mut self, limit: usize) {
        let mut size = 0;
        let end = self.text.bytes().position(|byte| {
            size += encoded_bytes(byte);
            size > limit
        });
        if let Some(end) = end {
            self.cut(end);
        }
    }

    /// Keeps the first `end` bytes. A character is never cut in two.
    fn cut(&mut self, end: usize) {
        if end < self.text.len() {
            let end = self.text.floor_char_boundary(end);
            let lost = (self.text.len() - end) as u64;
            self.lost_bytes = self.lost_bytes.saturating_add(lost);
            self.text.truncate(end);
        }
    }

    fn into_marked(self) -> String {
        if self.lost_bytes == 0 {
            return self.text;
        }
        let kept = self.text.len();
        let all = (kept as u64).saturating_add(self.lost_bytes);
        format!(
            "{}\n[kiln: cut off after {kept} of {all} bytes]\n",
            self.text
        )
    }
}

impl From<&str> for Captured {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes(), 0)
    }
}

impl Iteration {
    /// The texts that hold results: the files that were asked for, or what was written to standard output.
    pub(crate) fn result_texts(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().flat_map(BTreeMap::values);
        let stdout = self.files.is_none().then_some(&self.stdout);
        files.chain(stdout).map(|captured| captured.text.as_str())
    }

    fn kept_bytes(&self) -> usize {
        self.texts().map(|captured| captured.text.len()).sum()
    }

    fn texts(&self) -> impl Iterator<Item = &Captured> {
        let files = self.files.iter().flat_map(BTreeMap::values);
        [&self.stdout, &self.stderr].into_iter().chain(files)
    }

    fn texts_mut(&mut self) -> impl Iterator<Item = &mut Captured> {
        let files = self.files.iter_mut().flat_map(BTreeMap::values_mut);
        [&mut self.stdout, &mut self.stderr]
            .into_iter()
            .chain(files)
    }
}

impl Output {
    /// Of which about `limit` bytes can be delivered.
    pub fn new(limit: usize) -> Self {
        Self {
            iterations: Vec::new(),
            kept_bytes: 0,
            limit,
        }
    }

    /// Adds an iteration. When it gets much more than can be delivered, the longest texts are shortened.
    pub fn push(&mut self, iteration: Iteration) {
        self.kept_bytes += iteration.kept_bytes();
        self.iterations.push(iteration);
        if self.kept_bytes > self.limit.saturating_add(MAX_MESSAGE_BYTES) {
            self.cap(self.limit);
        }
    }

    /// Shortens the longest texts until all together have at most `budget` bytes, marks included.
    pub(crate) fn cap(&mut self, budget: usize) {
        let sizes: Vec<usize> = self.texts().map(|text| text.text.len()).collect();
        let marks = sizes.len() * MARK_BYTES;
        if sizes.iter().sum::<usize>() + marks <= budget {
            return;
        }
        let limit = fair_limit(&sizes, budget.saturating_sub(marks));
        for text in self.iterations.iter_mut().flat_map(Iteration::texts_mut) {
            text.cut(limit);
        }
        self.kept_bytes = self.iterations.iter().map(Iteration::kept_bytes).sum();
    }

    pub fn iterations(&self) -> &[Iteration] {
        &self.iterations
    }

    /// Shortens the longest texts until all together take at most `budget` bytes in JSON, marks included.
    pub(crate) fn shrink(&mut self, budget: usize) {
        let Some(limit) = self.encoded_limit(budget) else {
            return;
        };
        for text in self.iterations.iter_mut().flat_map(Iteration::texts_mut) {
            text.shorten(limit);
        }
        self.kept_bytes = self.iterations.iter().map(Iteration::kept_bytes).sum();
    }

    /// The same, and answers the texts that were shortened: whole, one after the other, and where each of them is.
    pub(crate) fn split(&mut self, budget: usize) -> (String, Vec<LargeText>) {
        let (mut whole, mut places) = (String::new(), Vec::new());
        let Some(limit) = self.encoded_limit(budget) else {
            return (whole, places);
        };
        let mut names = self.names().into_iter();
        for text in self.iterations.iter_mut().flat_map(Iteration::texts_mut) {
            let name = names.next().expect("each text has a name");
            if encoded_size(text) <= limit {
                continue;
            }
            let start = whole.len() as u64;
            whole.push_str(&text.clone().into_marked());
            text.shorten(limit);
            let size = whole.len() as u64 - start;
            places.push(LargeText {
                start,
                size,
                ..name
            });
        }
        self.kept_bytes = self.iterations.iter().map(Iteration::kept_bytes).sum();
        (whole, places)
    }

    /// Every text, as if it lay at the end of the largest of outputs.
    pub(crate) fn names(&self) -> Vec<LargeText> {
        let name = |iteration: usize, stream: TextKind, path: Option<&String>| LargeText {
            iteration: iteration as u64,
            stream,
            path: path.cloned(),
            start: u64::MAX,
            size: u64::MAX,
        };
        let of = |(number, iteration): (usize, &Iteration)| {
            let files = iteration.files.iter().flat_map(BTreeMap::keys);
            let files: Vec<LargeText> = files
                .map(|path| name(number, TextKind::File, Some(path)))
                .collect();
            let streams = [TextKind::Stdout, TextKind::Stderr];
            streams
                .map(|stream| name(number, stream, None))
                .into_iter()
                .chain(files)
        };
        self.iterations.iter().enumerate().flat_map(of).collect()
    }

    /// How long a text may be in JSON so that all together take at most `budget` bytes; none if they do.
    fn encoded_limit(&self, budget: usize) -> Option<usize> {
        let sizes: Vec<usize> = self.texts().map(encoded_size).collect();
        if sizes.iter().sum::<usize>() <= budget && self.texts().all(|text| text.lost_bytes == 0) {
            return None;
        }
        let budget = budget.saturating_sub(sizes.len() * MARK_BYTES);
        Some(fair_limit(&sizes, budget))
    }

    pub(crate) fn truncated(&self) -> Option<Truncated> {
        let lost = self
            .texts()
            .map(|text| text.lost_bytes)
            .filter(|lost| *lost > 0);
        let truncated = lost.fold(Truncated::default(), |sum, lost| Truncated {
            texts: sum.texts + 1,
            // How long a file is, only the guest says.
            lost_bytes: sum.lost_bytes.saturating_add(lost),
        });
        (truncated.texts > 0).then_some(truncated)
    }

    pub fn into_results(self) -> Vec<IterationOutput> {
        self.iterations
            .into_iter()
            .map(|iteration| IterationOutput {
                exit_code: iteration.exit_code,
                stdout: Some(iteration.stdout.into_marked()),
                stderr: Some(iteration.stderr.into_marked()),
                output: iteration.files.map(|files| {
                    files
                        .into_iter()
                        .map(|(path, text)| (path, text.into_marked()))
                        .collect()
                }),
            })
            .collect()
    }

    fn texts(&self) -> impl Iterator<Item = &Captured> {
        self.iterations.iter().flat_map(Iteration::texts)
    }
}

/// The largest limit that brings all sizes within the budget: short texts stay whole, the long ones get alike.
fn fair_limit(sizes: &[usize], budget: usize) -> usize {
    let total = |limit: usize| sizes.iter().map(|size| (*size).min(limit)).sum::<usize>();
    let (mut fits, mut too_much) = (0, budget + 1);
    while too_much - fits > 1 {
        let middle = fits + (too_much - fits) / 2;
        if total(middle) <= budget {
            fits = middle;
        } else {
            too_much = middle;
        }
    }
    fits
}

fn encoded_size(captured: &Captured) -> usize {
    captured.text.bytes().map(encoded_bytes).sum()
}

/// What a byte of a text takes inside a JSON string.
const fn encoded_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iteration(stdout: &str, stderr: &str) -> Iteration {
        Iteration {
            stdout: stdout.into(),
            stderr: stderr.into(),
            ..Iteration::default()
        }
    }

    fn output(iterations: impl IntoIterator<Item = Iteration>) -> Output {
        let mut output = Output::default();
        for iteration in iterations {
            output.push(iteration);
        }
        output
    }

    fn stdout_of(output: Output) -> String {
        output.into_results()[0].stdout.clone().unwrap()
    }

    #[test]
    fn what_fits_is_left_alone() {
        let mut small = output([iteration("one", "two")]);
        small.shrink(10_000);
        assert_eq!(small, output([iteration("one", "two")]));
        assert_eq!(small.truncated(), None);
        assert_eq!(stdout_of(small), "one");
    }

    #[test]
    fn the_longest_text_is_cut_and_marked_and_short_ones_stay_whole() {
        let mut large = output([iteration(&"x".repeat(5_000), "short")]);
        large.shrink(1_000);
        assert_eq!(large.truncated().unwrap().texts, 1);
        let results = large.into_results();
        let stdout = results[0].stdout.as_deref().unwrap();
        assert!(stdout.ends_with(" of 5000 bytes]\n"), "{stdout}");
        assert!(
            stdout.len() > 600 && stdout.len() < 1_000,
            "{}",
            stdout.len()
        );
        assert_eq!(results[0].stderr.as_deref(), Some("short"));
    }

    #[test]
    fn the_results_take_no_more_than_their_budget_whatever_the_characters() {
        for text in ["\u{1}", "\"", "é", "🦀", "x", "\u{fffd}"] {
            let mut large = output([iteration(&text.repeat(4_000), &text.repeat(300))]);
            large.shrink(2_000);
            let result = &large.into_results()[0];
            let texts = [&result.stdout, &result.stderr];
            let size: usize = texts
                .map(|text| serde_json::to_string(text).unwrap().len() - 2)
                .iter()
                .sum();
            assert!(size <= 2_000, "{text:?}: {size}");
            assert!(size > 1_500, "{text:?}: {size}");
        }
    }

    #[test]
    fn a_stream_cut_off_by_the_sandbox_is_marked_too() {
        let mut cut = output([Iteration {
            stdout: Captured::new(b"beginning", 991),
            ..Iteration::default()
        }]);
        cut.shrink(10_000);
        assert_eq!(
            cut.truncated(),
            Some(Truncated {
                texts: 1,
                lost_bytes: 991
            })
        );
        assert_eq!(
            stdout_of(cut),
            "beginning\n[kiln: cut off after 9 of 1000 bytes]\n"
        );
    }

    #[test]
    fn a_mark_tells_the_whole_length_after_several_cuts() {
        let mut twice = output([iteration(&"x".repeat(5_000), "")]);
        twice.shrink(3_000);
        twice.shrink(1_000);
        assert!(stdout_of(twice).contains(" of 5000 bytes]"));
    }

    #[test]
    fn many_iterations_never_hold_much_more_than_a_message() {
        let long = "x".repeat(MAX_MESSAGE_BYTES);
        let mut many = Output::default();
        for _ in 0..4 {
            many.push(iteration(&long, ""));
            let kept: usize = many.texts().map(|captured| captured.text.len()).sum();
            assert!(kept <= 2 * MAX_MESSAGE_BYTES);
        }
        assert_eq!(many.iterations().len(), 4);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let captured = Captured::new(&[b'a', 0xff, b'b'], 0);
        assert_eq!(captured.into_marked(), "a\u{fffd}b");
    }
}
