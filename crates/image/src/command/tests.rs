use std::fs;

use super::*;
use crate::Execution;

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn image(execution: Execution) -> ImageConfig {
    ImageConfig {
        config: execution,
        ..ImageConfig::default()
    }
}

fn sample() -> ImageConfig {
    image(Execution {
        entrypoint: Some(strings(&["/entry"])),
        cmd: Some(strings(&["image-arg"])),
        env: Some(strings(&["A=1", "B=2=3"])),
        ..Execution::default()
    })
}

fn root_with_accounts() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    let passwd = "root:x:0:0:root:/root:/bin/sh\nnot an entry\nann:x:1000:1001::/srv/ann:/bin/sh\n2000:x:5:6::/odd:\n";
    let group = "wheel:x:10:ann,bob\nann:x:1001:ann\nstaff:x:50:ann\n";
    fs::write(root.path().join("etc/passwd"), passwd).unwrap();
    fs::write(root.path().join("etc/group"), group).unwrap();
    root
}

fn argv(overrides: &Overrides) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    Command::resolve(&sample(), overrides, root.path())
        .unwrap()
        .argv
}

#[test]
fn an_entry_point_takes_the_images_arguments_away() {
    let entrypoint = Some(strings(&["/mine"]));
    let cmd = Some(strings(&["my-arg"]));
    let none = Overrides::default();
    assert_eq!(argv(&none), ["/entry", "image-arg"]);
    assert_eq!(
        argv(&Overrides {
            cmd: cmd.clone(),
            ..none.clone()
        }),
        ["/entry", "my-arg"]
    );
    assert_eq!(
        argv(&Overrides {
            entrypoint: entrypoint.clone(),
            ..none.clone()
        }),
        ["/mine"]
    );
    assert_eq!(
        argv(&Overrides {
            entrypoint,
            cmd: cmd.clone(),
            ..none.clone()
        }),
        ["/mine", "my-arg"]
    );
    assert_eq!(
        argv(&Overrides {
            entrypoint: Some(vec![]),
            cmd,
            ..none
        }),
        ["my-arg"]
    );
}

#[test]
fn nothing_to_run_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let nothing = Command::resolve(
        &image(Execution::default()),
        &Overrides::default(),
        root.path(),
    );
    assert!(matches!(nothing, Err(CommandError::Nothing)), "{nothing:?}");
    let cleared = Overrides {
        entrypoint: Some(vec![]),
        ..Overrides::default()
    };
    let nothing = Command::resolve(&sample(), &cleared, root.path());
    assert!(matches!(nothing, Err(CommandError::Nothing)), "{nothing:?}");
}

#[test]
fn environments_merge_by_key() {
    let root = tempfile::tempdir().unwrap();
    let overrides = Overrides {
        env: BTreeMap::from([("A".into(), "mine".into()), ("C".into(), String::new())]),
        ..Overrides::default()
    };
    let command = Command::resolve(&sample(), &overrides, root.path()).unwrap();
    let env: Vec<_> = command
        .env
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        env,
        [
            "A=mine",
            "B=2=3",
            "C=",
            "HOME=/",
            &format!("PATH={DEFAULT_PATH}")
        ]
    );
}

#[test]
fn the_working_directory_is_absolute() {
    let root = tempfile::tempdir().unwrap();
    for (given, expected) in [
        (None, "/"),
        (Some(""), "/"),
        (Some("src"), "/src"),
        (Some("/a"), "/a"),
    ] {
        let overrides = Overrides {
            workdir: given.map(str::to_owned),
            ..Overrides::default()
        };
        let command = Command::resolve(&sample(), &overrides, root.path()).unwrap();
        assert_eq!(command.workdir, expected);
    }
}

fn identity(user: &str) -> Result<Identity, CommandError> {
    let root = root_with_accounts();
    let overrides = Overrides {
        user: Some(user.to_owned()),
        ..Overrides::default()
    };
    Command::resolve(&sample(), &overrides, root.path()).map(|command| command.identity)
}

#[test]
fn users_and_groups_are_found_by_name_or_number() {
    let check = |user: &str, uid, gid, groups: &[u32], home: &str| {
        let expected = Identity {
            uid,
            gid,
            groups: groups.to_vec(),
            home: home.to_owned(),
        };
        assert_eq!(identity(user).unwrap(), expected, "{user}");
    };
    check("", 0, 0, &[], "/root");
    check("root", 0, 0, &[], "/root");
    check("ann", 1000, 1001, &[10, 50], "/srv/ann");
    check("1000", 1000, 1001, &[10, 50], "/srv/ann");
    check("ann:wheel", 1000, 10, &[], "/srv/ann");
    check("ann:7", 1000, 7, &[], "/srv/ann");
    check("ann:", 1000, 1001, &[10, 50], "/srv/ann");
    check(":staff", 0, 50, &[], "/root");
    check("4711", 4711, 0, &[], "/");
    check("4711:42", 4711, 42, &[], "/");
    check("2000", 5, 6, &[], "/odd");
}

#[test]
fn unknown_names_and_impossible_numbers_are_refused() {
    for user in [
        "nobody-here",
        "-1",
        "4294967295",
        "4294967296",
        "0x10",
        "+1",
        " 1",
    ] {
        assert!(
            matches!(identity(user), Err(CommandError::UnknownUser(_))),
            "{user}"
        );
    }
    assert!(matches!(
        identity("ann:nobodies"),
        Err(CommandError::UnknownGroup(_))
    ));
}

#[test]
fn accounts_are_read_inside_the_root_only() {
    let host = tempfile::tempdir().unwrap();
    fs::write(host.path().join("passwd"), "ann:x:1:1::/:\n").unwrap();
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    std::os::unix::fs::symlink(host.path().join("passwd"), root.path().join("etc/passwd")).unwrap();
    let overrides = Overrides {
        user: Some("ann".into()),
        ..Overrides::default()
    };
    let outcome = Command::resolve(&sample(), &overrides, root.path());
    assert!(
        matches!(outcome, Err(CommandError::UnknownUser(_))),
        "{outcome:?}"
    );
}

#[test]
fn an_account_file_that_is_no_file_is_refused() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("etc/passwd")).unwrap();
    let outcome = Command::resolve(&sample(), &Overrides::default(), root.path());
    assert!(
        matches!(
            outcome,
            Err(CommandError::Accounts {
                path: "/etc/passwd",
                ..
            })
        ),
        "{outcome:?}"
    );
}

#[test]
fn huge_and_zero_filled_words_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let resolve = |overrides: Overrides| Command::resolve(&sample(), &overrides, root.path());
    let cmd = |text: String| Overrides {
        cmd: Some(vec![text]),
        ..Overrides::default()
    };
    let env = |key: &str, value: String| Overrides {
        env: BTreeMap::from([(key.to_owned(), value)]),
        ..Overrides::default()
    };
    assert!(matches!(
        resolve(cmd("x".repeat(MAX_ARGUMENT_BYTES))),
        Err(CommandError::ArgumentsTooLarge(_))
    ));
    assert!(matches!(
        resolve(cmd("a\0b".into())),
        Err(CommandError::Nul("an argument"))
    ));
    assert!(matches!(
        resolve(env("X", "x".repeat(MAX_ENVIRONMENT_BYTES))),
        Err(CommandError::EnvironmentTooLarge(_))
    ));
    assert!(matches!(
        resolve(env("X", "\0".into())),
        Err(CommandError::Nul("the environment"))
    ));
    assert!(matches!(
        resolve(env("X=Y", String::new())),
        Err(CommandError::Environment(_))
    ));
}
