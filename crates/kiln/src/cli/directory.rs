//! Commands about people, projects and the fleet.

use clap::{Args, Subcommand, ValueEnum};

use super::Json;

/// Which server to talk to, and how to print what it says.
#[derive(Debug, Args)]
pub(crate) struct Access {
    /// URL of the server [env: KILN_HOST]
    #[arg(long, value_name = "URL")]
    pub(crate) host: Option<String>,
    /// Key to talk to it with, bencher_user_… [env: KILN_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Profile that names both [env: KILN_PROFILE] [default: the one `kiln profile use` chose]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Data directory of a server on this machine, when neither is given [env: KILN_DATA] [default: kiln-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) access: Access,
}

/// One thing, by its UUID or slug.
#[derive(Debug, Args)]
pub(crate) struct One {
    /// UUID or slug
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) access: Access,
}

/// What new things are called.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// What it is called
    pub(crate) name: String,
    /// How it stands in a URL [default: made from the name]
    #[arg(long)]
    pub(crate) slug: Option<String>,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Org {
    /// Make an organization and lead it
    Create(New),
    /// List those you belong to; all of them for an administrator
    List(List),
    /// Show one, with its members
    Show(One),
    /// Show what one used: minutes of runners, numbers and series
    Usage(Period),
    /// Make somebody a member
    Invite(Invite),
    /// Delete one with its projects; their live jobs are canceled first
    Delete(One),
}

