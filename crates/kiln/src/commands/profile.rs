//! `kiln profile`: servers and keys, remembered by name in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Context;
use super::table;
use super::target::client;
use crate::cli::directory::{AddProfile, Profile as Command};
use crate::failure::{Exit, Failure};
use crate::settings::Settings;

/// More is no key.
const MAX_KEY: u64 = 4096;

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Profiles {
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    used: Option<String>,
    #[serde(default)]
    profile: BTreeMap<String, Profile>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Profile {
    pub(super) host: String,
    pub(super) key: String,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    host: &'a str,
    used: bool,
}

pub(super) fn run(context: &Context<'_>, command: Command) -> Result<Exit, Failure> {
    let mut profiles = Profiles::load()?;
    match command {
        Command::Add(add) => {
            let profile = read_profile(context, &add)?;
            profiles.used.get_or_insert_with(|| add.name.clone());
            profiles.profile.insert(add.name, profile);
            profiles.save()?;
        }
        Command::Use(name) => {
            profiles.find(&name.name)?;
            profiles.used = Some(name.name);
            profiles.save()?;
        }
        Command::Remove(name) => {
            profiles.find(&name.name)?;
            profiles.profile.remove(&name.name);
            profiles.used = profiles.used.filter(|used| *used != name.name);
            profiles.save()?;
        }
        Command::List(json) => profiles.show(context, json.json)?,
    }
    Ok(Exit::Ok)
}

impl Profiles {
    /// None at all is as good as an empty file.
    pub(super) fn load() -> Result<Self, Failure> {
        Self::read(&place())
    }

    pub(super) fn find(&self, name: &str) -> Result<&Profile, Failure> {
        self.profile.get(name).ok_or_else(|| {
            Failure::new(Exit::NotFound, format!("there is no profile {name:?}"))
                .hint("`kiln profile list` lists them")
        })
    }

    pub(super) fn in_use(&self) -> Option<&Profile> {
        self.profile.get(self.used.as_ref()?)
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let broke = |error: &dyn std::error::Error| {
            Failure::usage(format!("the profiles in {} cannot be read", path.display()))
                .because(error)
        };
        match fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text).map_err(|error| broke(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(broke(&error)),
        }
    }

    fn save(&self) -> Result<(), Failure> {
        let path = place();
        self.write(&path).map_err(|error| {
            Failure::usage(format!(
                "the profiles cannot be written to {}",
                path.display()
            ))
            .because(&error)
        })
    }

    /// Beside it first, so that a crash leaves the old file or the new one.
    fn write(&self, path: &Path) -> std::io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let text = toml::to_string(self).map_err(std::io::Error::other)?;
        let beside = path.with_extension("toml.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)?;
        // The mode above counts only for a file that was not there.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    }

    fn show(&self, context: &Context<'_>, json: bool) -> Result<(), Failure> {
        let shown: Vec<Shown<'_>> = self
            .profile
            .iter()
            .map(|(name, profile)| Shown {
                name,
                host: &profile.host,
                used: self.used.as_ref() == Some(name),
            })
            .collect();
        if json {
            return context.terminal.json(&shown);
        }
        let rows: Vec<[String; 3]> = shown
            .iter()
            .map(|profile| {
                let used = if profile.used { "yes" } else { "" };
                [
                    profile.name.to_owned(),
                    profile.host.to_owned(),
                    used.to_owned(),
                ]
            })
            .collect();
        table::print(context.terminal, ["name", "host", "used"], &rows)
    }
}

fn place() -> PathBuf {
    Settings::directory().join("profiles.toml")
}

fn read_profile(context: &Context<'_>, add: &AddProfile) -> Result<Profile, Failure> {
    let host = context.settings.need("host")?.to_owned();
    let key = match context.settings.get("key") {
        Some(key) => key.to_owned(),
        None => key_from_input()?,
    };
    // What no client can be made of is refused now, not at first use.
    client(&host, Some(&key))?;
    if add.name.is_empty() {
        return Err(Failure::usage("a profile needs a name"));
    }
    Ok(Profile { host, key })
}

fn key_from_input() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin().take(MAX_KEY).read_to_string(&mut text)?;
    match text.trim() {
        "" => Err(Failure::usage("no key was given")
            .hint("give --key, set KILN_KEY, or write the key to standard input")),
        key => Ok(key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profiles() -> Profiles {
        let profile = Profile {
            host: "https://kiln.example".to_owned(),
            key: "bencher_user_x".to_owned(),
        };
        Profiles {
            used: Some("work".to_owned()),
            profile: BTreeMap::from([("work".to_owned(), profile)]),
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_only_its_owner_may() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kiln").join("profiles.toml");
        fs::create_dir(directory.path().join("kiln")).unwrap();
        fs::write(&path, "").unwrap();
        profiles().write(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let read = Profiles::read(&path).unwrap();
        assert_eq!(read.in_use().unwrap().key, "bencher_user_x");
        assert!(read.find("play").is_err());
    }

    #[test]
    fn no_file_is_no_profiles() {
        let read = Profiles::read(Path::new("/nowhere/profiles.toml")).unwrap();
        assert!(read.in_use().is_none());
    }
}
