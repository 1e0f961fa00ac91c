//! What holds for every adapter.

mod files;
mod hostile;
mod mutants;
mod real;
