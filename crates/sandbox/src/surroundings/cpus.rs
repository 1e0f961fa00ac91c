//! Lists of CPUs as the kernel writes them: `0-3,8`.

/// The CPUs of a list, in its order; nothing of what is malformed.
pub(crate) fn parse_list(list: &str) -> Vec<u32> {
    let ranges = list.trim().split(',');
    ranges
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_single_cpus_are_read() {
        assert_eq!(parse_list("0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(parse_list("0\n"), [0]);
    }

    #[test]
    fn what_is_no_list_is_empty() {
        for text in ["", "\n", "all", "3-", "-1"] {
            assert_eq!(parse_list(text), Vec::<u32>::new(), "{text:?}");
        }
    }
}
