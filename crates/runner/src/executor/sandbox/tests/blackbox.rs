//! One list of what a job may expect of its image, run on every back end this host has. What a command may expect of its
//! chamber is in `kiln-sandbox`, as such a list too.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kiln_image::{Image, ImageManifest};
use kiln_model::v0::Isolation;
use kiln_sandbox::{
    Accelerator, Chamber, Error, FirecrackerConfig, GuestKernel, Machines, Processes, QemuConfig,
};

use super::*;

/// Declares each case once, as a test of every back end that it is meant for; `sealed` cases are about walls, which `process`
/// has not.
macro_rules! black_box {
    (plain: $($plain:ident)*; sealed: $($sealed:ident)*;) => {
        mod namespace {
            black_box!(@on namespace: $($plain)* $($sealed)*);
        }
        mod qemu {
            black_box!(@on qemu: $($plain)* $($sealed)*);
        }
        mod firecracker_double {
            black_box!(@on firecracker: $($plain)* $($sealed)*);
        }
        mod process {
            black_box!(@on process: $($plain)*);
        }
    };
    (@on $backend:ident: $($case:ident)*) => {
        $(#[tokio::test] async fn $case() { super::$case(super::$backend).await; })*
    };
}

black_box! {
    plain:
    the_image_says_how_it_runs
    layers_are_one_tree
    links_owners_and_permissions_of_the_image_hold
    names_that_are_not_text_stay_as_they_are
    a_command_in_shell_form_is_read_by_the_shell
    a_command_in_exec_form_is_read_by_nobody
    every_iteration_starts_afresh
    a_failure_ends_the_iterations
    an_allowed_failure_does_not
    files_come_out_of_every_iteration
    a_timeout_keeps_what_was_written;
    sealed:
    there_is_no_network_unless_the_spec_has_one;
}

pub(super) type MakeBackend = fn() -> Box<dyn Backend>;

async fn the_image_says_how_it_runs(on: MakeBackend) {
    let lines = "1000\n1001\n/bench\nhello\n";
    assert_eq!(stdout(on, |_| {}).await, [lines]);
}

async fn layers_are_one_tree(on: MakeBackend) {
    // A chamber brings a hosts file where an image has none.
    let script = "read -r word < /etc/both; echo $word; \
                  for file in /etc/*; do [ $file = /etc/hosts ] || echo $file; done";
    let told = "second\n/etc/both\n/etc/first\n/etc/second\n";
    assert_eq!(stdout(on, shell_form(script)).await, [told]);
}

async fn links_owners_and_permissions_of_the_image_hold(on: MakeBackend) {
    let script = "/bin/busybox stat -c '%a %u' /etc/first /data; /bin/busybox stat -c %h /twin; \
                  /bin/busybox readlink /bin/sh; echo > /data/mine && echo mine; echo > /etc/mine || echo not mine";
    let told = "640 0\n1777 0\n2\nbusybox\nmine\nnot mine\n";
    assert_eq!(stdout(on, shell_form(script)).await, [told]);
}

async fn names_that_are_not_text_stay_as_they_are(on: MakeBackend) {
    let script = "read -r word < \"$(printf '/odd/caf\\351')\"; echo $word; read -r word < /odd/link; echo $word; \
                  set -- /odd/0*; echo $#";
    assert_eq!(
        stdout(on, shell_form(script)).await,
        ["latin\nlatin\n120\n"]
    );
}

async fn a_command_in_shell_form_is_read_by_the_shell(on: MakeBackend) {
    let script = "echo \"$GREETING\" | /bin/busybox tr a-z A-Z";
    assert_eq!(stdout(on, shell_form(script)).await, ["HELLO\n"]);
}

async fn a_command_in_exec_form_is_read_by_nobody(on: MakeBackend) {
    let exec_form = |job: &mut ClaimedJob| {
        job.config.entrypoint = Some(vec!["/bin/echo".to_owned(), "a  b".to_owned()]);
        job.config.cmd = Some(vec!["$GREETING".to_owned(), "*".to_owned()]);
    };
    assert_eq!(stdout(on, exec_form).await, ["a  b $GREETING *\n"]);
}

async fn every_iteration_starts_afresh(on: MakeBackend) {
    let script = "echo x >> /data/count; while read -r line; do echo $line; done < /data/count";
    let thrice = |job: &mut ClaimedJob| {
        shell_form(script)(job);
        job.config.iter = Some(3);
    };
    assert_eq!(stdout(on, thrice).await, ["x\n"; 3]);
}

async fn a_failure_ends_the_iterations(on: MakeBackend) {
    let execution = run(on, |job| {
        shell_form("echo partial; exit 3")(job);
        job.config.iter = Some(2);
    });
    let execution = execution.await;
    let reason = "run: iteration 1: the command exited with code 3";
    assert_eq!(execution.verdict, Verdict::Failed(reason.to_owned()));
    let [result] = results(&execution).try_into().unwrap();
    assert_eq!(result.stdout.as_deref(), Some("partial\n"));
}

async fn an_allowed_failure_does_not(on: MakeBackend) {
    let execution = run(on, |job| {
        shell_form("exit 3")(job);
        job.config.iter = Some(2);
        job.config.allow_failure = Some(true);
    });
    let execution = execution.await;
    assert_eq!(execution.verdict, Verdict::Completed);
    let codes = results(&execution);
    let codes: Vec<i32> = codes.iter().map(|result| result.exit_code).collect();
    assert_eq!(codes, [3, 3]);
}

async fn files_come_out_of_every_iteration(on: MakeBackend) {
    let execution = run(on, |job| {
        shell_form("echo 42 > answer")(job);
        job.config.iter = Some(2);
        job.config.file_paths = Some(vec!["/bench/answer".to_owned()]);
    });
    for result in results(&execution.await) {
        assert_eq!(result.output.unwrap()["/bench/answer"], "42\n");
    }
}

async fn a_timeout_keeps_what_was_written(on: MakeBackend) {
    let execution = run(on, |job| {
        shell_form("echo partial; echo trouble >&2; exec sleep 1000")(job);
        job.config.timeout = 5;
        job.config.iter = Some(2);
    });
    let execution = execution.await;
    let Verdict::Failed(reason) = &execution.verdict else {
        panic!("{execution:?}")
    };
    assert!(reason.contains("timeout of 5 seconds"), "{reason}");
    let [result] = results(&execution).try_into().unwrap();
    assert_eq!(result.stdout.as_deref(), Some("partial\n"));
    assert_eq!(result.stderr.as_deref(), Some("trouble\n"));
}

async fn there_is_no_network_unless_the_spec_has_one(on: MakeBackend) {
    let script =
        "/bin/busybox grep : /proc/net/dev | /bin/busybox cut -d: -f1 | /bin/busybox tr -d ' '";
    assert_eq!(stdout(on, shell_form(script)).await, ["lo\n"]);
}

pub(super) fn shell_form(script: &str) -> impl Fn(&mut ClaimedJob) {
    move |job| job.config.cmd = Some(vec![script.to_owned()])
}

/// What each iteration wrote; all must succeed.
async fn stdout(on: MakeBackend, change: impl FnOnce(&mut ClaimedJob)) -> Vec<String> {
    let execution = run(on, change).await;
    assert_eq!(execution.verdict, Verdict::Completed, "{execution:?}");
    let results = results(&execution).into_iter();
    results.filter_map(|result| result.stdout).collect()
}

/// Runs a job of the image.
pub(super) async fn run(on: MakeBackend, change: impl FnOnce(&mut ClaimedJob)) -> Execution {
    let bench = Bench::on(on(), two_layers).await;
    let mut job = bench.job("");
    job.spec.memory = 256 << 20;
    job.config.cmd = None;
    change(&mut job);
    bench.run(job).await
}

/// An image of two layers that says everything an image can say.
pub(super) fn two_layers(directory: &Path, layout: &Layout) -> Image {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    let lower = recipe(directory);
    let Source::Directory(root) = &lower.source else {
        unreachable!("it is made of a directory")
    };
    symlink("busybox", root.join("bin/echo")).unwrap();
    for (file, word) in [("first", "first"), ("both", "first"), ("hidden", "hidden")] {
        write(&root.join("etc").join(file), word);
    }
    std::fs::hard_link(root.join("etc/first"), root.join("twin")).unwrap();
    let latin = OsStr::from_bytes(b"caf\xe9");
    write(&root.join("odd").join(latin), "latin");
    symlink(latin, root.join("odd/link")).unwrap();
    // More than fit into one block of a directory.
    for number in 0..120 {
        write(&root.join(format!("odd/{number:0>40}")), "text");
    }
    std::fs::create_dir(root.join("data")).unwrap();
    for (path, mode) in [("data", 0o1777), ("etc/first", 0o640)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(root.join(path), mode).unwrap();
    }
    let upper = directory.join("upper");
    for (file, word) in [("second", "second"), ("both", "second"), (".wh.hidden", "")] {
        write(&upper.join("etc").join(file), word);
    }
    write(&upper.join("bench/.keep"), "");
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(upper.join("bench"), everybody).unwrap();
    let lower = build(
        &Recipe {
            user: Some("1000:1001".to_owned()),
            workdir: Some("/bench".to_owned()),
            cmd: vec!["/bin/busybox id -u; /bin/busybox id -g; pwd; echo $GREETING".to_owned()],
            ..lower
        },
        layout,
        None,
    )
    .unwrap();
    let upper = build(&Recipe::new(Source::Directory(upper)), layout, None).unwrap();
    let mut config = lower.config().clone();
    let above = &upper.config().rootfs.diff_ids;
    config.rootfs.diff_ids.extend(above.iter().cloned());
    let layers = [lower, upper].map(|image| image.manifest().layers[0].clone());
    let config = serde_json::to_vec(&config).unwrap();
    let config = layout.put_blob(MediaType::OciConfig, &config).unwrap();
    let manifest = serde_json::to_vec(&ImageManifest::new(config, layers.into())).unwrap();
    let manifest = layout.put_blob(MediaType::OciManifest, &manifest).unwrap();
    Image::open(layout, &manifest, &Platform::host()).unwrap()
}

fn write(path: &Path, word: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("{word}\n")).unwrap();
}

