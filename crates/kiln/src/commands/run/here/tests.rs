use clap::Parser as _;
use kiln_store::SystemClock;

use super::*;

#[derive(clap::Parser)]
struct Typed {
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    reading: Reading,
}

fn measure(flags: &[&str], words: &[&str]) -> Result<Measured, Failure> {
    let typed = Typed::try_parse_from(std::iter::once(&"run").chain(flags)).unwrap();
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    run(
        &Terminal::new(true),
        &SystemClock::new(),
        &words,
        &typed.here,
        &typed.reading,
    )
}

#[test]
fn one_word_is_a_line_for_the_shell_and_more_are_a_program() {
    let printed = |flags: &[&str], words: &[&str]| measure(flags, words).unwrap().results;
    assert_eq!(printed(&[], &["echo a | tr a b"]), ["b\n"]);
    assert_eq!(printed(&[], &["echo", "a | tr a b"]), ["a | tr a b\n"]);
    let bash = ["--shell", "/bin/echo", "--flag", "-n"];
    assert_eq!(printed(&bash, &["hello"]), ["hello"]);
    assert!(measure(&["--exec"], &["echo a"]).is_err());
}

#[test]
fn every_iteration_has_its_own_result() {
    let measured = measure(&["--iter", "3"], &["echo", "x"]).unwrap();
    assert_eq!(measured.results, ["x\n"; 3]);
    assert!(measured.end >= measured.start);
}

#[test]
fn files_stand_in_place_of_what_was_printed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("out.json");
    let file = file.to_str().unwrap();
    let line = format!("echo printed; echo written > {file}");
    let measured = measure(&["--file", file], &[&line]).unwrap();
    assert_eq!(measured.results, ["written\n"]);
    let missing = measure(&["--file", "/nowhere/out"], &["true"]).unwrap_err();
    assert_eq!(missing.exit, Exit::JobFailed);
}

#[test]
fn times_and_sizes_become_one_document() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("program");
    std::fs::write(&file, "12345").unwrap();
    let file = file.to_str().unwrap();
    let measured = measure(&["--build-time", "--file-size", file], &["true", "x"]).unwrap();
    let document: Value = serde_json::from_str(&measured.results[0]).unwrap();
    assert_eq!(measured.results.len(), 1);
    assert_eq!(document[file]["file-size"]["value"], 5);
    assert!(document["true x"]["build-time"]["value"].as_f64().unwrap() >= 0.0);
}

#[test]
fn a_failed_command_is_an_error_unless_that_is_allowed() {
    let failure = measure(&["--iter", "2"], &["echo x; exit 3"]).unwrap_err();
    assert_eq!(failure.exit, Exit::JobFailed);
    assert!(failure.message.starts_with("iteration 1 of 2"), "{failure}");
    let measured = measure(&["--allow-failure"], &["echo x; exit 3"]).unwrap();
    assert_eq!(measured.results, ["x\n"]);
}

#[test]
fn output_that_is_no_text_is_refused_with_the_place() {
    let failure = measure(&[], &[r"printf 'ab\377'"]).unwrap_err();
    assert_eq!(
        failure.message,
        "the output of the command is not UTF-8 from byte 2 on"
    );
}
