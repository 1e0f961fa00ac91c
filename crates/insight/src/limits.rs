//! The bounds of what one result may hold. Each has its own error.

/// The longest text an adapter reads. Real harnesses print kilobytes; the bound keeps one job from filling the server's memory.
pub const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// The longest benchmark name, in characters, as stock clients know it.
pub const MAX_BENCHMARK_NAME: usize = 1024;

/// The most benchmarks in one result: as many as a stock server lets one project create in a day.
pub const MAX_BENCHMARKS: usize = 65_535;

/// The most measures of one benchmark. The richest harness we know yields about sixty.
pub const MAX_MEASURES: usize = 255;

/// The longest explanation in an error, in characters: it may quote the input.
pub const MAX_REASON: usize = 2048;
