//! The adapters by name and by code; `insight` holds their readers.

use std::str::FromStr;

use super::named::stands_as_its_name;

macro_rules! adapters {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// Which harness wrote a text. Names and codes are those of stock clients, and ours where they have none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Adapter {
            $($(#[$doc])* $variant = $code,)*
        }

        impl Adapter {
            /// Every adapter, in the order of codes.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

adapters! {
    /// Tries the others until one can read the text.
    #[default]
    Magic = 0, "magic";
    /// Bencher Metric Format.
    Json = 10, "json";
    Rust = 20, "rust";
    RustBench = 21, "rust_bench";
    RustCriterion = 22, "rust_criterion";
    RustIai = 23, "rust_iai";
    RustGungraun = 24, "rust_gungraun";
    RustGungraunStdout = 25, "rust_gungraun_stdout";
    RustGungraunJson = 26, "rust_gungraun_json";
    /// Ours.
    RustDivan = 27, "rust_divan";
    /// Ours.
    RustNextest = 28, "rust_nextest";
    Cpp = 30, "cpp";
    CppGoogle = 31, "cpp_google";
    CppCatch2 = 32, "cpp_catch2";
    Go = 40, "go";
    GoBench = 41, "go_bench";
    Java = 50, "java";
    JavaJmh = 51, "java_jmh";
    CSharp = 60, "c_sharp";
    CSharpDotNet = 61, "c_sharp_dot_net";
    Js = 70, "js";
    JsBenchmark = 71, "js_benchmark";
    JsTime = 72, "js_time";
    JsVitest = 73, "js_vitest";
    /// Ours.
    JsTinybench = 74, "js_tinybench";
    /// Ours.
    JsNode = 75, "js_node";
    Python = 80, "python";
    PythonAsv = 81, "python_asv";
    PythonPytest = 82, "python_pytest";
    /// Ours.
    PythonPyperf = 83, "python_pyperf";
    Ruby = 90, "ruby";
    RubyBenchmark = 91, "ruby_benchmark";
    Shell = 100, "shell";
    ShellHyperfine = 101, "shell_hyperfine";
    /// Ours.
    ShellWrk = 102, "shell_wrk";
    Dart = 110, "dart";
    DartBenchmarkHarness = 111, "dart_benchmark_harness";
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no adapter {name:?}")]
pub struct UnknownAdapter {
    pub name: String,
}

impl Adapter {
    pub const fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|a| a.code() == code)
    }

    /// The adapter to store and show: stock servers treat a language as `magic`, on input and on output.
    #[must_use]
    pub const fn normalized(self) -> Self {
        let names_a_language = self.code() >= 20 && self.code().is_multiple_of(10);
        if names_a_language { Self::Magic } else { self }
    }
}

/// The name `rust_gungraun` had before the harness was renamed.
const FORMER_NAME_OF_RUST_GUNGRAUN: &str = "rust_iai_callgrind";

impl FromStr for Adapter {
    type Err = UnknownAdapter;

    fn from_str(name: &str) -> Result<Self, UnknownAdapter> {
        if name == FORMER_NAME_OF_RUST_GUNGRAUN {
            return Ok(Self::RustGungraun);
        }
        let found = Self::ALL.iter().copied().find(|a| a.name() == name);
        found.ok_or_else(|| UnknownAdapter {
            name: name.chars().take(64).collect(),
        })
    }
}

stands_as_its_name!(Adapter);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_crosses_the_wire_under_its_name() {
        for adapter in Adapter::ALL.iter().copied() {
            let wire = serde_json::to_string(&adapter).unwrap();
            assert_eq!(wire, format!("{:?}", adapter.name()));
            assert_eq!(serde_json::from_str::<Adapter>(&wire).unwrap(), adapter);
        }
    }

    #[test]
    fn an_unknown_name_on_the_wire_is_refused_with_the_name() {
        let error = serde_json::from_str::<Adapter>(r#""fortran""#).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(r#"there is no adapter "fortran""#),
            "{error}"
        );
    }

    #[test]
    fn every_adapter_is_found_by_its_name_and_its_code() {
        for adapter in Adapter::ALL.iter().copied() {
            assert_eq!(adapter.name().parse(), Ok(adapter));
            assert_eq!(Adapter::from_code(adapter.code()), Some(adapter));
        }
    }

    #[test]
    fn the_former_name_of_gungraun_is_understood() {
        assert_eq!("rust_iai_callgrind".parse(), Ok(Adapter::RustGungraun));
    }

    #[test]
    fn an_unknown_name_is_named_in_the_error() {
        let error = "fortran".parse::<Adapter>().unwrap_err();
        assert_eq!(error.to_string(), r#"there is no adapter "fortran""#);
        assert_eq!(Adapter::from_code(1), None);
    }

    #[test]
    fn languages_and_only_languages_become_magic() {
        let languages = [
            "rust", "cpp", "go", "java", "c_sharp", "js", "python", "ruby", "shell", "dart",
        ];
        for adapter in Adapter::ALL.iter().copied() {
            let expected = if languages.contains(&adapter.name()) {
                Adapter::Magic
            } else {
                adapter
            };
            assert_eq!(adapter.normalized(), expected);
        }
    }
}
