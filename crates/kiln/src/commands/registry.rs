//! `kiln registry`.

use kiln_control::Denied;
use kiln_model::operator::registry::{CollectRequest, Collected, Quota, Verified, VerifyRequest};
use kiln_server::operator::registry as operator;

use super::Context;
use super::server::runtime;
use super::target::{Answerer, from_client};
use crate::cli::{self, Registry};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: &Registry) -> Result<Exit, Failure> {
    let json = command.target().json.json;
    match command {
        Registry::Stats(_) => stats(context, json),
        Registry::Gc(gc) => collect(context, gc, json),
        Registry::Verify(_) => verify(context, json),
        Registry::Quota(wanted) => quota(context, wanted, json),
    }
}

fn stats(context: &Context<'_>, json: bool) -> Result<Exit, Failure> {
    let stats = match &Answerer::find(context)? {
        Answerer::Server(client, runtime) => runtime
            .block_on(client.registry_stats())
            .map_err(from_client)?,
        Answerer::Store(store) => on_store(operator::stats(store))?,
    };
    if json {
        context.terminal.json(&stats)?;
        return Ok(Exit::Ok);
    }
    for (what, count) in [
        ("repositories", stats.repositories),
        ("manifests", stats.manifests),
        ("tags", stats.tags),
        ("blobs", stats.blobs),
        ("blobs, bytes on disk", stats.blob_bytes),
        ("blobs, bytes by project", stats.held_bytes),
        ("blobs no manifest names", stats.spare_blobs),
        ("uploads", stats.uploads),
        ("uploads, bytes", stats.upload_bytes),
    ] {
        context.terminal.data(&format!("{what:<24} {count}"))?;
    }
    Ok(Exit::Ok)
}

fn collect(context: &Context<'_>, gc: &cli::Gc, json: bool) -> Result<Exit, Failure> {
    let answerer = Answerer::find(context)?;
    let mut request = CollectRequest {
        older_than: Some(gc.older_than),
        untagged: gc.untagged,
        from: None,
    };
    let mut whole = Collected::default();
    loop {
        let page = match &answerer {
            Answerer::Server(client, runtime) => runtime
                .block_on(client.collect_registry(&request))
                .map_err(from_client)?,
            Answerer::Store(store) => on_store(operator::collect(store, &request))?,
        };
        whole.uploads += page.uploads;
        whole.manifests += page.manifests;
        whole.holdings += page.holdings;
        whole.objects += page.objects;
        whole.bytes += page.bytes;
        context
            .terminal
            .progress(&format!("collecting: {} bytes so far", whole.bytes));
        request.from = page.next;
        if request.from.is_none() {
            break;
        }
    }
    context.terminal.end_progress();
    if json {
        context.terminal.json(&whole)?;
        return Ok(Exit::Ok);
    }
    context.terminal.data(&format!(
        "{} uploads, {} manifests, {} blobs of projects, {} files with {} bytes",
        whole.uploads, whole.manifests, whole.holdings, whole.objects, whole.bytes
    ))?;
    Ok(Exit::Ok)
}

fn verify(context: &Context<'_>, json: bool) -> Result<Exit, Failure> {
    let answerer = Answerer::find(context)?;
    let mut request = VerifyRequest::default();
    let mut whole = Verified::default();
    loop {
        let page = match &answerer {
            Answerer::Server(client, runtime) => runtime
                .block_on(client.verify_registry(&request))
                .map_err(from_client)?,
            Answerer::Store(store) => on_store(operator::verify(store, &request))?,
        };
        whole.manifests += page.manifests;
        whole.blobs += page.blobs;
        whole.bytes += page.bytes;
        whole.damaged.extend(page.damaged);
        context
            .terminal
            .progress(&format!("verifying: {} bytes so far", whole.bytes));
        request.from = page.next;
        if request.from.is_none() {
            break;
        }
    }
    context.terminal.end_progress();
    if json {
        context.terminal.json(&whole)?;
    } else {
        for damaged in &whole.damaged {
            let line = format!("damaged: {}  {}", damaged.digest, damaged.what);
            context.terminal.data(&line)?;
        }
        context.terminal.data(&format!(
            "{} manifests and {} blobs with {} bytes were read, {} are damaged",
            whole.manifests,
            whole.blobs,
            whole.bytes,
            whole.damaged.len()
        ))?;
    }
    Ok(if whole.damaged.is_empty() {
        Exit::Ok
    } else {
        Exit::Unexpected
    })
}

fn quota(context: &Context<'_>, wanted: &cli::Quota, json: bool) -> Result<Exit, Failure> {
    let changes = wanted.bytes.is_some() || wanted.unlimited;
    let project = wanted.project.as_str();
    let quota: Quota = match &Answerer::find(context)? {
        Answerer::Server(client, runtime) => runtime
            .block_on(async {
                if changes {
                    client.set_quota(project, wanted.bytes).await
                } else {
                    client.quota(project).await
                }
            })
            .map_err(from_client)?,
        Answerer::Store(store) if changes => {
            on_store(operator::set_quota(store, project, wanted.bytes))?
        }
        Answerer::Store(store) => on_store(operator::quota(store, project))?,
    };
    if json {
        context.terminal.json(&quota)?;
        return Ok(Exit::Ok);
    }
    let limit = quota
        .quota
        .map_or_else(|| "no quota".to_owned(), |quota| format!("{quota} allowed"));
    context
        .terminal
        .data(&format!("{} bytes held, {limit}", quota.bytes))?;
    Ok(Exit::Ok)
}

/// Objects are read and written by a runtime, also when no server runs.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all that is left is unexpected"
)]
fn on_store<T>(work: impl Future<Output = Result<T, Denied>>) -> Result<T, Failure> {
    runtime()?.block_on(work).map_err(|denied| {
        let exit = match denied {
            Denied::NotFound(_) => Exit::NotFound,
            _ => Exit::Unexpected,
        };
        Failure::new(exit, denied.to_string())
    })
}
