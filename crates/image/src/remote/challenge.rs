//! The `WWW-Authenticate` header: how a registry wants to be asked.

/// A scheme a registry offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

impl Challenge {
    /// Reads one challenge; `None` for schemes Kiln does not speak.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let header = header.trim();
        let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        for (key, value) in parameters(rest) {
            match key.to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value),
                "service" => service = Some(value),
                "scope" => scope = Some(value),
                _ => {}
            }
        }
        Some(Self::Bearer {
            realm: realm?,
            service,
            scope,
        })
    }
}

/// `key="value", key=value`; commas inside quotes belong to the value.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',']);
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = if let Some(quoted) = after.strip_prefix('"') {
            unquote(quoted)
        } else {
            let end = after.find(',').unwrap_or(after.len());
            (after[..end].trim().to_owned(), &after[end..])
        };
        found.push((key.trim().to_owned(), value));
        rest = after.trim_start_matches([' ', ',']);
    }
    found
}

fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_do_not_split() {
        let header = r#"Bearer realm="https://h/token",service="h",scope="repository:a:pull,push""#;
        assert_eq!(
            Challenge::parse(header),
            Some(Challenge::Bearer {
                realm: "https://h/token".into(),
                service: Some("h".into()),
                scope: Some("repository:a:pull,push".into()),
            })
        );
    }

    #[test]
    fn schemes_are_told_apart() {
        assert_eq!(Challenge::parse("basic realm=x"), Some(Challenge::Basic));
        assert_eq!(Challenge::parse("Digest realm=x"), None);
        assert_eq!(Challenge::parse("Bearer service=x"), None);
        assert_eq!(
            Challenge::parse("bearer realm=http://h/t, service=x"),
            Some(Challenge::Bearer {
                realm: "http://h/t".into(),
                service: Some("x".into()),
                scope: None,
            })
        );
    }

    proptest::proptest! {
        #[test]
        fn any_header_is_read_or_passed_over(text in "(Bearer )?[a-z=\", \\\\]{0,40}") {
            let _read_or_not = Challenge::parse(&text);
        }
    }
}
