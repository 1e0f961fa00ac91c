//! What a command sees of itself: arguments, environment, directory, user, streams, status.

use kiln_sandbox::{Command, Error, Outcome, Resource, ResourceBound};

use crate::support::{limits, output_of, run, shell, spec, try_run};

#[test]
fn output_comes_back() {
    assert_eq!(output_of("echo hello"), "hello\n");
}

#[test]
fn standard_error_is_kept_apart() {
    let finished = run(&shell("echo out; echo err >&2"));
    assert_eq!(
        (finished.stdout.as_str(), finished.stderr.as_str()),
        ("out\n", "err\n")
    );
}

#[test]
fn standard_input_is_empty() {
    assert_eq!(output_of("wc -c"), "0\n");
}

#[test]
fn exit_codes_come_back() {
    for code in [0, 1, 42, 255] {
        assert_eq!(
            run(&shell(&format!("exit {code}"))).exit.outcome,
            Outcome::Exited(code)
        );
    }
}

#[test]
fn a_signal_is_not_an_exit_code() {
    assert_eq!(
        run(&shell("kill -SEGV $$")).exit.outcome,
        Outcome::Signaled(11)
    );
}

#[test]
fn a_missing_program_is_the_commands_fault() {
    let error = try_run(&Command::new(["no-such-program"]), &spec(), &limits()).unwrap_err();
    assert!(matches!(error, Error::Start { .. }), "{error:?}");
}

#[test]
fn a_file_that_is_no_program_is_the_commands_fault() {
    let error = try_run(&Command::new(["/etc/release"]), &spec(), &limits()).unwrap_err();
    let Error::Start { source, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
}

#[test]
fn a_program_without_a_slash_is_found_in_the_commands_path() {
    let command = Command {
        env: vec![("PATH".into(), "/nowhere:/bin".into())],
        ..Command::new(["echo", "found"])
    };
    assert_eq!(run(&command).stdout, "found\n");
}

#[test]
fn the_environment_is_exactly_the_one_given() {
    let command = Command {
        env: vec![("ONE".into(), "1".into()), ("EMPTY".into(), String::new())],
        ..Command::new(["/bin/env"])
    };
    assert_eq!(run(&command).stdout, "ONE=1\nEMPTY=\n");
}

#[test]
fn the_working_directory_is_made_if_it_is_missing() {
    let command = Command {
        cwd: "/made/for/this".into(),
        ..shell("pwd")
    };
    assert_eq!(run(&command).stdout, "/made/for/this\n");
}

#[test]
fn the_command_has_the_ids_it_was_given() {
    let command = Command {
        uid: 1000,
        gid: 1001,
        groups: vec![4, 20],
        ..shell("id -u; id -g; id -G")
    };
    assert_eq!(run(&command).stdout, "1000\n1001\n1001 4 20\n");
}

#[test]
fn an_id_beyond_the_chambers_ids_is_the_commands_fault() {
    let within = Command {
        uid: 100_500,
        gid: 262_143,
        ..shell("id -u; id -g; touch /tmp/mine; stat -c %u:%g /tmp/mine")
    };
    assert_eq!(run(&within).stdout, "100500\n262143\n100500:262143\n");
    let beyond = Command {
        groups: vec![4, 262_144],
        ..shell("id")
    };
    let error = try_run(&beyond, &spec(), &limits()).unwrap_err();
    assert!(matches!(error, Error::Start { .. }), "{error:?}");
    let told = error.to_string();
    assert!(told.contains("262144 is beyond the 262144 ids"), "{told}");
}

#[test]
fn files_of_the_base_belong_to_the_chambers_root() {
    assert_eq!(output_of("stat -c %u:%g /etc/release"), "0:0\n");
}

#[test]
fn the_host_name_is_the_chambers() {
    assert_eq!(output_of("hostname"), "kiln\n");
}

#[test]
fn binary_output_survives() {
    let finished = run(&shell(
        "dd if=/bin/busybox bs=1024 count=300 2>/dev/null | wc -c; head -c 3 /dev/zero",
    ));
    assert_eq!(finished.stdout, "307200\n\0\0\0");
}

#[test]
fn a_broken_pipe_ends_a_program_as_usual() {
    assert_eq!(output_of("yes | head -n 1"), "y\n");
}

#[test]
fn usage_is_measured() {
    let exit = run(&shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")).exit;
    assert!(!(exit.usage.user + exit.usage.system).is_zero(), "{exit:?}");
    assert!(exit.usage.peak_resident_bytes > 0, "{exit:?}");
    assert!(!exit.usage.elapsed.is_zero(), "{exit:?}");
    assert!(exit.usage.minor_faults > 0, "{exit:?}");
    assert!(
        exit.usage.chamber_cpu.is_some_and(|cpu| !cpu.is_zero()),
        "{exit:?}"
    );
}

#[test]
fn usage_includes_what_the_command_left_to_others() {
    let exit = run(&shell(
        "(i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done) & wait",
    ))
    .exit;
    assert!(!exit.usage.user.is_zero(), "{exit:?}");
}

#[test]
fn a_resource_limit_is_set() {
    let mut limits = limits();
    limits
        .resources
        .push(ResourceBound::new(Resource::OpenFiles, 33));
    limits.resources.push(ResourceBound {
        resource: Resource::StackBytes,
        soft: 1 << 20,
        hard: 2 << 20,
    });
    let script = "ulimit -n; ulimit -Hn; ulimit -c; ulimit -s; ulimit -Hs";
    let finished = try_run(&shell(script), &spec(), &limits).unwrap();
    assert_eq!(finished.stdout, "33\n33\n0\n1024\n2048\n");
    let sealed = finished.exit.sealed;
    assert!(sealed.layer("rlimit-nofile").unwrap().applied);
    assert_eq!(
        sealed.layer("rlimit-stack").unwrap().detail,
        "1048576:2097152"
    );
}

#[test]
fn a_resource_limit_beyond_the_hosts_is_clamped_and_said_so() {
    let mut limits = limits();
    limits
        .resources
        .push(ResourceBound::new(Resource::OpenFiles, u64::from(u32::MAX)));
    let finished = try_run(&shell("true"), &spec(), &limits).unwrap();
    let layer = finished.exit.sealed.layer("rlimit-nofile").unwrap();
    assert!(!layer.applied);
    assert!(layer.detail.contains("clamped"), "{layer:?}");
}
