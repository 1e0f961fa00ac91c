//! `kiln image …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Json;
use super::directory::Access;

#[derive(Debug, Subcommand)]
pub(crate) enum Image {
    /// Make an image out of a directory, a tar archive or a Dockerfile
    ///
    /// The same files give the same digest on every machine.
    Build(Build),
    /// Push an image to a server's registry; what is there already is not sent again
    Push(Push),
    /// Pull an image into a directory
    Pull(Pull),
    /// List the tags of a repository, or of all repositories of a project
    List(Repository),
    /// Show what a reference means: digest, platform, command, layers
    Show(Named),
    /// Give an image one more tag
    Tag(Tag),
    /// Remove a tag, or an image by its digest with all its tags
    Rm(Named),
}

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// Directory that becomes the root of the image, or a tar archive of it; with --dockerfile the build context
    pub(crate) source: PathBuf,
    /// Build with this Dockerfile, by whichever of buildah, podman and docker is installed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entrypoint", "cmd", "env", "workdir", "user", "plain"])]
    pub(crate) dockerfile: Option<PathBuf>,
    /// Directory to write the image to, in the OCI layout
    #[arg(long, short, value_name = "DIR", default_value = "kiln-image")]
    pub(crate) output: PathBuf,
    /// Tag within that directory
    #[arg(long, short, default_value = "latest")]
    pub(crate) tag: String,
    /// Program to run and its first arguments; repeat for each word
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) entrypoint: Vec<String>,
    /// Arguments that a run may replace; repeat for each word
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) cmd: Vec<String>,
    /// Environment variable; repeat for each
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Directory the program starts in
    #[arg(long, value_name = "PATH")]
    pub(crate) workdir: Option<String>,
    /// User (and group) the program runs as
    #[arg(long, value_name = "USER[:GROUP]")]
    pub(crate) user: Option<String>,
    /// Do not compress the layer
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// Where to: `PROJECT[/REPOSITORY][:TAG]`
    pub(crate) reference: String,
    /// What: a directory in the OCI layout, an archive of docker save or podman save, or docker:NAME or podman:NAME
    #[arg(long, value_name = "SOURCE", default_value = "kiln-image")]
    pub(crate) from: String,
    /// Which image of a directory that has several
    #[arg(long, value_name = "TAG")]
    pub(crate) from_tag: Option<String>,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// What: `PROJECT[/REPOSITORY][:TAG][@DIGEST]`
    pub(crate) reference: String,
    /// Directory to write the image to, in the OCI layout
    #[arg(long, short, value_name = "DIR", default_value = "kiln-image")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct Repository {
    /// PROJECT for all its repositories, or PROJECT/REPOSITORY for one
    #[arg(
        value_name = "REPOSITORY",
        env = "KILN_PROJECT",
        hide_env_values = true
    )]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// `PROJECT[/REPOSITORY][:TAG][@DIGEST]`
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// `PROJECT[/REPOSITORY][:TAG][@DIGEST]`
    pub(crate) reference: String,
    /// The new tag
    #[arg(value_name = "TAG")]
    pub(crate) new: String,
    #[command(flatten)]
    pub(crate) access: Access,
}

impl Image {
    /// Which server it is about, if it is about one.
    pub(crate) const fn access(&self) -> Option<&Access> {
        match self {
            Self::Build(_) => None,
            Self::Push(push) => Some(&push.access),
            Self::Pull(pull) => Some(&pull.access),
            Self::List(list) => Some(&list.access),
            Self::Show(named) | Self::Rm(named) => Some(&named.access),
            Self::Tag(tag) => Some(&tag.access),
        }
    }
}
