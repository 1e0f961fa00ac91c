//! The worker shell: a runner with a clock, a batch size, an idle policy, and, if wanted, a thread.

mod gate;
mod shell;
mod thread;
mod time;

pub use gate::Gate;
pub use shell::{OnError, Worker, WorkerConfig};
pub use time::Time;
