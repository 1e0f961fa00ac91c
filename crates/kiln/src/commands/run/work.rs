//! What a run is to do.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use kiln_model::v0::NewRun;

use super::variables::Variables;
use crate::cli::run::Run;
use crate::failure::Failure;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A command on this machine.
    Command(Vec<String>),
    /// Results that come from standard input.
    Input,
    /// An image on a runner.
    Image(Source),
    /// Two images in turns on a runner: the base and the head.
    Pair(Source, Source),
}

/// Where an image comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It is in the server's registry.
    Registry(String),
    /// It is made of a directory.
    Directory(PathBuf),
}

impl Source {
    /// A name that could not be in a registry is a directory.
    fn of(text: &str) -> Result<Self, Failure> {
        if !text.starts_with(['.', '/']) {
            return Ok(Self::Registry(text.to_owned()));
        }
        if Path::new(text).is_dir() {
            return Ok(Self::Directory(PathBuf::from(text)));
        }
        Err(Failure::usage(format!("{text} is no directory")))
    }
}

impl Work {
    pub(super) fn of(run: &Run, variables: &Variables) -> Result<Self, Failure> {
        let work = Self::choose(run, variables)?;
        work.check(run)?;
        Ok(work)
    }

    pub(super) const fn is_remote(&self) -> bool {
        matches!(self, Self::Image(_) | Self::Pair(..))
    }

    /// In CI, a run that names no project is a forgotten flag more often than the wish for another project.
    pub(super) fn check_project(
        &self,
        request: &NewRun,
        run: &Run,
        variables: &Variables,
    ) -> Result<(), Failure> {
        let in_ci = variables.get("CI").is_some_and(|value| value != "false");
        if !in_ci || run.place.ci_on_the_fly || request.project.is_some() || self.is_of_a_project()
        {
            return Ok(());
        }
        Err(Failure::usage("the run names no project")
            .hint("name one with --project, or let it begin one of its own with --ci-on-the-fly"))
    }

    /// An image in the registry says whose it is.
    const fn is_of_a_project(&self) -> bool {
        matches!(
            self,
            Self::Image(Source::Registry(_)) | Self::Pair(Source::Registry(_), Source::Registry(_))
        )
    }

    fn choose(run: &Run, variables: &Variables) -> Result<Self, Failure> {
        if let (Some(base), Some(head)) = (&run.remote.base, &run.remote.head) {
            return Ok(Self::Pair(Source::of(base)?, Source::of(head)?));
        }
        if let Some(image) = &run.remote.image {
            return Ok(Self::Image(Source::of(image)?));
        }
        match run.command.as_slice() {
            [one] if !run.here.exec && Path::new(one).is_dir() => {
                Ok(Self::Image(Source::Directory(PathBuf::from(one))))
            }
            [] => {
                if let Some(line) = variables.own("CMD") {
                    return Ok(Self::Command(vec![line]));
                }
                if std::io::stdin().is_terminal() {
                    return Err(Failure::usage("there is nothing to run").hint(
                        "give a command, a directory or --image, or pipe results to standard input",
                    ));
                }
                Ok(Self::Input)
            }
            [first, ..] if Path::new(first).is_dir() => Err(Failure::usage(format!(
                "{first} is a directory"
            ))
            .hint(format!(
                "flags stand before it, and its command after `--image ./{first} --`"
            ))),
            words => Ok(Self::Command(words.to_vec())),
        }
    }

    /// A flag that would do nothing is a mistake.
    fn check(&self, run: &Run) -> Result<(), Failure> {
        let remote = &run.remote;
        let for_runners = [
            ("--spec", remote.spec.is_some()),
            ("--entrypoint", !remote.entrypoint.is_empty()),
            ("--env", !remote.env.is_empty()),
            ("--job-timeout", remote.job_timeout.is_some()),
            ("--job-poll-interval", remote.job_poll_interval.is_some()),
            ("--detach", remote.detach),
        ];
        let for_commands = [
            ("--build-time", run.here.build_time),
            ("--file", !run.here.file.is_empty()),
            ("--file-size", !run.here.file_size.is_empty()),
            ("--iter", run.reading.iter > 1),
        ];
        let given = |flags: &[(&'static str, bool)]| {
            let given = flags.iter().find(|(_, given)| *given);
            given.map(|(flag, _)| *flag)
        };
        let refused = match self {
            Self::Command(_) => given(&for_runners),
            Self::Input => given(&for_runners).or_else(|| given(&for_commands)),
            Self::Image(_) | Self::Pair(..) => None,
        };
        match refused {
            Some(flag) if self == &Self::Input => Err(Failure::usage(format!(
                "{flag} needs something to run: results come from standard input"
            ))),
            Some(flag) => Err(Failure::usage(format!("{flag} is for images"))
                .hint("name one with --image, or leave the flag out")),
            None if !run.here.file.is_empty()
                && !run.here.file_size.is_empty()
                && self.is_remote() =>
            {
                Err(Failure::usage(
                    "a runner reports what is in files or how large they are, not both",
                )
                .hint("leave out --file or --file-size"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], project: Option<&str>, variables: &[(&str, &str)]) -> bool {
        let run = Run::typed(words);
        let variables = Variables::of(variables);
        let work = Work::of(&run, &variables).unwrap();
        let request = NewRun {
            project: project.map(str::to_owned),
            ..NewRun::default()
        };
        work.check_project(&request, &run, &variables).is_ok()
    }

    #[test]
    fn in_ci_a_run_names_its_project_or_says_that_it_does_not() {
        let ci = [("CI", "true")];
        assert!(!check(&["true", "1"], None, &ci));
        assert!(check(&["true", "1"], Some("p"), &ci));
        assert!(check(&["--ci-on-the-fly", "true", "1"], None, &ci));
        assert!(check(&["--image", "p:v1"], None, &ci));
        assert!(check(&["true", "1"], None, &[]));
        assert!(check(&["true", "1"], None, &[("CI", "false")]));
    }
}
