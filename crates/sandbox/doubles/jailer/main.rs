//! A double of Firecracker's jailer for tests: the published arguments and nothing else, a root made where they say, and
//! the program started in it as the user they say.
//!
//! The program in it is the double of Firecracker, which is not static and plays hardware: so the jail has this host's
//! libraries, and its user keeps capabilities of root's.

use std::convert::Infallible;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The root's own mounts live and die with the program.
const ENTER: &str = r#"
set -e
root=$1 user=$2 group=$3
shift 3
mount --bind "$root" "$root"
for directory in bin sbin lib lib64; do
    if [ -L /$directory ]; then cp -P /$directory "$root/"; fi
done
for directory in usr dev proc; do
    mkdir -p "$root/$directory"
    mount --rbind /$directory "$root/$directory"
done
mkdir "$root/old"
cd "$root"
pivot_root . old
umount -l old
rmdir old
caps=+chown,+dac_override,+dac_read_search,+fowner,+kill,+mknod,+net_admin,+setfcap,+setgid,+setpcap,+setuid,+sys_admin
exec setpriv --reuid="$user" --regid="$group" --clear-groups --inh-caps="$caps" --ambient-caps="$caps" "$@"
"#;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["--version"] {
        std::io::stdout()
            .write_all(b"Jailer v1.15.1\n")
            .expect("someone reads what it is");
        return ExitCode::SUCCESS;
    }
    let Err(failure) = Jail::parse(&words).and_then(Jail::enter);
    // The exit code says enough if nobody reads.
    let _ = writeln!(std::io::stderr(), "jailer: {failure}");
    ExitCode::FAILURE
}

#[derive(Debug, Default)]
struct Jail {
    id: String,
    program: PathBuf,
    user: Option<u32>,
    group: Option<u32>,
    base: PathBuf,
    arguments: Vec<String>,
}

impl Jail {
    fn parse(words: &[String]) -> Result<Self, String> {
        let mut jail = Self {
            base: "/srv/jailer".into(),
            ..Self::default()
        };
        let mut words = words.iter();
        while let Some(name) = words.next() {
            if name == "--" {
                jail.arguments = words.cloned().collect();
                break;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("the argument '{name}' requires a value"))?;
            let number = || {
                value
                    .parse()
                    .map_err(|_| format!("invalid {name}: {value}"))
            };
            match name.as_str() {
                "--id" => jail.id.clone_from(value),
                "--exec-file" => jail.program = value.into(),
                "--uid" => jail.user = Some(number()?),
                "--gid" => jail.group = Some(number()?),
                "--chroot-base-dir" => jail.base = value.into(),
                _ => return Err(format!("found argument '{name}' which wasn't expected")),
            }
        }
        jail.check()?;
        Ok(jail)
    }

    fn check(&self) -> Result<(), String> {
        let is_id = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if !(1..=64).contains(&self.id.len()) || !self.id.chars().all(is_id) {
            return Err(format!("invalid instance id: {}", self.id));
        }
        if !self.name()?.contains("firecracker") {
            return Err("the name of --exec-file must contain \"firecracker\"".to_owned());
        }
        if !self.base.is_absolute() {
            // The real one resolves it from wherever it was started, which is never what was meant.
            return Err("this double needs an absolute --chroot-base-dir".to_owned());
        }
        if !self.base.is_dir() {
            return Err(format!("{} is not a directory", self.base.display()));
        }
        Ok(())
    }

    fn name(&self) -> Result<&str, String> {
        let name = self.program.file_name().and_then(|name| name.to_str());
        name.ok_or_else(|| "failed to extract the name of --exec-file".to_owned())
    }

    fn enter(self) -> Result<Infallible, String> {
        let (Some(user), Some(group)) = (self.user, self.group) else {
            return Err("--uid and --gid are required".to_owned());
        };
        let root = self.base.join(self.name()?).join(&self.id).join("root");
        let failed = |error: std::io::Error| format!("{}: {error}", root.display());
        fs::create_dir_all(&root).map_err(failed)?;
        fs::copy(&self.program, root.join(self.name()?)).map_err(failed)?;
        chown(&root, Some(user), Some(group)).map_err(failed)?;
        let error = Command::new("unshare")
            .args([
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                ENTER,
                "sh",
            ])
            .arg(&root)
            .args([user.to_string(), group.to_string()])
            .arg(Path::new("/").join(self.name()?))
            .arg(format!("--id={}", self.id))
            .args(["--start-time-us=1", "--start-time-cpu-us=1"])
            .arg("--parent-cpu-time-us=1")
            .args(&self.arguments)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .exec();
        Err(format!("failed to exec into Firecracker: {error}"))
    }
}
