//! Wrong input gets one clear line with what to do, and the exit code that goes with it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kiln_e2e::{Exited, Town, kiln};

fn refused(exited: &Exited, code: i32, says: &[&str]) {
    assert_eq!(exited.code, Some(code), "{}", exited.stderr);
    let first = exited.stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("error: "), "{}", exited.stderr);
    for word in says {
        assert!(
            exited.stderr.contains(word),
            "{word:?} is not in: {}",
            exited.stderr
        );
    }
    assert!(!exited.stderr.contains("panicked"), "{}", exited.stderr);
}

fn server(town: &Town, more: &[&str]) -> Exited {
    let data = town.data();
    let mut arguments = vec![
        "server",
        "--listen",
        "127.0.0.1:0",
        "--data",
        data.to_str().unwrap(),
    ];
    arguments.extend(more);
    kiln(&arguments, "")
}

#[test]
fn unknown_flags() {
    refused(
        &kiln(&["server", "--lissen", "x"], ""),
        2,
        &["--lissen", "--listen"],
    );
    refused(&kiln(&["serve"], ""), 2, &["server"]);
}

#[test]
fn a_program_for_machines_that_is_not_there() {
    for setting in ["qemu", "firecracker", "jailer", "kernel"] {
        let option = format!("--{setting}");
        let arguments = [
            "runner",
            "run",
            "--image",
            "registry.example/image",
            "--backend",
            "auto",
            &option,
            "/no/such",
        ];
        let says = [setting, "/no/such", "hint:"];
        refused(&kiln(&arguments, ""), 2, &says);
    }
}

#[test]
fn a_taken_port() {
    let town = Town::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = town.data();
    let arguments = [
        "server",
        "--listen",
        &address,
        "--data",
        data.to_str().unwrap(),
    ];
    refused(&kiln(&arguments, ""), 2, &[&address, "hint:", "--listen"]);
}

#[test]
fn an_address_that_is_none() {
    let town = Town::new();
    let data = town.data();
    let arguments = [
        "server",
        "--listen",
        "nowhere",
        "--data",
        data.to_str().unwrap(),
    ];
    refused(&kiln(&arguments, ""), 2, &["nowhere", "127.0.0.1:6610"]);
}

#[test]
fn a_directory_that_cannot_be_made() {
    let exited = kiln(
        &[
            "server",
            "--listen",
            "127.0.0.1:0",
            "--data",
            "/proc/nowhere/data",
        ],
        "",
    );
    refused(&exited, 2, &["/proc/nowhere/data", "--data"]);
}

#[test]
fn a_file_that_is_no_database() {
    let town = Town::new();
    fs::create_dir(town.data()).unwrap();
    fs::write(
        town.data().join("kiln.db"),
        "this is a letter to my aunt\n".repeat(100),
    )
    .unwrap();
    refused(&server(&town, &[]), 2, &["kiln.db"]);
    let text = fs::read_to_string(town.data().join("kiln.db")).unwrap();
    assert!(text.starts_with("this is a letter"), "it was left alone");
}

#[test]
fn a_database_of_another_program() {
    let town = Town::new();
    fs::create_dir(town.data()).unwrap();
    let other = rusqlite::Connection::open(town.data().join("kiln.db")).unwrap();
    other
        .execute_batch("CREATE TABLE recipes (name TEXT)")
        .unwrap();
    drop(other);
    refused(&server(&town, &[]), 2, &["kiln.db"]);
}

#[test]
fn a_database_that_is_newer_than_the_program() {
    let town = Town::new();
    town.server(0, &[]).process.kill();
    let database = rusqlite::Connection::open(town.data().join("kiln.db")).unwrap();
    let changed = database
        .execute("UPDATE meta SET schema_version = 9999", [])
        .unwrap();
    assert_eq!(changed, 1);
    drop(database);
    refused(&server(&town, &[]), 2, &["9999", "newer"]);
}

#[test]
fn a_second_server_on_one_sqlite_file() {
    let town = Town::new();
    let first = town.server(0, &[]);
    refused(&server(&town, &[]), 2, &[&first.process.id().to_string()]);
}

#[test]
fn urls_of_another_kind() {
    let town = Town::new();
    refused(
        &server(&town, &["--database", "mysql://localhost/kiln"]),
        2,
        &["mysql", "postgres"],
    );
    refused(
        &server(&town, &["--objects", "ftp://localhost/kiln"]),
        2,
        &["ftp", "s3"],
    );
}

#[test]
fn a_postgresql_that_is_not_there() {
    let town = Town::new();
    let exited = server(&town, &["--database", "postgres://kiln@127.0.0.1:1/kiln"]);
    refused(&exited, 2, &["127.0.0.1"]);
}

#[test]
fn a_data_directory_without_permission() {
    // Root may do everything, so this runs the program as somebody else.
    let town = Town::new();
    fs::set_permissions(town.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(town.data()).unwrap();
    fs::set_permissions(town.data(), fs::Permissions::from_mode(0o555)).unwrap();
    let program = town.path().join("kiln");
    fs::copy(kiln_e2e::program(), &program).unwrap();
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["server", "--listen", "127.0.0.1:0", "--data"])
        .arg(town.data())
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("data"), "{stderr}");
}
