//! From `?1` to `$1`.

/// The same statement with PostgreSQL's parameters. Literals, quoted names and comments stay as they are.
pub(super) fn numbered(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        let is_parameter = first == '?' && after.starts_with(|c: char| c.is_ascii_digit());
        out.push_str(if is_parameter { "$" } else { piece });
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_rewritten_wherever_they_stand() {
        assert_eq!(
            numbered("SELECT ?1 WHERE a=?12 AND b IN (?2,?1)"),
            "SELECT $1 WHERE a=$12 AND b IN ($2,$1)"
        );
    }

    #[test]
    fn literals_names_and_comments_stay() {
        let sql = "SELECT '?1', 'it''s ?2', \"?3\" -- ?4\n, x ? y";
        assert_eq!(numbered(sql), sql);
    }
}
