//! Firecracker's driver beyond what every back end does, on doubles of Firecracker and its jailer.

use std::io::{BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use kiln_sandbox::{
    BootEnd, BootReport, CancelToken, ChamberSpec, Error, FirecrackerConfig, Machines, OutputSink,
    Stream,
};

use crate::place::{Finished, firecracker, firecracker_config, run_on};
use crate::support::{HostClock, limits, shell, spec};

#[test]
fn a_machine_comes_from_a_snapshot_and_says_so() {
    assert_eq!(
        start_of(&run_with(firecracker_config(false))),
        "from a snapshot"
    );
}

#[test]
fn a_jailed_machine_says_so_and_one_that_is_not_says_that() {
    for is_jailed in [true, false] {
        let finished = run_with(firecracker_config(is_jailed));
        let layer = finished.exit.sealed.layer("jailer").unwrap();
        assert_eq!(layer.applied, is_jailed, "{layer:?}");
    }
}

#[test]
fn where_no_snapshot_can_be_taken_machines_boot() {
    for is_jailed in [true, false] {
        let start = start_of(&run_with(troubled("no-snapshots", is_jailed)));
        assert!(start.starts_with("a boot: "), "{start}");
    }
}

#[test]
fn where_a_snapshot_cannot_be_read_back_machines_boot() {
    let start = start_of(&run_with(troubled("bad-snapshots", false)));
    assert!(start.contains("cannot be loaded"), "{start}");
}

#[test]
fn a_monitor_that_ends_well_without_the_guests_word_is_a_failure() {
    let error = try_run_with(troubled("crash", false)).unwrap_err();
    assert!(matches!(error, Error::Lost), "{error:?}");
}

#[test]
fn a_guest_that_does_not_answer_at_first_is_asked_again() {
    let start = start_of(&run_with(troubled("silence", false)));
    assert_eq!(start, "from a snapshot");
}

#[test]
fn a_relative_directory_to_work_in_is_as_good_as_any() {
    for is_jailed in [true, false] {
        let here = std::env::current_dir().unwrap();
        let directory = tempfile::tempdir_in(&here).unwrap();
        let config = FirecrackerConfig {
            work_dir: directory.path().strip_prefix(&here).unwrap().to_owned(),
            ..firecracker_config(is_jailed)
        };
        assert_eq!(start_of(&run_with(config)), "from a snapshot");
    }
}

#[test]
fn a_boot_shows_its_serial_line_and_ends_with_the_word_of_our_guest() {
    for is_jailed in [true, false] {
        let (report, serial) = boot(&firecracker_config(is_jailed));
        let kernel = "a double".to_owned();
        assert_eq!(report.end, BootEnd::Up { kernel });
        assert_eq!(report.version.as_deref(), Some("1.15.1"));
        assert!(serial.contains("booting"), "{serial}");
    }
}

#[test]
fn a_boot_without_a_guest_of_ours_shows_its_serial_line_and_its_end() {
    let (report, serial) = boot(&troubled("halt", false));
    assert!(
        matches!(report.end, BootEnd::MonitorEnded { .. }),
        "{report:?}"
    );
    assert!(report.first_output.is_some());
    assert!(serial.contains("booting"), "{serial}");
}

#[test]
fn a_jailer_of_another_release_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let jailer = directory.path().join("jailer");
    std::fs::write(&jailer, "#!/bin/sh\necho Jailer v1.16.0\n").unwrap();
    make_executable(&jailer);
    let config = FirecrackerConfig {
        jailer: Some(jailer),
        ..firecracker_config(false)
    };
    let error = config.check_version().unwrap_err();
    assert!(error.to_string().contains("1.16.0"), "{error}");
}

