//! Benchmarks that say by their own name that they want no alert.

/// As stock servers know them.
const ENDINGS: [&str; 3] = ["_bencher_ignore", "BencherIgnore", "-bencher-ignore"];

/// The name without such an ending, and whether there was one. What is nothing but the ending stays as it is.
pub fn without_ending(benchmark: &str) -> (&str, bool) {
    let plain = ENDINGS
        .iter()
        .find_map(|ending| benchmark.strip_suffix(ending))
        .filter(|plain| !plain.is_empty());
    match plain {
        Some(plain) => (plain, true),
        None => (benchmark, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ending_is_taken_off() {
        for name in [
            "adder_bencher_ignore",
            "adderBencherIgnore",
            "adder-bencher-ignore",
        ] {
            assert_eq!(without_ending(name), ("adder", true));
        }
    }

    #[test]
    fn other_names_stay_what_they_are() {
        for name in ["adder", "BencherIgnored", "_bencher_ignore", ""] {
            assert_eq!(without_ending(name), (name, false));
        }
    }
}
