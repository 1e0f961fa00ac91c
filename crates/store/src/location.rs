//! Where the database is, from what a person wrote.

use std::path::PathBuf;

use crate::Error;

#[derive(Clone, Debug)]
pub(crate) enum Location {
    Memory,
    Sqlite(PathBuf),
    Postgres(Box<postgres::Config>),
}

impl Location {
    /// A path, `sqlite:PATH`, `sqlite::memory:` or a `postgres://` URL.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if text == "sqlite::memory:" {
            return Ok(Self::Memory);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            // The parser's own words could repeat the password.
            return text.parse().map(|config| Self::Postgres(Box::new(config))).map_err(|_| {
                Error::Refused(
                    "the database URL is not valid; write postgres://USER:PASSWORD@HOST:PORT/DATABASE".into(),
                )
            });
        }
        let path = text
            .strip_prefix("sqlite://")
            .or_else(|| text.strip_prefix("sqlite:"))
            .unwrap_or(text);
        if let Some((scheme, _)) = path.split_once("://") {
            return Err(Error::Refused(format!(
                "{scheme}:// is no database Kiln knows; give a file path, or a postgres:// URL"
            )));
        }
        if path.is_empty() {
            return Err(Error::Refused(
                "the database has no name; give a file path, or a postgres:// URL".into(),
            ));
        }
        Ok(Self::Sqlite(path.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Location::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_path_may_be_written_in_three_ways() {
        for text in [
            "/var/lib/kiln.db",
            "sqlite:/var/lib/kiln.db",
            "sqlite:///var/lib/kiln.db",
        ] {
            let Location::Sqlite(path) = Location::parse(text).unwrap() else {
                panic!("{text}")
            };
            assert_eq!(path.to_str(), Some("/var/lib/kiln.db"));
        }
    }

    #[test]
    fn memory_and_postgres_are_told_apart_from_paths() {
        assert!(matches!(
            Location::parse("sqlite::memory:"),
            Ok(Location::Memory)
        ));
        assert!(matches!(
            Location::parse("postgresql://h/d"),
            Ok(Location::Postgres(_))
        ));
    }

    #[test]
    fn another_scheme_is_refused_by_name() {
        assert!(refusal("mysql://root@localhost/x").starts_with("mysql:// is no database"));
        assert!(refusal("sqlite://https://x").starts_with("https:// is no database"));
        assert!(refusal("").contains("no name"));
    }

    #[test]
    fn a_refused_url_does_not_show_its_password() {
        assert!(!refusal("postgres://u:hunter2@h:port/d").contains("hunter2"));
    }
}
