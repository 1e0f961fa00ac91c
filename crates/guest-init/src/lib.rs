//! PID 1 of a chamber.
