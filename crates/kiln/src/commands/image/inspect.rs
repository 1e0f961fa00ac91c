//! `kiln image list`, `show`, `tag` and `rm`.

use kiln_client::{Client, Page};
use kiln_image::{Manifest, Tag};
use kiln_model::v0::Image;
use serde_json::{Value, json};

use super::remote::{Remote, from_remote, reference};
use crate::cli;
use crate::commands::Context;
use crate::commands::connection::Connection;
use crate::commands::table::{or_dash, print};
use crate::failure::{Exit, Failure};

pub(super) fn list(context: &Context<'_>, request: &cli::Repository) -> Result<Exit, Failure> {
    let reference = reference(&request.name)?;
    let name = reference.repository().as_str();
    if reference.host().is_none() && !name.contains('/') {
        return list_project(context, name, request.access.json.json);
    }
    let remote = Remote::of(context, &reference)?;
    let listing = remote.client.tags(reference.repository());
    let tags = remote.runtime.block_on(listing).map_err(from_remote)?;
    if request.access.json.json {
        context.terminal.json(&tags)?;
        return Ok(Exit::Ok);
    }
    for tag in &tags {
        context.terminal.data(tag)?;
    }
    Ok(Exit::Ok)
}

/// A project may have images below its name and none under it: what is asked for are those of all its repositories.
fn list_project(context: &Context<'_>, project: &str, json: bool) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let images = server.call(all_images(&server.client, project))?;
    if json {
        context.terminal.json(&images)?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<[String; 4]> = images
        .iter()
        .map(|image| {
            [
                image.repository.clone(),
                or_dash(image.tag.as_ref()),
                or_dash(image.digest.as_ref()),
                or_dash(image.modified.as_ref()),
            ]
        })
        .collect();
    let names = ["repository", "tag", "digest", "modified"];
    print(context.terminal, names, &rows)?;
    Ok(Exit::Ok)
}

async fn all_images(client: &Client, project: &str) -> Result<Vec<Image>, kiln_client::Error> {
    let (mut images, mut page) = (Vec::new(), Page::default());
    loop {
        let found = client.list_images(project, page).await?;
        let is_last = found.len() < usize::from(page.size);
        images.extend(found);
        if is_last {
            return Ok(images);
        }
        page.number += 1;
    }
}

pub(super) fn show(context: &Context<'_>, request: &cli::Named) -> Result<Exit, Failure> {
    let reference = reference(&request.reference)?;
    let remote = Remote::of(context, &reference)?;
    let version = reference.version();
    let asking = remote.client.manifest(reference.repository(), &version);
    let (descriptor, manifest) = remote.runtime.block_on(asking).map_err(from_remote)?;
    let parts = match &manifest {
        Manifest::Image(image) => ("layers", &image.layers),
        Manifest::Index(index) => ("manifests", &index.manifests),
    };
    if request.access.json.json {
        let mut shown = json!({
            "digest": descriptor.digest,
            "media_type": descriptor.media_type,
            "size": descriptor.size,
        });
        shown[parts.0] = serde_json::to_value(parts.1).unwrap_or(Value::Null);
        context.terminal.json(&shown)?;
        return Ok(Exit::Ok);
    }
    context
        .terminal
        .data(&format!("digest      {}", descriptor.digest))?;
    context
        .terminal
        .data(&format!("media type  {}", descriptor.media_type))?;
    for part in parts.1 {
        let platform = part
            .platform
            .as_ref()
            .map(|platform| format!("  {platform}"))
            .unwrap_or_default();
        context.terminal.data(&format!(
            "{:<11} {}  {} bytes{platform}",
            parts.0.trim_end_matches('s'),
            part.digest,
            part.size
        ))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn tag(context: &Context<'_>, request: &cli::Tag) -> Result<Exit, Failure> {
    let reference = reference(&request.reference)?;
    let remote = Remote::of(context, &reference)?;
    let tag: Tag = request
        .new
        .parse()
        .map_err(|error| Failure::usage("that is no tag").because(&error))?;
    let version = reference.version();
    let tagging = remote.client.tag(reference.repository(), &version, &tag);
    let digest = remote.runtime.block_on(tagging).map_err(from_remote)?;
    if request.access.json.json {
        context
            .terminal
            .json(&json!({"tag": tag.as_str(), "digest": digest}))?;
    } else {
        context.terminal.data(digest.as_str())?;
    }
    Ok(Exit::Ok)
}

pub(super) fn remove(context: &Context<'_>, request: &cli::Named) -> Result<Exit, Failure> {
    let reference = reference(&request.reference)?;
    // A command that deletes does not guess what.
    if reference.tag().is_none() && reference.digest().is_none() {
        return Err(Failure::usage("which one is to go?").hint("write :TAG or @DIGEST"));
    }
    let remote = Remote::of(context, &reference)?;
    let version = reference.version();
    let removing = remote.client.delete(reference.repository(), &version);
    remote.runtime.block_on(removing).map_err(from_remote)?;
    if request.access.json.json {
        context
            .terminal
            .json(&json!({"removed": reference.to_string()}))?;
    } else {
        context.terminal.note(&format!("{reference} is removed"));
    }
    Ok(Exit::Ok)
}