#[test]
fn a_machine_keeps_to_the_cores_it_is_given() {
    struct Look(Option<String>);
    impl OutputSink for Look {
        fn output(&mut self, _: Stream, _: &[u8]) {
            let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
            let monitor = children.split_ascii_whitespace().next().unwrap();
            let status = std::fs::read_to_string(format!("/proc/{monitor}/status")).unwrap();
            let mut lines = status.lines();
            self.0 = lines.find_map(|line| Some(line.strip_prefix("Cpus_allowed_list:")?.into()));
        }
    }
    let spec = ChamberSpec {
        cores: vec![0],
        ..spec()
    };
    let mut look = Look(None);
    let cancel = CancelToken::new().unwrap();
    firecracker()
        .run_into(&mut look, &shell("echo up"), &spec, &limits(), &cancel)
        .unwrap();
    assert_eq!(look.0.unwrap().trim(), "0");
}

/// The driver is only tested as far as its double is strict.
#[test]
fn the_double_refuses_what_the_published_api_does_not_have() {
    let double = Double::start();
    let check = |request: &str, body: &str, expected: &str| {
        let answer = double.ask(request, body);
        assert!(answer.contains(expected), "{request} {body}: {answer}");
    };
    let start = r#"{"action_type":"InstanceStart"}"#;
    check("PUT /actions", start, "without kernel configuration");
    check("PATCH /vm", r#"{"state":"Paused"}"#, "before starting");
    check(
        "PUT /machine-config",
        r#"{"vcpu_count":1}"#,
        "missing field",
    );
    let shape = r#"{"vcpu_count":1,"mem_size_mib":64,"cpus":2}"#;
    check("PUT /machine-config", shape, "unknown field");
    check(
        "PUT /machine-config",
        &shape.replace(r#","cpus":2"#, ""),
        "204",
    );
    let drive = r#"{"drive_id":"a","is_root_device":false,"path_on_host":"/bin/busybox","is_read_only":true}"#;
    check("PUT /drives/b", drive, "does not match");
    check("PUT /drives/a", drive, "204");
    check(
        "PUT /snapshot/load",
        r#"{"snapshot_path":"state","mem_backend":{"backend_type":"File","backend_path":"memory"},"vsock_override":{}}"#,
        "unknown field",
    );
    check(
        "PUT /boot-source",
        r#"{"kernel_image_path":"/no/such/kernel"}"#,
        "Unable to open",
    );
    check("PUT /logger/level", "{}", "Invalid request method");
}

fn boot(config: &FirecrackerConfig) -> (BootReport, String) {
    let mut serial = Vec::new();
    let report = config
        .boot(&*HostClock::new(), Duration::from_mins(1), &mut serial)
        .unwrap();
    (report, String::from_utf8_lossy(&serial).into_owned())
}

fn run_with(config: FirecrackerConfig) -> Finished {
    try_run_with(config).unwrap()
}

fn try_run_with(config: FirecrackerConfig) -> Result<Finished, Error> {
    let machines = Machines::firecracker(config, HostClock::new()).unwrap();
    run_on(&machines, &shell("true"))
}

fn start_of(finished: &Finished) -> String {
    finished.exit.sealed.layer("start").unwrap().detail.clone()
}

/// The double under a name that makes it fail.
fn troubled(trouble: &str, is_jailed: bool) -> FirecrackerConfig {
    let config = firecracker_config(is_jailed);
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("firecracker-{trouble}"));
    // What an earlier build has left there is another program.
    let _ = std::fs::remove_file(&program);
    std::fs::hard_link(&config.program, &program).unwrap();
    FirecrackerConfig { program, ..config }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The double by itself, without our driver.
struct Double {
    process: Child,
    directory: tempfile::TempDir,
}

impl Double {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for file in ["log", "metrics"] {
            std::fs::write(directory.path().join(file), "").unwrap();
        }
        let process = Process::new(env!("CARGO_BIN_EXE_firecracker-double"))
            .args("--id x --api-sock api --log-path log --metrics-path metrics".split(' '))
            .current_dir(directory.path())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self { process, directory }
    }

    fn ask(&self, request: &str, body: &str) -> String {
        let socket = self.directory.path().join("api");
        let mut connection = loop {
            match UnixStream::connect(&socket) {
                Ok(connection) => break connection,
                Err(_) => std::thread::yield_now(),
            }
        };
        let length = body.len();
        write!(
            connection,
            "{request} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        connection.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        BufReader::new(connection)
            .read_to_string(&mut answer)
            .unwrap();
        answer
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
