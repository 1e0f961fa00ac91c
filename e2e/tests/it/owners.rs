//! A runner of an ordinary user, on images that were made for root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use kiln_e2e::{Town, kiln, program};

/// A user with a home of its own, and a file that nobody may read, as images of some distributions have.
const MAKE_ARCHIVE: &str = "
    mkdir -p root/etc root/srv/ann
    cp /bin/busybox root/sh
    echo secret > root/etc/shadow
    echo mine > root/srv/ann/notes
    chmod 000 root/etc/shadow
    chmod 700 root/srv/ann
    tar -cf image.tar --owner=0 --group=0 -C root sh etc
    tar -rf image.tar --owner=1000 --group=1000 -C root srv/ann
";

/// A kernel in root's home is out of an ordinary user's reach.
const SHARE_KERNEL: &str = r#"
    kernel="$HOME/.local/share/kiln/kernel"
    mkdir -p .local/share/kiln
    if [ -d "$kernel" ]; then cp -r "$kernel" .local/share/kiln/; fi
    chmod -R a+rX .
"#;

#[test]
fn a_machine_of_an_ordinary_user_keeps_the_owners_of_its_image() {
    let town = Town::new();
    let place = town.path();
    fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    let script = |script: &str| {
        let mut shell = Command::new("sh");
        let done = shell.args(["-ec", script]).current_dir(place).status();
        assert!(done.unwrap().success(), "{script}");
    };
    let path = |name: &str| place.join(name).to_string_lossy().into_owned();
    script(MAKE_ARCHIVE);
    let words = ["image", "build", &path("image.tar"), "-o", &path("layout")];
    let built = kiln(
        &[&words[..], &["--user", "1000", "--entrypoint", "/sh"]].concat(),
        "",
    );
    assert_eq!(built.code, Some(0), "{built:?}");
    script(SHARE_KERNEL);

    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program())
        .args([
            "runner",
            "run",
            "--backend",
            "qemu",
            "--accept-missing-limits",
        ])
        .args(["--image", &path("layout"), "--runner-data", &path("runner")])
        .args(["--memory", "64", "--disk", "16", "--", "-c"])
        .arg("cat /srv/ann/notes; stat -c '%a %u:%g' /srv/ann /etc/shadow; ! cat /etc/shadow")
        .env("HOME", place)
        .output()
        .expect("util-linux is not installed: run `cargo xtask setup`");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout, "mine\n700 1000:1000\n0 0:0\n", "{output:?}");
    assert!(output.status.success(), "{output:?}");
}
