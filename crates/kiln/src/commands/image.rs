//! `kiln image`.

mod build;
mod engine;
mod inspect;
mod made;
mod remote;
mod transfer;

pub(super) use made::Made;

use super::Context;
use crate::cli::Image;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: &Image) -> Result<Exit, Failure> {
    match command {
        Image::Build(request) => build::build(context, request),
        Image::Push(request) => transfer::push(context, request),
        Image::Pull(request) => transfer::pull(context, request),
        Image::List(request) => inspect::list(context, request),
        Image::Show(request) => inspect::show(context, request),
        Image::Tag(request) => inspect::tag(context, request),
        Image::Rm(request) => inspect::remove(context, request),
    }
}
