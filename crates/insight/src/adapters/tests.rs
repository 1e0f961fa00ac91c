//! What holds for every adapter.

mod files;
mod hostile;
mod real;
