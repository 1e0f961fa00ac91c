//! Settings: each has a flag, an environment variable, and a line in one TOML file; the first that is there counts.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// One setting, as the user may write it in three places.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) key: &'static str,
    pub(crate) variable: &'static str,
    pub(crate) default: Option<&'static str>,
    pub(crate) what: &'static str,
    pub(crate) secret: bool,
}

/// What Bencher's command calls the same, understood where ours is not set.
const BENCHER: [(&str, &[&str]); 2] = [
    ("host", &["BENCHER_HOST"]),
    ("key", &["BENCHER_API_KEY", "BENCHER_API_TOKEN"]),
];

const fn known(
    key: &'static str,
    variable: &'static str,
    default: Option<&'static str>,
    what: &'static str,
) -> Known {
    Known {
        key,
        variable,
        default,
        what,
        secret: false,
    }
}

pub(crate) const KNOWN: &[Known] = &[
    known(
        "listen",
        "KILN_LISTEN",
        Some("127.0.0.1:6610"),
        "address the server binds; port 0 picks a free one",
    ),
    known(
        "data",
        "KILN_DATA",
        Some("kiln-data"),
        "directory that holds everything the server keeps",
    ),
    known(
        "database",
        "KILN_DATABASE",
        None,
        "SQLite path or postgres:// URL; default: kiln.db in the data directory",
    ),
    known(
        "objects",
        "KILN_OBJECTS",
        None,
        "directory or s3:// URL for blobs; default: objects in the data directory",
    ),
    known(
        "public-url",
        "KILN_PUBLIC_URL",
        None,
        "what clients and runners are told to call; default: the bound address",
    ),
    known(
        "trusted-proxy",
        "KILN_TRUSTED_PROXY",
        None,
        "comma-separated addresses whose X-Forwarded-For counts",
    ),
    known(
        "heartbeat-timeout",
        "KILN_HEARTBEAT_TIMEOUT",
        Some("90"),
        "seconds a runner may be silent before its job is given up",
    ),
    known(
        "job-grace",
        "KILN_JOB_GRACE",
        Some("60"),
        "seconds a job may take beyond its timeout",
    ),
    known(
        "pending-expiry",
        "KILN_PENDING_EXPIRY",
        None,
        "seconds a job may wait for a runner; default: for ever",
    ),
    known(
        "plans",
        "KILN_PLANS",
        Some("off"),
        "whether the plans of organizations decide about priorities, limits and timeouts: on or off",
    ),
    known(
        "anonymous-runs",
        "KILN_ANONYMOUS_RUNS",
        Some("on"),
        "whether strangers may submit and push to projects that nobody has: on or off",
    ),
    known(
        "billing",
        "KILN_BILLING",
        Some("file"),
        "who is told of the minutes that jobs run: file (billing.jsonl in the data directory), stripe, or off",
    ),
    known(
        "billing-url",
        "KILN_BILLING_URL",
        Some("https://api.stripe.com"),
        "where meter events are sent, for billing to stripe",
    ),
    known(
        "billing-meter",
        "KILN_BILLING_METER",
        Some("runner_minutes"),
        "name of the meter, for billing to stripe",
    ),
    Known {
        key: "billing-key",
        variable: "KILN_BILLING_KEY",
        default: None,
        what: "private key at the payment provider, for billing to stripe",
        secret: true,
    },
    known(
        "otlp",
        "KILN_OTLP",
        None,
        "URL of an OpenTelemetry collector to which metrics are pushed once a minute, such as http://host:4318",
    ),
    known(
        "max-output",
        "KILN_MAX_OUTPUT",
        Some("64"),
        "MiB of output that a job may have beside its message; 0 takes none",
    ),
    known(
        "releases",
        "KILN_RELEASES",
        None,
        "directory or URL of newer programs that runners are offered",
    ),
    known(
        "rate-limits",
        "KILN_RATE_LIMITS",
        Some("off"),
        "off, stock, or NAME=MINUTE/HOUR/DAY with commas between: how much anybody may do in a while",
    ),
    known(
        "record",
        "KILN_RECORD",
        None,
        "directory into which the kernel's worker is recorded, for kiln replay",
    ),
    known(
        "log",
        "KILN_LOG",
        Some("info"),
        "log filter, such as debug or kiln_server=debug,warn",
    ),
    known(
        "host",
        "KILN_HOST",
        None,
        "URL of the server that commands talk to",
    ),
    Known {
        key: "key",
        variable: "KILN_KEY",
        default: None,
        what: "key to talk to the server with",
        secret: true,
    },
    known(
        "profile",
        "KILN_PROFILE",
        None,
        "profile that names the server and the key; default: the one `kiln profile use` chose",
    ),
    known("runner", "KILN_RUNNER", None, "UUID or slug of this runner"),
    known(
        "runner-data",
        "KILN_RUNNER_DATA",
        Some("kiln-runner"),
        "directory for the runner's cache and spool",
    ),
    known(
        "slots",
        "KILN_SLOTS",
        Some("1"),
        "how many jobs a runner carries at once, as far as they share; 1 to 64",
    ),
    known(
        "auto-update",
        "KILN_AUTO_UPDATE",
        Some("off"),
        "whether a runner replaces itself by the program its server offers: on or off",
    ),
    known(
        "tuning",
        "KILN_TUNING",
        Some("off"),
        "whether a runner makes its host quiet: on or off",
    ),
    known(
        "knobs",
        "KILN_KNOBS",
        None,
        "comma-separated settings of a tuned host to make otherwise, NAME=VALUE, or not at all, NAME=leave",
    ),
    known(
        "backend",
        "KILN_BACKEND",
        Some("namespace"),
        "where a runner's jobs run: namespace, qemu, firecracker, process, or auto for the strongest that works",
    ),
    known(
        "danger-allow-no-sandbox",
        "KILN_DANGER_ALLOW_NO_SANDBOX",
        Some("off"),
        "whether jobs may run as plain processes of their host, with all that the runner may do: on or off",
    ),
    known(
        "accept-missing-limits",
        "KILN_ACCEPT_MISSING_LIMITS",
        Some("off"),
        "whether a runner takes jobs though its host cannot enforce every limit of theirs: on or off",
    ),
    known(
        "kernel",
        "KILN_KERNEL",
        None,
        "kernel of machines; default: the newest cloud kernel in the known places",
    ),
    known(
        "firecracker",
        "KILN_FIRECRACKER",
        None,
        "the Firecracker program; default: firecracker in PATH",
    ),
    known(
        "jailer",
        "KILN_JAILER",
        None,
        "Firecracker's jailer, of the same release; without one Firecracker is not jailed",
    ),
    known(
        "qemu",
        "KILN_QEMU",
        None,
        "the QEMU program; default: the one for this machine in PATH",
    ),
];

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Variable(&'static str),
    File(PathBuf),
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) value: String,
    pub(crate) source: Source,
}

