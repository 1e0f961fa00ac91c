//! Projects.

use serde::{Deserialize, Deserializer, Serialize};

use super::DateTime;
use crate::{OrganizationUuid, ProjectUrl, ProjectUuid, ResourceName, Slug};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub uuid: ProjectUuid,
    pub organization: OrganizationUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub url: Option<ProjectUrl>,
    pub visibility: Visibility,
    pub created: DateTime,
    pub modified: DateTime,
    /// Since when its organization has members.
    pub claimed: Option<DateTime>,
}

/// Who may look at a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Everybody.
    #[default]
    Public,
    /// Members of its organization, and whoever holds one of its keys.
    Private,
}

impl Visibility {
    pub const ALL: [Self; 2] = [Self::Public, Self::Private];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewProject {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<ProjectUrl>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateProject {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// An explicit null takes it away.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<Option<ProjectUrl>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

/// A field that is there, even if it is null.
#[expect(
    clippy::option_option,
    reason = "absent, null and a value are three different things here"
)]
fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<ProjectUrl>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_url_stays_and_a_null_url_goes() {
        let read = |text| serde_json::from_str::<UpdateProject>(text).unwrap().url;
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"url":null}"#), Some(None));
        let url: ProjectUrl = "https://example.com/x".parse().unwrap();
        assert_eq!(read(r#"{"url":"https://example.com/x"}"#), Some(Some(url)));
    }
}
