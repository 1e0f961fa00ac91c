#![doc = include_str!("../README.md")]

pub mod forge;
mod image;
mod process;
mod town;

pub use image::{shell_image, shell_layout};
pub use process::{Exited, Process, kiln, kiln_with, program};
pub use town::{RunnerProcess, ServerProcess, Town};
