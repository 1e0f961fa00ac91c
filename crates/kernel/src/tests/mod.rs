//! The kernel on its own store in memory.

mod crashes;
mod model;
mod recovery;
mod sabotage;

mod conformance {
    crate::kernel_conformance!(crate::MemoryKv::new);
}
