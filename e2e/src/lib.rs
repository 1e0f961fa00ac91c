#![doc = include_str!("../README.md")]

mod image;
mod process;
mod town;

pub use image::{shell_image, shell_layout};
pub use process::{Exited, Process, kiln, program};
pub use town::{RunnerProcess, ServerProcess, Town};
