//! The container engines of this machine: they build what we do not, and keep images that we push.

use std::path::Path;
use std::process::{Command, Stdio};

use kiln_image::{Image, Layout, Platform, import};
use tempfile::TempDir;

use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Buildah,
    Podman,
    Docker,
}

/// An image that an engine wrote to a file of ours.
#[derive(Debug)]
pub(super) struct Saved {
    directory: TempDir,
}

const ARCHIVE: &str = "image.tar";

impl Engine {
    /// The first that is there.
    pub(super) fn installed() -> Option<Self> {
        [Self::Buildah, Self::Podman, Self::Docker]
            .into_iter()
            .find(|engine| engine.is_installed())
    }

    pub(super) const fn program(self) -> &'static str {
        match self {
            Self::Buildah => "buildah",
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }

    /// Builds a Dockerfile. What the engine says goes to our standard error.
    pub(super) fn build(self, file: &Path, context: &Path) -> Result<Saved, Failure> {
        let saved = Saved::new()?;
        let id = saved.directory.path().join("id");
        let mut build = Command::new(self.program());
        build.arg("build");
        build.arg("--iidfile").arg(&id).arg("--file").arg(file);
        self.run(build.arg(context))?;
        let id = std::fs::read_to_string(&id)?;
        self.save_into(&saved, id.trim())?;
        Ok(saved)
    }

    /// Takes an image the engine has.
    pub(super) fn save(self, name: &str) -> Result<Saved, Failure> {
        let saved = Saved::new()?;
        self.save_into(&saved, name)?;
        Ok(saved)
    }

    fn save_into(self, saved: &Saved, name: &str) -> Result<(), Failure> {
        let archive = saved.directory.path().join(ARCHIVE);
        let mut save = Command::new(self.program());
        match self {
            Self::Buildah => {
                save.arg("push").arg(name);
                save.arg(format!("oci-archive:{}", archive.display()));
            }
            Self::Podman => {
                save.args(["save", "--format", "oci-archive", "--output"]);
                save.arg(&archive).arg(name);
            }
            Self::Docker => {
                save.args(["save", "--output"]).arg(&archive).arg(name);
            }
        }
        self.run(&mut save)
    }

    fn run(self, command: &mut Command) -> Result<(), Failure> {
        let program = self.program();
        // Its output is not our data.
        let status = command
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            .status()
            .map_err(|error| Failure::usage(format!("{program} cannot be run")).because(&error))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::unexpected(format!("{program} failed: {status}"))
            .hint("what it said stands above"))
    }

    fn is_installed(self) -> bool {
        Command::new(self.program())
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

impl Saved {
    fn new() -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("kiln-image-").tempdir()?;
        Ok(Self { directory })
    }

    pub(super) fn import(&self, layout: &Layout, platform: &Platform) -> Result<Image, Failure> {
        import(&self.directory.path().join(ARCHIVE), layout, platform)
            .map_err(|error| Failure::unexpected("the image cannot be read").because(&error))
    }
}
