//! Which function reads which harness, and which statistics the harness has.

use crate::adapters::{
    c_sharp_dot_net, cpp_catch2, cpp_google, dart_benchmark_harness, go_bench, java_jmh,
    js_benchmark, js_node, js_time, js_tinybench, js_vitest, json, python_asv, python_pyperf,
    python_pytest, ruby_benchmark, rust_bench, rust_criterion, rust_divan, rust_gungraun, rust_iai,
    rust_nextest, shell_hyperfine, shell_wrk,
};
use crate::{Adapter, Average, ParseError, Results};

/// How the output of a harness is read.
#[derive(Clone, Copy)]
pub(crate) enum Reader {
    /// What the harness counts is no average.
    Plain(fn(&str) -> Result<Results, ParseError>),
    /// The harness has one kind of average.
    Only(Average, fn(&str) -> Result<Results, ParseError>),
    /// The harness has both; the mean is taken when nobody asks.
    Either(fn(&str, Average) -> Result<Results, ParseError>),
}

/// What `magic` tries, in this order: as stock servers order the languages, but the formats that match the most foreign lines last.
pub(crate) const TRIED: &[Adapter] = &[
    Adapter::Json,
    Adapter::CSharpDotNet,
    Adapter::CppGoogle,
    Adapter::CppCatch2,
    Adapter::DartBenchmarkHarness,
    Adapter::GoBench,
    Adapter::JavaJmh,
    Adapter::JsBenchmark,
    Adapter::JsVitest,
    Adapter::JsTinybench,
    Adapter::JsNode,
    Adapter::PythonAsv,
    Adapter::PythonPytest,
    Adapter::PythonPyperf,
    Adapter::RubyBenchmark,
    Adapter::RustBench,
    Adapter::RustCriterion,
    Adapter::RustIai,
    Adapter::RustGungraun,
    Adapter::RustDivan,
    Adapter::ShellHyperfine,
    Adapter::ShellWrk,
    Adapter::RustNextest,
    Adapter::JsTime,
];

/// The reader of a harness; nothing for `magic` and for languages, which stand for several.
pub(crate) fn reader(adapter: Adapter) -> Option<Reader> {
    use Average::{Mean, Median};
    use Reader::{Either, Only, Plain};
    Some(match adapter {
        Adapter::Json => Plain(json::parse),
        Adapter::RustBench => Only(Median, rust_bench::parse),
        Adapter::RustCriterion => Only(Mean, rust_criterion::parse),
        Adapter::RustIai => Plain(rust_iai::parse),
        Adapter::RustGungraun => Plain(rust_gungraun::parse),
        Adapter::RustGungraunStdout => Plain(rust_gungraun::parse_stdout),
        Adapter::RustGungraunJson => Plain(rust_gungraun::parse_json),
        Adapter::RustDivan => Either(rust_divan::parse),
        Adapter::RustNextest => Plain(rust_nextest::parse),
        Adapter::CppGoogle => Either(cpp_google::parse),
        Adapter::CppCatch2 => Only(Mean, cpp_catch2::parse),
        Adapter::GoBench => Either(go_bench::parse),
        Adapter::JavaJmh => Only(Mean, java_jmh::parse),
        Adapter::CSharpDotNet => Either(c_sharp_dot_net::parse),
        Adapter::JsBenchmark => Only(Mean, js_benchmark::parse),
        Adapter::JsTime => Plain(js_time::parse),
        Adapter::JsVitest => Either(js_vitest::parse),
        Adapter::JsTinybench => Either(js_tinybench::parse),
        Adapter::JsNode => Only(Mean, js_node::parse),
        Adapter::PythonAsv => Only(Median, python_asv::parse),
        Adapter::PythonPytest => Either(python_pytest::parse),
        Adapter::PythonPyperf => Either(python_pyperf::parse),
        Adapter::RubyBenchmark => Plain(ruby_benchmark::parse),
        Adapter::ShellHyperfine => Either(shell_hyperfine::parse),
        Adapter::ShellWrk => Only(Mean, shell_wrk::parse),
        Adapter::DartBenchmarkHarness => Plain(dart_benchmark_harness::parse),
        Adapter::Magic
        | Adapter::Rust
        | Adapter::Cpp
        | Adapter::Go
        | Adapter::Java
        | Adapter::CSharp
        | Adapter::Js
        | Adapter::Python
        | Adapter::Ruby
        | Adapter::Shell
        | Adapter::Dart => return None,
    })
}

impl Reader {
    pub(crate) fn read(
        self,
        adapter: Adapter,
        text: &str,
        average: Option<Average>,
    ) -> Result<Results, ParseError> {
        match (self, average) {
            (Self::Only(has, _), Some(wanted)) if has != wanted => {
                Err(ParseError::OtherAverage { adapter, has })
            }
            (Self::Plain(read) | Self::Only(_, read), _) => read(text),
            (Self::Either(read), average) => read(text, average.unwrap_or(Average::Mean)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_that_is_not_a_group_has_a_reader() {
        for adapter in Adapter::ALL.iter().copied() {
            let is_group = adapter.normalized() == Adapter::Magic;
            assert_eq!(reader(adapter).is_none(), is_group, "{adapter}");
        }
    }

    #[test]
    fn magic_tries_everything_once_but_parts_of_what_it_tries() {
        let parts = [Adapter::RustGungraunStdout, Adapter::RustGungraunJson];
        for adapter in Adapter::ALL.iter().copied() {
            let times = TRIED.iter().filter(|tried| **tried == adapter).count();
            let is_tried = reader(adapter).is_some() && !parts.contains(&adapter);
            assert_eq!(times, usize::from(is_tried), "{adapter}");
        }
    }
}