pub(super) fn namespace() -> Box<dyn Backend> {
    Box::new(Namespaces::new(host_clock(), std::env::temp_dir()))
}

/// No chambers at all.
fn process() -> Box<dyn Backend> {
    Box::new(Processes::new(std::env::temp_dir(), host_clock()).unwrap())
}

/// All tests share one, and with it its templates.
pub(super) fn qemu() -> Box<dyn Backend> {
    static SHARED: OnceLock<Arc<Machines>> = OnceLock::new();
    let machines = SHARED.get_or_init(|| {
        let kernel = GuestKernel::find().expect("no guest kernel: run `cargo xtask setup`");
        let config = QemuConfig::new(kernel, Accelerator::Tcg, std::env::temp_dir());
        Arc::new(Machines::qemu(config, host_clock()))
    });
    Box::new(SharedMachines(Arc::clone(machines)))
}

/// Firecracker's driver on a double of Firecracker, which is built with the tests of `kiln-sandbox`.
fn firecracker() -> Box<dyn Backend> {
    let config = FirecrackerConfig {
        program: beside_this_program("firecracker-double"),
        jailer: None,
        // The double boots none, but opens it.
        kernel: GuestKernel::at("/bin/busybox").unwrap(),
        work_dir: std::env::temp_dir(),
    };
    Box::new(Machines::firecracker(config, host_clock()).unwrap())
}

fn beside_this_program(name: &str) -> PathBuf {
    let own_path = std::env::current_exe().unwrap();
    let program = own_path.ancestors().nth(2).unwrap().join(name);
    assert!(
        program.exists(),
        "build it with `cargo build -p kiln-sandbox --bins`"
    );
    program
}

#[derive(Debug)]
struct SharedMachines(Arc<Machines>);

impl Backend for SharedMachines {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn isolation(&self) -> Option<Isolation> {
        self.0.isolation()
    }

    fn base_kind(&self) -> BaseKind {
        self.0.base_kind()
    }

    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        self.0.prepare(rootfs, spec)
    }
}
