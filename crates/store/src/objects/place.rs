//! Where objects are, from what a person wrote.

use std::path::PathBuf;

use crate::Error;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Directory(PathBuf),
    Memory,
    S3(S3Address),
}

/// A bucket, a prefix in it, and how to reach it where that is not in the environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct S3Address {
    pub(super) bucket: String,
    pub(super) prefix: String,
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) access_key_id: Option<String>,
    pub(super) secret_access_key: Option<String>,
    pub(super) path_style: bool,
}

impl Place {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        if text.starts_with("s3://") {
            return s3(text).map(Self::S3);
        }
        let path = text.strip_prefix("file://").unwrap_or(text);
        if let Some((scheme, _)) = path.split_once("://") {
            return Err(Error::Refused(format!(
                "{scheme}:// is no object store Kiln knows; give a directory, or s3://BUCKET/PREFIX"
            )));
        }
        if path.is_empty() {
            return Err(Error::Refused(
                "the object store has no name; give a directory, or s3://BUCKET/PREFIX".into(),
            ));
        }
        Ok(Self::Directory(path.into()))
    }
}

fn s3(text: &str) -> Result<S3Address, Error> {
    // The parser's own words could repeat a secret.
    let refuse = |what: &str| {
        Error::Refused(format!(
            "the address of the object store {what}; write s3://BUCKET/PREFIX?endpoint=URL&path_style=true"
        ))
    };
    let url: reqwest::Url = text.parse().map_err(|_| refuse("is not a URL"))?;
    let bucket = url
        .host_str()
        .filter(|host| !host.is_empty())
        .ok_or_else(|| refuse("names no bucket"))?;
    let mut address = S3Address {
        bucket: bucket.to_owned(),
        prefix: url.path().trim_matches('/').to_owned(),
        ..S3Address::default()
    };
    for (name, value) in url.query_pairs() {
        let value = Some(value.into_owned());
        match name.as_ref() {
            "endpoint" => address.endpoint = value,
            "region" => address.region = value,
            "access_key_id" => address.access_key_id = value,
            "secret_access_key" => address.secret_access_key = value,
            "path_style" => address.path_style = value.as_deref() == Some("true"),
            other => return Err(refuse(&format!("has an unknown parameter {other:?}"))),
        }
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_memory_and_buckets_are_told_apart() {
        assert_eq!(
            Place::parse("/srv/objects").unwrap(),
            Place::Directory("/srv/objects".into())
        );
        assert_eq!(
            Place::parse("file:///srv/objects").unwrap(),
            Place::Directory("/srv/objects".into())
        );
        assert_eq!(Place::parse("memory:").unwrap(), Place::Memory);
        let s3 = Place::parse(
            "s3://kiln/some/prefix/?endpoint=http://127.0.0.1:9000&path_style=true&region=here",
        );
        assert_eq!(
            s3.unwrap(),
            Place::S3(S3Address {
                bucket: "kiln".into(),
                prefix: "some/prefix".into(),
                endpoint: Some("http://127.0.0.1:9000".into()),
                region: Some("here".into()),
                path_style: true,
                ..S3Address::default()
            })
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in ["", "gs://bucket", "s3://", "s3://b/?endpiont=x"] {
            assert!(Place::parse(bad).is_err(), "{bad}");
        }
    }
}
