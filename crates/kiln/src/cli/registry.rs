//! `kiln registry …`.

use clap::{Args, Subcommand};

use super::Target;

#[derive(Debug, Subcommand)]
pub(crate) enum Registry {
    /// Count repositories, manifests, tags, blobs and uploads
    Stats(Target),
    /// Let go of what nobody needs: expired uploads, blobs no manifest names, files no row speaks of
    ///
    /// A running server does this by itself every hour. It is safe while images are pushed.
    Gc(Gc),
    /// Read everything and compare it with its digest; exit code 1 when something is damaged
    Verify(Target),
    /// Show or set how many bytes a project may hold
    Quota(Quota),
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Also remove manifests without a tag that no index, subject or waiting job needs
    #[arg(long)]
    pub(crate) untagged: bool,
    /// Keep what was touched within this many seconds; pushes that take longer may have to start again
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    pub(crate) older_than: u64,
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, Args)]
pub(crate) struct Quota {
    /// UUID or slug of the project
    pub(crate) project: String,
    /// Set the quota to so many bytes
    #[arg(long, value_name = "BYTES", conflicts_with = "unlimited")]
    pub(crate) bytes: Option<u64>,
    /// Remove the quota
    #[arg(long)]
    pub(crate) unlimited: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Registry {
    /// Which store it is about.
    pub(crate) const fn target(&self) -> &Target {
        match self {
            Self::Stats(target) | Self::Verify(target) => target,
            Self::Gc(gc) => &gc.target,
            Self::Quota(quota) => &quota.target,
        }
    }
}
