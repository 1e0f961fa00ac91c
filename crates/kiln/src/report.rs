//! A report for people: as a table for a terminal, as Markdown and as HTML for pull requests. Pure functions over the wire types.

mod escape;
mod html;
mod links;
mod markdown;
mod paired;
mod quantity;
mod text;
mod view;

pub(crate) use html::html;
pub(crate) use links::Links;
pub(crate) use markdown::markdown;
pub(crate) use quantity::{percent, quantity};
pub(crate) use text::text;
pub(crate) use view::{Show, View};

#[cfg(test)]
pub(crate) mod tests;
