//! References to images, as runs name them.

use kiln_model::Digest;

use crate::Denied;

/// `[host/]path[:tag][@digest]`, or a digest alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageReference<'a> {
    text: &'a str,
    host: Option<&'a str>,
    path: &'a str,
    pub version: ImageVersion<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageVersion<'a> {
    Tag(&'a str),
    /// Taken as it stands: nothing is looked up.
    Digest(Digest),
}

impl<'a> ImageReference<'a> {
    pub fn parse(text: &'a str) -> Result<Self, Denied> {
        if let Ok(digest) = text.parse() {
            return Ok(Self {
                text,
                host: None,
                path: "",
                version: ImageVersion::Digest(digest),
            });
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => {
                let digest = digest
                    .parse()
                    .map_err(|error: kiln_model::NotADigest| Denied::Invalid(error.to_string()))?;
                (name, Some(digest))
            }
            None => (text, None),
        };
        let (name, tag) = match name.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, tag),
            _ => (name, "latest"),
        };
        let (host, path) = match name.split_once('/') {
            Some((first, rest)) if is_host(first) => (Some(first), rest),
            _ => (None, name),
        };
        Ok(Self {
            text,
            host,
            path,
            version: digest.map_or(ImageVersion::Tag(tag), ImageVersion::Digest),
        })
    }

    /// Images come from the server's own registry: by its host with or without the port, or without a host. `docker.io`
    /// is what clients add to names without one.
    pub fn check_host(&self, registry_url: &str) -> Result<(), Denied> {
        let Some(host) = self.host else { return Ok(()) };
        let own = authority(registry_url);
        let own_name = without_port(own);
        if [own, own_name, "docker.io"].contains(&host) {
            return Ok(());
        }
        Err(Denied::Invalid(format!(
            "External registry '{host}' is not supported. Expected '{own_name}' or an unqualified image name. \
             Push your image to this server's registry or omit the registry prefix."
        )))
    }

    /// The project that an image of one segment names.
    pub fn project(&self) -> Option<&'a str> {
        (!self.path.is_empty() && !self.path.contains('/')).then_some(self.path)
    }

    /// The path of the repository inside the project that `slug` and `uuid` name.
    pub fn repository(&self, slug: &str, uuid: &str) -> &'a str {
        let (first, rest) = self.path.split_once('/').unwrap_or((self.path, ""));
        if first == slug || first == uuid {
            rest
        } else {
            self.path
        }
    }

    pub const fn text(&self) -> &'a str {
        self.text
    }
}

fn is_host(segment: &str) -> bool {
    segment.contains(['.', ':']) || segment == "localhost"
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://kiln.example:6610/";

    fn check(text: &str, project: Option<&str>, tag: &str) {
        let image = ImageReference::parse(text).unwrap();
        image.check_host(URL).unwrap();
        assert_eq!(image.project(), project, "{text}");
        assert_eq!(image.version, ImageVersion::Tag(tag), "{text}");
    }

    #[test]
    fn names_of_the_own_registry_are_read() {
        check("p", Some("p"), "latest");
        check("p:v1", Some("p"), "v1");
        check("docker.io/p:v1", Some("p"), "v1");
        check("kiln.example/p:v1", Some("p"), "v1");
        check("kiln.example:6610/p", Some("p"), "latest");
        check("p/tools:v1", None, "v1");
    }

    #[test]
    fn other_registries_are_named_in_the_refusal() {
        for text in ["ghcr.io/x/p:latest", "localhost/p", "kiln.example:1/p"] {
            let image = ImageReference::parse(text).unwrap();
            let denied = image.check_host(URL).unwrap_err().to_string();
            assert!(denied.contains("Expected 'kiln.example'"), "{denied}");
        }
    }

    #[test]
    fn a_digest_stands_alone_or_after_a_name() {
        let digest = format!("sha256:{}", "cd".repeat(32));
        for text in [
            digest.clone(),
            format!("p@{digest}"),
            format!("p:v1@{digest}"),
        ] {
            let image = ImageReference::parse(&text).unwrap();
            assert_eq!(image.version, ImageVersion::Digest(digest.parse().unwrap()));
            assert_eq!(image.repository("p", "u"), "");
        }
        assert!(ImageReference::parse("p@sha256:short").is_err());
    }

    #[test]
    fn the_project_is_no_part_of_the_repository() {
        let repository = |text| ImageReference::parse(text).unwrap().repository("p", "u");
        assert_eq!(repository("p:v1"), "");
        assert_eq!(repository("u/tools:v1"), "tools");
        assert_eq!(repository("other:v1"), "other");
    }
}
