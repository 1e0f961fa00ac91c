//! The registry, as other people's clients and our own commands see it.

mod commands;
mod engines;
mod faults;
mod rights;
mod skopeo;
mod storm;
