//! Which benchmarks a threshold looks past.

use std::fmt;
use std::str::FromStr;

use crate::limits::MAX_BENCHMARK_NAME;

/// A benchmark's name in which `*` stands for any text and `?` for one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pattern has 1 to {MAX_BENCHMARK_NAME} characters, this one has {length}")]
pub struct InvalidPattern {
    pub length: usize,
}

impl Pattern {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole of `name` fits. Takes at most the product of both lengths, whatever the pattern.
    pub fn matches(&self, name: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut seen) = (0, 0);
        // Where the last star stood, and how much of the name it has swallowed.
        let mut star: Option<(usize, usize)> = None;
        while seen < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, seen));
                    at += 1;
                }
                Some(wanted) if *wanted == '?' || *wanted == name[seen] => {
                    at += 1;
                    seen += 1;
                }
                _ => match &mut star {
                    Some((place, swallowed)) => {
                        *swallowed += 1;
                        (at, seen) = (*place + 1, *swallowed);
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|rest| *rest == '*')
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let length = text.chars().count();
        if (1..=MAX_BENCHMARK_NAME).contains(&length) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidPattern { length })
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, fits: &[&str], does_not: &[&str]) {
        let pattern: Pattern = pattern.parse().unwrap();
        for name in fits {
            assert!(pattern.matches(name), "{pattern} should match {name}");
        }
        for name in does_not {
            assert!(!pattern.matches(name), "{pattern} should not match {name}");
        }
    }

    #[test]
    fn a_star_is_any_text_and_a_question_mark_one_character() {
        check("adder", &["adder"], &["adder2", "an adder", ""]);
        check(
            "bench::*",
            &["bench::", "bench::a::b"],
            &["bench:", "a bench::x"],
        );
        check("*slow*", &["slow", "a slow one"], &["slo"]);
        check("a?c*z", &["abcz", "aécyyz"], &["acz", "abcy"]);
        check("*", &["", "anything"], &[]);
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern: Pattern = format!("{}b", "*a".repeat(400)).parse().unwrap();
        assert!(!pattern.matches(&"a".repeat(1024)));
    }

    #[test]
    fn an_empty_or_endless_pattern_is_refused() {
        assert_eq!("".parse::<Pattern>(), Err(InvalidPattern { length: 0 }));
        assert!("x".repeat(1025).parse::<Pattern>().is_err());
    }
}
