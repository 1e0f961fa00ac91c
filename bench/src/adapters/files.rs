//! What is read: the test data of the adapters.

use kiln_insight::Adapter;

pub(super) struct File {
    pub(super) adapter: Adapter,
    pub(super) form: Form,
    pub(super) text: &'static str,
}

#[derive(Clone, Copy)]
pub(super) enum Form {
    Json,
    Text,
}

macro_rules! file {
    ($adapter:ident, $form:ident, $path:literal) => {
        File {
            adapter: Adapter::$adapter,
            form: Form::$form,
            text: include_str!(concat!("../../../crates/insight/testdata/", $path)),
        }
    };
}

pub(super) const FILES: &[File] = &[
    file!(CSharpDotNet, Json, "c_sharp_dot_net/documented.json"),
    file!(CppCatch2, Text, "cpp_catch2/console.txt"),
    file!(CppGoogle, Json, "cpp_google/repetitions.json"),
    file!(
        DartBenchmarkHarness,
        Text,
        "dart_benchmark_harness/documented.txt"
    ),
    file!(GoBench, Text, "go_bench/count.txt"),
    file!(JavaJmh, Json, "java_jmh/documented.json"),
    file!(JsBenchmark, Text, "js_benchmark/suite.txt"),
    file!(JsNode, Text, "js_node/core.txt"),
    file!(JsTime, Text, "js_time/timers.txt"),
    file!(JsTinybench, Json, "js_tinybench/tasks.json"),
    file!(JsTinybench, Text, "js_tinybench/table.txt"),
    file!(JsVitest, Json, "js_vitest/report.json"),
    file!(Json, Json, "json/bmf.json"),
    file!(PythonAsv, Text, "python_asv/run.txt"),
    file!(PythonPyperf, Json, "python_pyperf/suite.json"),
    file!(PythonPytest, Json, "python_pytest/report.json"),
    file!(RubyBenchmark, Text, "ruby_benchmark/bmbm.txt"),
    file!(RustBench, Text, "rust_bench/bench.txt"),
    file!(RustCriterion, Text, "rust_criterion/change.txt"),
    file!(RustDivan, Text, "rust_divan/allocations.txt"),
    file!(RustGungraun, Json, "rust_gungraun/summary.json"),
    file!(RustGungraun, Text, "rust_gungraun/tools.txt"),
    file!(RustIai, Text, "rust_iai/two.txt"),
    file!(RustNextest, Text, "rust_nextest/console.txt"),
    file!(ShellHyperfine, Json, "shell_hyperfine/parameters.json"),
    file!(ShellWrk, Text, "shell_wrk/latency.txt"),
];
