#![doc = include_str!("../README.md")]

mod fleet;
pub mod forge;
mod image;
mod process;
mod servers;
mod town;

pub use fleet::{FleetRunner, Servers, result_of, submit};
pub use image::{shell_image, shell_layout};
pub use process::{Exited, Process, kiln, kiln_with, program};
pub use servers::{Outcome, Several, kill_servers, problems};
pub use town::{RunnerProcess, ServerProcess, Town};