/// What was given on the command line.
pub(crate) type Flags = Vec<(&'static str, Option<String>)>;

#[derive(Debug)]
pub(crate) struct Settings {
    values: BTreeMap<&'static str, Setting>,
}

impl Settings {
    /// `file` is the configuration file named on the command line.
    pub(crate) fn load(file: Option<&Path>, flags: &Flags) -> Result<Self, Failure> {
        Self::resolve(file, flags, &|name| env::var(name).ok())
    }

    fn resolve(
        file: Option<&Path>,
        flags: &Flags,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let (path, lines) = read_file(file, variable)?;
        let mut values = BTreeMap::new();
        for known in KNOWN {
            let flag = flags
                .iter()
                .find(|(key, _)| *key == known.key)
                .and_then(|(_, value)| value.clone());
            let setting = flag
                .map(|value| (value, Source::Flag))
                .or_else(|| {
                    variable(known.variable).map(|value| (value, Source::Variable(known.variable)))
                })
                .or_else(|| of_bencher(known.key, variable))
                .or_else(|| {
                    lines
                        .get(known.key)
                        .map(|value| (value.clone(), Source::File(path.clone())))
                })
                .or_else(|| {
                    known
                        .default
                        .map(|value| (value.to_owned(), Source::Default))
                });
            if let Some((value, source)) = setting {
                values.insert(known.key, Setting { value, source });
            }
        }
        let mut settings = Self { values };
        settings.keep_keys_apart();
        Ok(settings)
    }

    /// A key of Bencher's goes to Bencher's host and to no other server.
    fn keep_keys_apart(&mut self) {
        let is_bencher = |key: &str| {
            let setting = self.values.get(key)?;
            let Source::Variable(name) = setting.source else {
                return None;
            };
            name.starts_with("BENCHER_").then_some(())
        };
        if is_bencher("key").is_some() && is_bencher("host").is_none() {
            self.values.remove("key");
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        debug_assert!(
            KNOWN.iter().any(|known| known.key == key),
            "{key} is not a setting"
        );
        self.values.get(key).map(|setting| setting.value.as_str())
    }

    /// Where things are kept that belong beside the configuration file.
    pub(crate) fn directory() -> PathBuf {
        let mut place = usual_place(&|name| env::var(name).ok());
        place.pop();
        place
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(&self, key: &str) -> Result<bool, Failure> {
        match self.need(key)? {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(Failure::usage(format!("{key} is on or off, not {other:?}"))),
        }
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Setting> {
        self.values.get(key)
    }

    /// A value the command cannot do without.
    pub(crate) fn need(&self, key: &str) -> Result<&str, Failure> {
        self.get(key).ok_or_else(|| {
            let known = KNOWN.iter().find(|known| known.key == key);
            let variable = known.map_or("", |known| known.variable);
            Failure::usage(format!("--{key} is needed")).hint(format!(
                "give --{key}, set {variable}, or write `{key} = \"…\"` in the configuration file"
            ))
        })
    }
}

fn of_bencher(key: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<(String, Source)> {
    let (_, names) = BENCHER.iter().find(|(known, _)| *known == key)?;
    names.iter().find_map(|name| {
        let value = variable(name)?;
        Some((value, Source::Variable(name)))
    })
}

/// The file named by the user must be there; the one in the usual place may be.
fn read_file(
    named: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(PathBuf, BTreeMap<String, String>), Failure> {
    let named = named
        .map(Path::to_owned)
        .or_else(|| variable("KILN_CONFIG").map(PathBuf::from));
    let (path, required) = match named {
        Some(path) => (path, true),
        None => (usual_place(variable), false),
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if !required && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((path, BTreeMap::new()));
        }
        Err(error) => {
            return Err(Failure::usage(format!(
                "the configuration file {} cannot be read",
                path.display()
            ))
            .because(&error));
        }
    };
    let lines = parse(&text).map_err(|reason| {
        Failure::usage(format!(
            "the configuration file {} is wrong: {reason}",
            path.display()
        ))
        .hint("`kiln config show` lists every setting")
    })?;
    Ok((path, lines))
}

fn usual_place(variable: &dyn Fn(&str) -> Option<String>) -> PathBuf {
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".config"));
    variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(home)
        .unwrap_or_else(|| PathBuf::from("/etc"))
        .join("kiln")
        .join("kiln.toml")
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    let mut lines = BTreeMap::new();
    for (key, value) in table {
        if !KNOWN.iter().any(|known| known.key == key) {
            return Err(format!("there is no setting {key:?}"));
        }
        let Some(text) = value.as_str() else {
            let kind = value.type_str();
            return Err(format!("{key} must be a text in quotes, not {kind}"));
        };
        lines.insert(key, text.to_owned());
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(
        file: &str,
        flags: &Flags,
        variables: &[(&str, &str)],
    ) -> Result<Settings, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kiln.toml");
        fs::write(&path, file).unwrap();
        Settings::resolve(Some(&path), flags, &|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
        let file = "listen = \"file\"\ndata = \"file\"\nlog = \"file\"";
        let flags = vec![("listen", Some("flag".to_owned()))];
        let found = settings(
            file,
            &flags,
            &[("KILN_LISTEN", "variable"), ("KILN_DATA", "variable")],
        )
        .unwrap();
        assert_eq!(found.get("listen"), Some("flag"));
        assert_eq!(
            found.find("data").unwrap().source,
            Source::Variable("KILN_DATA")
        );
        assert!(matches!(found.find("log").unwrap().source, Source::File(_)));
        assert_eq!(found.find("runner-data").unwrap().source, Source::Default);
        assert_eq!(found.get("objects"), None);
    }

    #[test]
    fn unknown_and_mistyped_lines_are_named() {
        let failure = settings("lissen = \"x\"", &Vec::new(), &[]).unwrap_err();
        assert!(failure.message.contains("lissen"), "{failure}");
        let failure = settings("listen = 6610", &Vec::new(), &[]).unwrap_err();
        assert!(
            failure.message.contains("listen must be a text"),
            "{failure}"
        );
        assert!(settings("listen = ", &Vec::new(), &[]).is_err());
    }

    #[test]
    fn benchers_variables_count_where_ours_are_not_set() {
        let theirs = [("BENCHER_HOST", "h"), ("BENCHER_API_TOKEN", "k")];
        let found = settings("", &Vec::new(), &theirs).unwrap();
        assert_eq!(
            (found.get("host"), found.get("key")),
            (Some("h"), Some("k"))
        );
        let found = settings("", &Vec::new(), &[("KILN_HOST", "ours"), theirs[0]]).unwrap();
        assert_eq!(found.get("host"), Some("ours"));
    }

    #[test]
    fn benchers_key_goes_to_no_other_host() {
        let variables = [("KILN_HOST", "ours"), ("BENCHER_API_KEY", "k")];
        let found = settings("", &Vec::new(), &variables).unwrap();
        assert_eq!(found.get("key"), None);
    }

    #[test]
    fn a_named_file_must_be_there() {
        let failure =
            Settings::resolve(Some(Path::new("/nowhere/kiln.toml")), &Vec::new(), &|_| {
                None
            });
        assert_eq!(failure.unwrap_err().exit, crate::failure::Exit::Usage);
    }
}
