//! One reader per harness.

pub(crate) mod json;
