//! One reader per harness, named as its adapter, and what they share.

pub(crate) mod c_sharp_dot_net;
pub(crate) mod cpp_catch2;
pub(crate) mod cpp_google;
pub(crate) mod dart_benchmark_harness;
pub(crate) mod go_bench;
pub(crate) mod java_jmh;
pub(crate) mod js_benchmark;
pub(crate) mod js_node;
pub(crate) mod js_time;
pub(crate) mod js_tinybench;
pub(crate) mod js_vitest;
pub(crate) mod json;
pub(crate) mod python_asv;
pub(crate) mod python_pyperf;
pub(crate) mod python_pytest;
pub(crate) mod ruby_benchmark;
pub(crate) mod rust_bench;
pub(crate) mod rust_criterion;
pub(crate) mod rust_divan;
pub(crate) mod rust_gungraun;
pub(crate) mod rust_iai;
pub(crate) mod rust_nextest;
pub(crate) mod shell_hyperfine;
pub(crate) mod shell_wrk;

pub(crate) mod ansi;
mod document;
mod lines;
mod number;
pub(crate) mod position;
mod repeats;
mod sheet;
mod statistics;
mod unit;
mod xml;

#[cfg(test)]
mod tests;
