//! `kiln image build`.

use std::path::Path;

use kiln_image::{Image, Layout, Platform, Recipe, Source, Tag, build as build_image};
use serde::Serialize;

use super::engine::{Engine, Saved};
use crate::cli::Build;
use crate::commands::Context;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Built<'a> {
    digest: &'a str,
    output: &'a Path,
    tag: &'a str,
}

pub(super) fn build(context: &Context<'_>, request: &Build) -> Result<Exit, Failure> {
    let tag: Tag = request
        .tag
        .parse()
        .map_err(|error| Failure::usage("that is no tag").because(&error))?;
    let layout = Layout::create(&request.output).map_err(|error| {
        Failure::usage(format!("{} cannot be used", request.output.display())).because(&error)
    })?;
    let image = match &request.dockerfile {
        Some(file) => from_dockerfile(context, request, file, &layout, &tag)?,
        None => from_files(request, &layout, &tag)?,
    };
    if request.json.json {
        context.terminal.json(&Built {
            digest: image.digest().as_str(),
            output: &request.output,
            tag: tag.as_str(),
        })?;
    } else {
        context.terminal.data(image.digest().as_str())?;
    }
    Ok(Exit::Ok)
}

fn from_files(request: &Build, layout: &Layout, tag: &Tag) -> Result<Image, Failure> {
    let source = if request.source.is_dir() {
        Source::Directory(request.source.clone())
    } else {
        Source::Archive(request.source.clone())
    };
    let recipe = Recipe {
        compress: !request.plain,
        entrypoint: request.entrypoint.clone(),
        cmd: request.cmd.clone(),
        env: request.env.clone(),
        workdir: request.workdir.clone(),
        user: request.user.clone(),
        ..Recipe::new(source)
    };
    build_image(&recipe, layout, Some(tag)).map_err(|error| {
        let what = format!("{} cannot be made an image of", request.source.display());
        Failure::unexpected(what).because(&error)
    })
}

fn from_dockerfile(
    context: &Context<'_>,
    request: &Build,
    file: &Path,
    layout: &Layout,
    tag: &Tag,
) -> Result<Image, Failure> {
    let built = engine_build(context, file, &request.source)?;
    let image = built.import(layout, &Platform::host())?;
    layout
        .add(image.descriptor(), Some(tag))
        .map_err(|error| Failure::unexpected("the image cannot be listed").because(&error))?;
    Ok(image)
}

/// Has a Dockerfile built by the engine of this machine.
pub(super) fn engine_build(
    context: &Context<'_>,
    file: &Path,
    source: &Path,
) -> Result<Saved, Failure> {
    let engine = Engine::installed().ok_or_else(|| {
        Failure::usage("a Dockerfile is built by buildah, podman or docker, and none is installed")
            .hint("install one of them, or build from a directory without a Dockerfile")
    })?;
    context
        .terminal
        .progress(&format!("building with {}", engine.program()));
    let built = engine.build(file, source);
    context.terminal.end_progress();
    built
}
