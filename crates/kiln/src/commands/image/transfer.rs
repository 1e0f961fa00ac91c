//! `kiln image push` and `kiln image pull`.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kiln_image::{Event, Image, Layout, Platform, Progress, Reference, Tag, import};
use kiln_model::Digest;
use serde::Serialize;
use tempfile::TempDir;

use super::engine::Engine;
use super::remote::{Remote, from_remote, reference};
use crate::cli::{Pull, Push};
use crate::commands::Context;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Moved<'a> {
    reference: String,
    digest: &'a str,
}

pub(super) fn push(context: &Context<'_>, request: &Push) -> Result<Exit, Failure> {
    let reference = reference(&request.reference)?;
    let remote = Remote::of(context, &reference)?;
    let source = Source::open(request)?;
    let tag = reference.tag().cloned().unwrap_or_else(Tag::latest);
    let (tags, progress) = ([tag], bars(context));
    let pushing = remote
        .client
        .push(&source.image, reference.repository(), &tags, &progress);
    let digest = remote.runtime.block_on(pushing).map_err(from_remote)?;
    report(context, request.access.json.json, &reference, &digest)
}

pub(super) fn pull(context: &Context<'_>, request: &Pull) -> Result<Exit, Failure> {
    let reference = reference(&request.reference)?;
    let remote = Remote::of(context, &reference)?;
    let broke = |error: &dyn std::error::Error| {
        Failure::usage(format!("{} cannot be used", request.output.display())).because(error)
    };
    let layout = Layout::create(&request.output).map_err(|error| broke(&error))?;
    let (platform, progress) = (Platform::host(), bars(context));
    let version = reference.version();
    let pulling = remote.client.pull(
        reference.repository(),
        &version,
        &platform,
        &layout,
        &progress,
    );
    let image = remote.runtime.block_on(pulling).map_err(from_remote)?;
    let tag = reference.tag().cloned().unwrap_or_else(Tag::latest);
    layout
        .add(image.descriptor(), Some(&tag))
        .map_err(|error| broke(&error))?;
    report(
        context,
        request.access.json.json,
        &reference,
        image.digest(),
    )
}

/// The image to push, and the directory it lies in if that is only for now.
struct Source {
    image: Image,
    _scratch: Option<TempDir>,
}

impl Source {
    fn open(request: &Push) -> Result<Self, Failure> {
        let from = request.from.as_str();
        let engine = [("docker:", Engine::Docker), ("podman:", Engine::Podman)]
            .into_iter()
            .find_map(|(prefix, engine)| Some((engine, from.strip_prefix(prefix)?)));
        if let Some((engine, name)) = engine {
            let saved = engine.save(name)?;
            return Self::imported(|layout| saved.import(layout, &Platform::host()));
        }
        let path = Path::new(from);
        if path.is_dir() {
            return Ok(Self {
                image: open_layout(path, request.from_tag.as_deref())?,
                _scratch: None,
            });
        }
        Self::imported(|layout| {
            import(path, layout, &Platform::host())
                .map_err(|error| Failure::usage("the image cannot be read").because(&error))
        })
    }

    fn imported(take: impl FnOnce(&Layout) -> Result<Image, Failure>) -> Result<Self, Failure> {
        let scratch = tempfile::Builder::new().prefix("kiln-image-").tempdir()?;
        let layout = Layout::create(scratch.path())
            .map_err(|error| Failure::unexpected("no scratch directory").because(&error))?;
        Ok(Self {
            image: take(&layout)?,
            _scratch: Some(scratch),
        })
    }
}

/// An image of a directory in the OCI layout.
pub(super) fn open_layout(path: &Path, tag: Option<&str>) -> Result<Image, Failure> {
    let broke = |error: &dyn std::error::Error| {
        Failure::usage(format!("{} holds no image", path.display())).because(error)
    };
    let layout = Layout::open(path).map_err(|error| broke(&error))?;
    let tag: Option<Tag> = tag
        .map(str::parse)
        .transpose()
        .map_err(|error| broke(&error))?;
    let found = layout.find(tag.as_ref()).map_err(|error| broke(&error))?;
    let found = found.ok_or_else(|| {
        Failure::usage(format!("{} does not have that image", path.display()))
            .hint("choose one with --from-tag")
    })?;
    Image::open(&layout, &found, &Platform::host()).map_err(|error| broke(&error))
}

fn report(
    context: &Context<'_>,
    json: bool,
    reference: &Reference,
    digest: &Digest,
) -> Result<Exit, Failure> {
    if json {
        context.terminal.json(&Moved {
            reference: reference.to_string(),
            digest: digest.as_str(),
        })?;
    } else {
        context.terminal.data(digest.as_str())?;
    }
    Ok(Exit::Ok)
}

/// A bar for each blob on a terminal, a line for each elsewhere.
pub(super) fn bars(context: &Context<'_>) -> Progress {
    if context.terminal.is_quiet() || !std::io::stderr().is_terminal() {
        return Progress::silent();
    }
    let all = MultiProgress::new();
    let known: Mutex<BTreeMap<Digest, ProgressBar>> = Mutex::default();
    let style = ProgressStyle::with_template("{prefix} {bar:30} {bytes}/{total_bytes} {msg}")
        .expect("the template is a constant");
    Progress::new(move |event| {
        let (blob, size) = match &event {
            Event::Skipped { blob, size }
            | Event::Moved { blob, size, .. }
            | Event::Finished { blob, size } => (blob.clone(), *size),
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = known.entry(blob).or_insert_with_key(|blob| {
            let bar = all.add(ProgressBar::new(size).with_style(style.clone()));
            bar.set_prefix(blob.hex().chars().take(12).collect::<String>());
            bar
        });
        match event {
            Event::Moved { bytes, .. } => bar.set_position(bytes),
            Event::Skipped { .. } => bar.finish_with_message("is there already"),
            Event::Finished { .. } => bar.finish(),
        }
    })
}
