//! The real program on a host of its own: an emulated machine with control groups of version 2 and knobs that nobody else
//! needs, where a runner may do to its host what it does to bare metal.
//!
//! The machine's script tries one thing after another and says of each whether it went well; see `bare_metal.sh`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_e2e::{Town, program, shell_layout};
use kiln_sandbox::GuestKernel;

use crate::host_machine::{self, archive, copy_libraries, copy_modules, run, write_program};
use crate::offering::Offering;

/// What the script says before it switches the machine off.
const ENDED: &str = "the bare-metal host has tried everything";

#[test]
fn a_runner_looks_after_a_bare_metal_host() {
    let kernel = host_machine::kernel();
    let town = Town::new();
    let initramfs = pack(&town, &kernel);
    let said = host_machine::live(&kernel, &initramfs, None);
    assert!(said.contains(ENDED), "{said}");
    assert!(!said.contains("NOT WELL"), "{said}");
}

/// Whoever offers the machine's runner another program: does nothing unless the machine starts this program with a role.
#[tokio::test]
async fn plays_a_server() {
    if std::env::var("KILN_TEST_ROLE").as_deref() != Ok("server") {
        return;
    }
    let _server = Offering::start("127.0.0.1:4000", Path::new("/bin/newer"), 1).await;
    fs::write("/tmp/listening", "").unwrap();
    std::future::pending::<()>().await;
}

/// Makes the machine's initial root: the program with its libraries, busybox, the script and the images it runs.
fn pack(town: &Town, kernel: &GuestKernel) -> PathBuf {
    let root = town.path().join("machine");
    host_machine::furnish(&root, &["images"]);
    for (name, from) in [
        ("kiln", program()),
        ("tests", std::env::current_exe().unwrap()),
    ] {
        // What debuggers want to know would fill the machine's memory.
        let to = root.join("bin").join(name);
        run(Command::new("strip").arg("-o").arg(&to).arg(from));
        copy_libraries(&to, &root);
    }
    copy_modules(kernel, &["overlay.ko"], &root);
    // Whom a program that can fetch images trusts.
    let trusted = "/etc/ssl/certs/ca-certificates.crt";
    fs::copy(trusted, root.join("lib/certificates")).unwrap();
    for (tag, script) in [
        (
            "cores",
            "while read -r line; do echo \"$line\"; done < /proc/self/status",
        ),
        ("waits", "sleep 1000"),
        ("pauses", "sleep 5"),
    ] {
        shell_layout(town.path(), tag, script);
        run(Command::new("cp")
            .arg("-a")
            .arg(town.path().join(format!("layout-{tag}")))
            .arg(root.join("images").join(tag)));
    }
    write_program(&root.join("start"), include_str!("bare_metal.sh"));
    symlink("start", root.join("init")).unwrap();
    archive(&root, &town.path().join("initramfs"))
}
