//! What a job asks for, beside what this runner has.

use kiln_model::v0::{Architecture, Isolation, OperatingSystem, Spec};
use kiln_sandbox::Backend;

use super::stage::StageError;

/// Their outputs share one message; with more iterations nothing of each is left.
pub(super) const MAX_ITERATIONS: u32 = 1_000;

/// Refuses what this executor cannot give.
pub(super) fn check(
    spec: &Spec,
    iterations: Option<u32>,
    backend: &dyn Backend,
) -> Result<(), StageError> {
    check_isolation(spec, backend)?;
    let refuse = |reason: String| Err(StageError::refused(reason));
    let architecture = match spec.architecture {
        Architecture::X86_64 => "x86_64",
        Architecture::Aarch64 => "aarch64",
    };
    if spec.os != OperatingSystem::Linux || architecture != std::env::consts::ARCH {
        return refuse(format!(
            "spec {} is for another kind of machine than this runner's Linux on {}; link it to another spec",
            spec.slug,
            std::env::consts::ARCH
        ));
    }
    if iterations.is_some_and(|iterations| iterations > MAX_ITERATIONS) {
        return refuse(format!(
            "a job has at most {MAX_ITERATIONS} iterations; ask for fewer"
        ));
    }
    Ok(())
}

/// Never less than what the spec asks for, whichever way it does.
fn check_isolation(spec: &Spec, backend: &dyn Backend) -> Result<(), StageError> {
    let slug = &spec.slug;
    let wanted = spec.wanted_isolation().map_err(|unknown| {
        let name = unknown.name;
        StageError::refused(format!(
            "spec {slug} asks for the isolation {name:?}, which this runner does not know; update the runner, or link it to another spec"
        ))
    })?;
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let given = backend.isolation();
    if given >= Some(wanted) {
        return Ok(());
    }
    let start = match wanted {
        Isolation::Namespace => "--backend namespace",
        Isolation::Microvm => "--backend qemu or firecracker",
        Isolation::Firecracker => "--backend firecracker and --jailer",
    };
    let (name, given) = (backend.name(), given.map_or("none", Isolation::name));
    Err(StageError::refused(format!(
        "spec {slug} asks for the isolation {wanted}, and this runner's back end {name} gives {given}; \
         start the runner with {start} (`kiln doctor` says what its host lacks for that), or link it to another spec"
    )))
}

#[cfg(test)]
mod tests {
    use kiln_model::v0::ClaimedJob;
    use kiln_sandbox::{Chamber, ChamberSpec, Error, Rootfs};
    use serde_json::Value;

    use super::*;

    /// A back end that gives so much, and is asked for nothing else.
    #[derive(Debug)]
    struct Gives(Option<Isolation>);

    impl Backend for Gives {
        fn name(&self) -> &'static str {
            "double"
        }

        fn isolation(&self) -> Option<Isolation> {
            self.0
        }

        fn prepare(&self, _: &Rootfs, _: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
            unreachable!("it is only asked what it gives")
        }
    }

    fn spec(isolation: Option<&str>) -> Spec {
        let recorded = include_str!("../../../fixtures/channel/happy.json");
        let rows: Vec<Value> = serde_json::from_str(recorded).unwrap();
        let mut messages = rows.iter().map(|row| &row["server"]);
        let job = messages.find(|message| message["event"] == "job").unwrap();
        let job: ClaimedJob = serde_json::from_value(job.clone()).unwrap();
        Spec {
            isolation: isolation.map(str::to_owned),
            ..job.spec
        }
    }

    #[test]
    fn what_is_given_is_never_less_than_what_is_asked_for() {
        let levels = || [None].into_iter().chain(Isolation::ALL.map(Some));
        for (wanted, given) in
            levels().flat_map(|wanted| levels().map(move |given| (wanted, given)))
        {
            let spec = spec(wanted.map(Isolation::name));
            let accepted = check_isolation(&spec, &Gives(given)).is_ok();
            assert_eq!(accepted, given >= wanted, "{given:?} for {wanted:?}");
        }
    }

    #[test]
    fn a_refusal_says_what_is_missing_and_what_to_do() {
        let spec = spec(Some("firecracker"));
        let refused = check_isolation(&spec, &Gives(Some(Isolation::Microvm)));
        let told = refused.unwrap_err().to_string();
        for part in [
            "spec local-spec asks for the isolation firecracker",
            "double gives microvm",
            "--backend firecracker and --jailer",
            "link it to another spec",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn a_level_of_a_newer_server_is_refused_by_name() {
        let strongest = Gives(Some(Isolation::Firecracker));
        let refused = check_isolation(&spec(Some("bunker")), &strongest);
        let told = refused.unwrap_err().to_string();
        assert!(
            told.contains(r#""bunker", which this runner does not know"#),
            "{told}"
        );
    }
}