#[derive(Debug, Args)]
pub(crate) struct Period {
    /// UUID or slug of the organization
    pub(crate) organization: String,
    /// Since when, in seconds since 1970 [default: the beginning of this month]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) start_time: Option<i64>,
    /// Until when [default: now]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) end_time: Option<i64>,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct Invite {
    /// UUID or slug of the organization
    pub(crate) organization: String,
    /// Their email address
    pub(crate) email: String,
    /// What they may do
    #[arg(long, value_enum, default_value_t = MemberRole::Member)]
    pub(crate) role: MemberRole,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MemberRole {
    /// Sees, submits and edits
    Member,
    /// Everything
    Leader,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Make a project in an organization
    Create(NewProject),
    /// List what is public, and what is yours
    List(List),
    /// Show one
    Show(One),
    /// Make a key that opens one project, and print it once
    Key(ProjectKey),
    /// Cancel the live jobs of one and hide it
    Delete(One),
}

#[derive(Debug, Args)]
pub(crate) struct NewProject {
    #[command(flatten)]
    pub(crate) new: New,
    /// UUID or slug of its organization
    #[arg(long, value_name = "ORGANIZATION")]
    pub(crate) org: String,
    /// Show it to members of the organization only
    #[arg(long)]
    pub(crate) private: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProjectKey {
    /// UUID or slug of the project
    pub(crate) project: String,
    /// What the key is for
    #[arg(long, default_value = "key")]
    pub(crate) name: String,
    /// Seconds until it expires [default: as long as can be]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) ttl: Option<u32>,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Make another key for a person, and print it once
    Create(NewKey),
    /// List the keys of a person
    List(KeyOwner),
    /// Show one
    Show(OneKey),
    /// Revoke one; it is dead at once
    Revoke(OneKey),
}

#[derive(Debug, Args)]
pub(crate) struct NewKey {
    /// What the key is for
    pub(crate) name: String,
    /// Seconds until it expires [default: as long as can be]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) ttl: Option<u32>,
    #[command(flatten)]
    pub(crate) owner: KeyOwner,
}

#[derive(Debug, Args)]
pub(crate) struct KeyOwner {
    /// UUID or slug of the person
    #[arg(long, default_value = "admin")]
    pub(crate) user: String,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct OneKey {
    /// UUID of the key
    pub(crate) uuid: String,
    #[command(flatten)]
    pub(crate) owner: KeyOwner,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Spec {
    /// Make a spec
    Create(NewSpec),
    /// List them
    List(List),
    /// Show one
    Show(One),
    /// Take no new jobs for one
    Archive(One),
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct NewSpec {
    #[command(flatten)]
    pub(crate) new: New,
    /// Number of CPUs
    #[arg(long)]
    pub(crate) cpu: u32,
    /// Bytes of memory
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: u64,
    /// Bytes of disk
    #[arg(long, value_name = "BYTES")]
    pub(crate) disk: u64,
    /// x86_64 or aarch64
    #[arg(long, default_value = "x86_64")]
    pub(crate) architecture: String,
    /// linux, macos or windows
    #[arg(long, default_value = "linux")]
    pub(crate) os: String,
    /// What keeps its jobs from their host, at least: namespace, microvm or firecracker [default: what the runner gives]
    ///
    /// namespace: the host's kernel, in namespaces of the job's own. Any Kiln runner gives this, but for one that was started
    /// with --backend process.
    ///
    /// microvm: a kernel of the job's own, in a machine by QEMU or Firecracker. One that QEMU emulates, where a host has no KVM,
    /// counts too, though its timings mean nothing and QEMU's makers vouch for its walls only with KVM.
    ///
    /// firecracker: a machine by Firecracker, on KVM, and Firecracker itself in its jailer (--backend firecracker --jailer).
    ///
    /// A stronger one is always good enough. A runner that has less fails the job and says what it would need; each result
    /// tells which back end it had.
    #[arg(long, value_name = "LEVEL", conflicts_with = "microvm")]
    pub(crate) isolation: Option<String>,
    /// Ask for a microVM in the word that stock servers and runners know: the same as --isolation microvm
    #[arg(long)]
    pub(crate) microvm: bool,
    /// Let jobs reach the network
    #[arg(long)]
    pub(crate) network: bool,
    /// Let its jobs run beside each other on a runner with several slots. For what counts instead of timing: instructions, sizes,
    /// memory. Without it each job has its runner to itself
    #[arg(long)]
    pub(crate) shared: bool,
    /// Use it for runs that name no spec
    #[arg(long)]
    pub(crate) fallback: bool,
}

/// The part of `kiln runner` that talks about runners instead of being one.
#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Register a runner and print its key once
    Create(NewRunner),
    /// List runners
    List(List),
    /// Show one
    Show(One),
    /// Make another key for one and print it once; the old one is dead at once
    Key(One),
    /// Let one finish what it has and give it nothing more
    Drain(Drained),
    /// Retire one: its key opens nothing
    Archive(One),
}

#[derive(Debug, Args)]
pub(crate) struct Drained {
    #[command(flatten)]
    pub(crate) one: One,
    /// Give it jobs again
    #[arg(long)]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NewRunner {
    #[command(flatten)]
    pub(crate) new: New,
    /// UUID or slug of a spec it serves; can be repeated
    #[arg(long, value_name = "SPEC")]
    pub(crate) spec: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    /// Remember a server and a key under a name, in a file that only you can read
    Add(AddProfile),
    /// Use one from now on
    Use(ProfileName),
    /// List them; keys are not shown
    List(Json),
    /// Forget one
    Remove(ProfileName),
}

#[derive(Debug, Args)]
pub(crate) struct AddProfile {
    /// How to call it
    pub(crate) name: String,
    /// URL of the server [env: KILN_HOST]
    #[arg(long, value_name = "URL")]
    pub(crate) host: Option<String>,
    /// The key [env: KILN_KEY] [default: read from standard input]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfileName {
    /// Its name
    pub(crate) name: String,
}

impl Org {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::Create(new) => &new.access,
            Self::List(list) => &list.access,
            Self::Show(one) | Self::Delete(one) => &one.access,
            Self::Usage(period) => &period.access,
            Self::Invite(invite) => &invite.access,
        }
    }
}

impl Project {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::Create(new) => &new.new.access,
            Self::List(list) => &list.access,
            Self::Show(one) | Self::Delete(one) => &one.access,
            Self::Key(key) => &key.access,
        }
    }
}

impl Keys {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::Create(new) => &new.owner.access,
            Self::List(owner) => &owner.access,
            Self::Show(one) | Self::Revoke(one) => &one.owner.access,
        }
    }
}

impl Spec {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::Create(new) => &new.new.access,
            Self::List(list) => &list.access,
            Self::Show(one) | Self::Archive(one) => &one.access,
        }
    }
}

impl Fleet {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::Create(new) => &new.new.access,
            Self::List(list) => &list.access,
            Self::Show(one) | Self::Key(one) | Self::Archive(one) => &one.access,
            Self::Drain(drained) => &drained.one.access,
        }
    }
}
