//! What harnesses really printed, and what is to be read out of it. `testdata/README.md` says where each file comes from.

use crate::Adapter;

pub(super) struct File {
    pub(super) adapter: Adapter,
    pub(super) path: &'static str,
    pub(super) text: &'static str,
    /// The results in Bencher Metric Format.
    pub(super) expected: &'static str,
}

macro_rules! file {
    ($adapter:ident, $path:literal) => {
        File {
            adapter: Adapter::$adapter,
            path: $path,
            text: include_str!(concat!("../../../testdata/", $path)),
            expected: include_str!(concat!("../../../testdata/", $path, ".bmf")),
        }
    };
}

pub(super) const FILES: &[File] = &[
    file!(CSharpDotNet, "c_sharp_dot_net/documented.json"),
    file!(CppCatch2, "cpp_catch2/console.txt"),
    file!(CppCatch2, "cpp_catch2/report.xml"),
    file!(CppGoogle, "cpp_google/aggregates.json"),
    file!(CppGoogle, "cpp_google/repetitions.json"),
    file!(CppGoogle, "cpp_google/runs.json"),
    file!(
        DartBenchmarkHarness,
        "dart_benchmark_harness/documented.txt"
    ),
    file!(GoBench, "go_bench/benchmem.txt"),
    file!(GoBench, "go_bench/count.txt"),
    file!(JavaJmh, "java_jmh/documented.json"),
    file!(JsBenchmark, "js_benchmark/suite.txt"),
    file!(JsNode, "js_node/bench_node.txt"),
    file!(JsNode, "js_node/core.txt"),
    file!(JsTime, "js_time/timers.txt"),
    file!(JsTinybench, "js_tinybench/table.txt"),
    file!(JsTinybench, "js_tinybench/tasks.json"),
    file!(JsVitest, "js_vitest/report.json"),
    file!(Json, "json/bmf.json"),
    file!(PythonAsv, "python_asv/run.txt"),
    file!(PythonPyperf, "python_pyperf/suite.json"),
    file!(PythonPytest, "python_pytest/report.json"),
    file!(RubyBenchmark, "ruby_benchmark/bm.txt"),
    file!(RubyBenchmark, "ruby_benchmark/bmbm.txt"),
    file!(RustBench, "rust_bench/bench.txt"),
    file!(RustCriterion, "rust_criterion/change.txt"),
    file!(RustCriterion, "rust_criterion/throughput.txt"),
    file!(RustDivan, "rust_divan/allocations.txt"),
    file!(RustGungraun, "rust_gungraun/callgrind.txt"),
    file!(RustGungraun, "rust_gungraun/documented_v6.json"),
    file!(RustGungraun, "rust_gungraun/summary.json"),
    file!(RustGungraun, "rust_gungraun/summary_v6.json"),
    file!(RustGungraun, "rust_gungraun/tools.txt"),
    file!(RustIai, "rust_iai/two.txt"),
    file!(RustNextest, "rust_nextest/console.txt"),
    file!(RustNextest, "rust_nextest/junit.xml"),
    file!(RustNextest, "rust_nextest/libtest.json"),
    file!(ShellHyperfine, "shell_hyperfine/one.json"),
    file!(ShellHyperfine, "shell_hyperfine/parameters.json"),
    file!(ShellWrk, "shell_wrk/errors.txt"),
    file!(ShellWrk, "shell_wrk/latency.txt"),
];
