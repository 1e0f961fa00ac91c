//! `kiln runner run`: one image, once, without a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kiln_image::Overrides;
use kiln_model::v0::JobOutput;
use kiln_runner::{Execution, LocalImage, LocalJob, Verdict};
use kiln_sandbox::{ChamberSpec, ResourceBound};
use tokio_util::sync::CancellationToken;

use super::quiet::quiet_host;
use super::{Home, accepted, backend, executor};
use crate::cli::RunnerRun;
use crate::commands::Context;
use crate::commands::logs::bad_end;
use crate::commands::server::{StopSignals, make_directory, runtime};
use crate::failure::{Exit, Failure};
use crate::log;

pub(in crate::commands) fn run(context: &Context<'_>, wanted: &RunnerRun) -> Result<Exit, Failure> {
    log::install(context.settings.need("log")?)?;
    let data = PathBuf::from(context.settings.need("runner-data")?);
    make_directory(&data)?;
    let mut job = job(wanted)?;
    job.chamber.missing_limits = accepted(context)?;
    let runtime = runtime()?;
    // Signals first: from here on who is asked to stop leaves the host as it was.
    let mut stop = StopSignals::install_in(&runtime)?;
    let host = quiet_host(context, &data, 1)?;
    let execution = runtime.block_on(async {
        let chambers = backend::chosen(context, &data)?;
        let home = Home {
            data: &data,
            server: None,
            missing_limits: accepted(context)?,
        };
        let executor = executor(&home, host.quiet(), chambers)?;
        let cancel = CancellationToken::new();
        let running = executor.run_local(job, cancel.clone());
        let mut running = std::pin::pin!(running);
        let result = tokio::select! {
            result = &mut running => result,
            () = stop.received() => {
                cancel.cancel();
                running.await
            }
        };
        result.map_err(|failure| Failure::new(Exit::JobFailed, failure.error))
    })?;
    show(context, wanted, execution)
}

fn job(wanted: &RunnerRun) -> Result<LocalJob, Failure> {
    const MIB: u64 = 1 << 20;
    let path = Path::new(&wanted.from.image);
    let image = if path.join("oci-layout").exists() {
        LocalImage::Layout(path.to_owned())
    } else {
        LocalImage::Registry {
            reference: wanted.from.image.parse().map_err(|error| {
                Failure::usage("--image is neither an OCI layout nor a reference").because(&error)
            })?,
            token: wanted.from.token.clone(),
            plain_http: wanted.from.plain_http,
        }
    };
    let given = |words: &[String]| (!words.is_empty()).then(|| words.to_vec());
    Ok(LocalJob {
        image,
        overrides: Overrides {
            entrypoint: given(&wanted.entrypoint),
            cmd: given(&wanted.cmd),
            env: environment(&wanted.env)?,
            workdir: None,
            user: None,
        },
        chamber: ChamberSpec {
            cpus: wanted.vcpus,
            memory_bytes: u64::from(wanted.memory) * MIB,
            disk_bytes: u64::from(wanted.disk) * MIB,
            network: wanted.network,
            ..ChamberSpec::default()
        },
        timeout: Duration::from_secs(u64::from(wanted.timeout)),
        iterations: wanted.iter,
        allow_failure: wanted.allow_failure,
        file_paths: wanted.output.clone(),
        resources: resources(&wanted.ulimit)?,
    })
}

/// Of two for the same resource the later one counts.
fn resources(limits: &[String]) -> Result<Vec<ResourceBound>, Failure> {
    let mut bounds: Vec<ResourceBound> = Vec::new();
    for limit in limits {
        let bound: ResourceBound = limit
            .parse()
            .map_err(|error| Failure::usage(format!("--ulimit {limit:?}")).because(&error))?;
        bounds.retain(|other| other.resource != bound.resource);
        bounds.push(bound);
    }
    Ok(bounds)
}

fn environment(variables: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    variables
        .iter()
        .map(|variable| {
            let (name, value) = variable
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("--env {variable:?} is not NAME=VALUE")))?;
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// The job's streams on ours; its files and how it ended beside them.
fn show(context: &Context<'_>, wanted: &RunnerRun, execution: Execution) -> Result<Exit, Failure> {
    let terminal = context.terminal;
    let error = match execution.verdict {
        Verdict::Completed => None,
        Verdict::Failed(error) => Some(error),
    };
    let output = JobOutput {
        results: execution.output.into_results(),
        error,
        conditions: Some(Box::new(execution.conditions)),
        large: None,
    };
    if wanted.json.json {
        terminal.json(&output)?;
    } else {
        for (index, result) in output.results.iter().enumerate() {
            let texts = [&result.stdout, &result.stderr].map(Option::as_deref);
            let [stdout, stderr] =
                texts.map(|text| text.unwrap_or_default().trim_end_matches('\n'));
            if !stdout.is_empty() {
                terminal.data(stdout)?;
            }
            if !stderr.is_empty() {
                terminal.note(stderr);
            }
            for (path, content) in result.output.iter().flatten() {
                terminal.note(&format!("{path}:"));
                terminal.data(content.trim_end_matches('\n'))?;
            }
            if let Some(end) = bad_end(&output, index) {
                terminal.note(&format!("iteration {}: {end}", index + 1));
            }
        }
        let noise = output.conditions.iter().flat_map(|told| &told.noise);
        for seen in noise.flat_map(|noise| &noise.interference) {
            terminal.note(&format!("interference seen: {seen}"));
        }
        let layers = output.conditions.iter().flat_map(|told| told.missing());
        for layer in layers {
            terminal.warn(&format!("not in effect: {}: {}", layer.name, layer.detail));
        }
    }
    match output.error {
        None => Ok(Exit::Ok),
        Some(error) => Err(Failure::new(Exit::JobFailed, error)),
    }
}
