use tempfile::TempDir;

use super::*;

const EARLY: &str = "01a1de47-71b7-7681-a510-54ad0fe9b85b";
const LATE: &str = "01a1de48-2639-76f0-ac7d-6f226b3e8aa1";

fn job(text: &str) -> JobUuid {
    text.parse().unwrap()
}

fn result(text: &str) -> Delivery {
    Delivery::completed(job(text), Vec::new(), None)
}

fn open(directory: &TempDir) -> Spool {
    Spool::open(directory.path()).unwrap()
}

#[test]
fn a_result_survives_a_restart_until_it_is_forgotten() {
    let directory = TempDir::new().unwrap();
    open(&directory).write(&result(EARLY)).unwrap();
    assert_eq!(open(&directory).recover().unwrap(), [result(EARLY)]);
    open(&directory).forget(job(EARLY)).unwrap();
    assert_eq!(open(&directory).recover().unwrap(), []);
}

#[test]
fn results_come_back_oldest_job_first() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    spool.write(&result(LATE)).unwrap();
    spool.write(&result(EARLY)).unwrap();
    assert_eq!(spool.recover().unwrap(), [result(EARLY), result(LATE)]);
}

#[test]
fn forgetting_twice_is_the_same_as_once() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    spool.write(&result(EARLY)).unwrap();
    spool.forget(job(EARLY)).unwrap();
    spool.forget(job(EARLY)).unwrap();
}

#[test]
fn a_job_held_without_a_result_is_reported_as_failed_once() {
    let directory = TempDir::new().unwrap();
    open(&directory).hold(job(EARLY)).unwrap();
    let recovered = open(&directory).recover().unwrap();
    let [delivery] = recovered.as_slice() else {
        panic!("{recovered:?}")
    };
    assert!(delivery.text().contains(r#""event":"failed""#));
    assert!(
        delivery
            .text()
            .contains("the runner was restarted while it held this job")
    );
    assert_eq!(open(&directory).recover().unwrap(), recovered);
    open(&directory).forget(job(EARLY)).unwrap();
    assert_eq!(open(&directory).recover().unwrap(), []);
}

#[test]
fn a_kill_between_result_and_release_keeps_the_result() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    spool.write(&result(EARLY)).unwrap();
    spool.hold(job(EARLY)).unwrap();
    assert_eq!(spool.recover().unwrap(), [result(EARLY)]);
    assert!(!spool.held_path().exists());
}

#[test]
fn a_flipped_bit_anywhere_sets_the_file_aside() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    spool.write(&result(EARLY)).unwrap();
    let path = spool.result_path(job(EARLY));
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert_eq!(spool.recover().unwrap(), [], "byte {at}");
        assert!(!path.exists(), "byte {at}");
        assert!(path.with_extension(BAD).exists(), "byte {at}");
    }
    assert_eq!(spool.recover().unwrap(), []);
}

#[test]
fn a_cut_off_file_is_set_aside() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    spool.write(&result(EARLY)).unwrap();
    let path = spool.result_path(job(EARLY));
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(spool.recover().unwrap(), [], "{length} bytes");
    }
}

#[test]
fn the_result_of_another_job_is_set_aside() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    spool.write(&result(EARLY)).unwrap();
    fs::rename(spool.result_path(job(EARLY)), spool.result_path(job(LATE))).unwrap();
    assert_eq!(spool.recover().unwrap(), []);
}

#[test]
fn what_a_killed_write_left_is_removed() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    let left = spool.results.join(".tmp-x7");
    fs::write(&left, "half").unwrap();
    assert_eq!(spool.recover().unwrap(), []);
    assert!(!left.exists());
}

#[test]
fn a_damaged_held_record_does_not_stop_the_start() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    fs::write(spool.held_path(), "\u{0}\u{0}").unwrap();
    assert_eq!(spool.recover().unwrap(), []);
    assert!(!spool.held_path().exists());
}

#[test]
fn a_directory_serves_one_agent_at_a_time() {
    let directory = TempDir::new().unwrap();
    let first = open(&directory);
    let second = Spool::open(directory.path());
    assert!(
        matches!(second, Err(AgentError::InUse { .. })),
        "{second:?}"
    );
    drop(first);
    open(&directory);
}

#[test]
fn results_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    spool.write(&result(EARLY)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&spool.results), 0o700);
    assert_eq!(mode(&spool.result_path(job(EARLY))), 0o600);
}

/// A result with `bytes` beside it.
fn large_result(text: &str, bytes: &str) -> Delivery {
    Delivery::with_output_beside(job(text), bytes.len() as u64).with_bytes(bytes.into())
}

#[test]
fn output_beside_a_result_survives_a_restart_and_goes_with_it() {
    let directory = TempDir::new().unwrap();
    let delivery = large_result(EARLY, "whole");
    let spool = open(&directory);
    spool.write(&delivery).unwrap();
    let path = spool.large_path(job(EARLY));
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    assert_eq!(spool.recover().unwrap(), [delivery.spooled()]);
    spool.forget(job(EARLY)).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_result_whose_output_is_not_whole_goes_alone() {
    let directory = TempDir::new().unwrap();
    let delivery = large_result(EARLY, "whole");
    let spool = open(&directory);
    spool.write(&delivery).unwrap();
    fs::write(spool.large_path(job(EARLY)), "who").unwrap();
    assert_eq!(spool.recover().unwrap(), [delivery.without_large()]);
}

#[test]
fn output_of_a_result_that_was_never_written_is_removed() {
    let directory = TempDir::new().unwrap();
    let spool = open(&directory);
    let path = spool.large_path(job(EARLY));
    fs::write(&path, "whole").unwrap();
    assert_eq!(spool.recover().unwrap(), []);
    assert!(!path.exists());
}
