//! Real images from a registry on loopback, run in real chambers. Needs Linux with user namespaces and `busybox` linked
//! statically.

mod ahead;
mod blackbox;
mod network;
mod places;
mod registry;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use kiln_image::{Image, MediaType, Recipe, Source, build};
use kiln_model::v0::{Architecture, Ended, OperatingSystem};
use kiln_sandbox::Namespaces;
use tempfile::TempDir;

use super::check::MAX_ITERATIONS;
use super::*;
use crate::executor::{Execution, Terms, Verdict};
use registry::{Registry, TOKEN};

/// The host's time, which chambers need.
#[derive(Debug)]
struct HostClock {
    start: Instant,
}

impl Clock for HostClock {
    fn wall(&self) -> Millis {
        self.monotonic()
    }

    fn monotonic(&self) -> Millis {
        Millis::ZERO + self.start.elapsed()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a real chamber runs in real time"
)]
fn host_clock() -> Arc<dyn Clock> {
    Arc::new(HostClock {
        start: Instant::now(),
    })
}

/// A registry with one image, and an executor with an empty cache.
struct Bench {
    registry: Registry,
    executor: SandboxExecutor,
    directory: TempDir,
}

impl Bench {
    async fn new() -> Self {
        let backend = Box::new(Namespaces::new(host_clock(), std::env::temp_dir()));
        Self::on(backend, one_layer).await
    }

    async fn on(backend: Box<dyn Backend>, image: fn(&Path, &Layout) -> Image) -> Self {
        Self::quiet(backend, image, None).await
    }

    async fn quiet(
        backend: Box<dyn Backend>,
        image: fn(&Path, &Layout) -> Image,
        quiet: Option<QuietHost>,
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = TempDir::new().unwrap();
        let layout = Layout::create(directory.path().join("layout")).unwrap();
        let image = image(directory.path(), &layout);
        let clock = host_clock();
        let config = SandboxExecutorConfig {
            missing_limits: Missing::Accept,
            server: Some(format!("http://{}", network::CONTROL_PLANE)),
            quiet,
            ..SandboxExecutorConfig::new(directory.path().join("cache"))
        };
        let http = reqwest::Client::new();
        Self {
            registry: Registry::serve(layout, image.digest().clone()).await,
            executor: SandboxExecutor::open(config, backend, http, clock).unwrap(),
            directory,
        }
    }

    fn job(&self, script: &str) -> ClaimedJob {
        let rows: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../fixtures/channel/happy.json")).unwrap();
        let job = rows
            .iter()
            .map(|row| &row["server"])
            .find(|message| message["event"] == "job");
        let mut job: ClaimedJob = serde_json::from_value(job.unwrap().clone()).unwrap();
        job.spec.architecture = match std::env::consts::ARCH {
            "aarch64" => Architecture::Aarch64,
            _ => Architecture::X86_64,
        };
        job.spec.memory = 64 << 20;
        job.spec.disk = 16 << 20;
        job.oci_token = TOKEN.to_owned();
        job.config.registry = self.registry.url();
        job.config.digest = self.registry.digest().clone();
        job.config.cmd = Some(vec![script.to_owned()]);
        job
    }

    async fn set_up(&self, job: ClaimedJob) -> Result<Box<dyn Prepared>, SetUpError> {
        self.executor.set_up(job, CancellationToken::new()).await
    }

    async fn run(&self, job: ClaimedJob) -> Execution {
        let prepared = self
            .set_up(job)
            .await
            .map_err(|failure| failure.error)
            .unwrap();
        prepared.execute(Terms::new(CancellationToken::new())).await
    }

    async fn set_up_error(&self, job: ClaimedJob) -> String {
        match self.set_up(job).await {
            Ok(_) => panic!("the set-up succeeded"),
            Err(failure) => failure.error,
        }
    }
}

fn one_layer(directory: &Path, layout: &Layout) -> Image {
    build(&recipe(directory), layout, None).unwrap()
}

/// A shell that runs the job's only argument.
fn recipe(directory: &Path) -> Recipe {
    let root = directory.join("root");
    let bin = root.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let busybox = ["/bin/busybox", "/usr/bin/busybox"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    std::fs::copy(
        busybox.expect("busybox-static is installed"),
        bin.join("busybox"),
    )
    .unwrap();
    for applet in ["sh", "sleep"] {
        symlink("busybox", bin.join(applet)).unwrap();
    }
    Recipe {
        entrypoint: ["/bin/sh", "-c"].map(str::to_owned).into(),
        env: vec!["GREETING=hello".to_owned()],
        ..Recipe::new(Source::Directory(root))
    }
}

fn results(execution: &Execution) -> Vec<kiln_model::v0::IterationOutput> {
    execution.output.clone().into_results()
}

#[tokio::test]
async fn a_job_is_pulled_unpacked_and_run_and_its_output_comes_back() {
    let bench = Bench::new().await;
    let mut job = bench.job("echo $GREETING $NAME; echo oops >&2; echo 42 > /answer");
    job.config.env = Some([("NAME".to_owned(), "kiln".to_owned())].into());
    job.config.file_paths = Some(vec!["/answer".to_owned()]);
    let execution = bench.run(job).await;
    assert_eq!(execution.verdict, Verdict::Completed);
    let [result] = results(&execution).try_into().unwrap();
    assert_eq!(result.exit_code, 0);
    assert_eq!(result.stdout.as_deref(), Some("hello kiln\n"));
    assert_eq!(result.stderr.as_deref(), Some("oops\n"));
    assert_eq!(result.output.unwrap()["/answer"], "42\n");
}

#[tokio::test]
async fn a_result_tells_under_which_conditions_it_came_about() {
    let bench = Bench::new().await;
    let conditions = bench.run(bench.job("exit 0")).await.conditions;
    assert_eq!(conditions.isolation.as_deref(), Some("namespace"));
    assert_eq!(conditions.backend.as_deref(), Some("namespace"));
    assert_eq!(conditions.image.as_ref(), Some(bench.registry.digest()));
    assert!(
        conditions
            .layers
            .iter()
            .any(|layer| layer.name == "seccomp" && layer.applied),
        "{conditions:?}"
    );
    assert_eq!(conditions.iterations.len(), 1);
    assert!(conditions.iterations[0].wall_us > 0);
    assert!(!conditions.cached);
}

#[tokio::test]
async fn an_image_is_pulled_once_and_asked_about_every_time() {
    let bench = Bench::new().await;
    bench.run(bench.job("exit 0")).await;
    let blobs = bench.registry.blobs_served();
    let execution = bench.run(bench.job("exit 0")).await;
    assert!(execution.conditions.cached);
    assert_eq!(bench.registry.blobs_served(), blobs);
    let mut job = bench.job("exit 0");
    job.oci_token = "another project's".to_owned();
    let error = bench.set_up_error(job).await;
    assert!(error.starts_with("pull: "), "{error}");
}

#[tokio::test]
async fn every_iteration_starts_afresh() {
    let bench = Bench::new().await;
    let mut job = bench.job("echo x >> /count; while read line; do echo $line; done < /count");
    job.config.iter = Some(3);
    let execution = bench.run(job).await;
    let stdout: Vec<_> = results(&execution)
        .into_iter()
        .filter_map(|result| result.stdout)
        .collect();
    assert_eq!(stdout, ["x\n"; 3]);
    assert_eq!(execution.conditions.iterations.len(), 3);
}

#[tokio::test]
async fn no_iterations_are_a_result_too() {
    let bench = Bench::new().await;
    let mut job = bench.job("exit 1");
    job.config.iter = Some(0);
    let execution = bench.run(job).await;
    assert_eq!(execution.verdict, Verdict::Completed);
    assert_eq!(results(&execution), []);
}

#[tokio::test]
async fn a_failing_command_ends_the_job_and_keeps_its_output() {
    let bench = Bench::new().await;
    let mut job = bench.job("echo partial; exit 3");
    job.config.iter = Some(2);
    let execution = bench.run(job).await;
    let reason = "run: iteration 1: the command exited with code 3";
    assert_eq!(execution.verdict, Verdict::Failed(reason.to_owned()));
    let [result] = results(&execution).try_into().unwrap();
    assert_eq!(
        (result.exit_code, result.stdout.as_deref()),
        (3, Some("partial\n"))
    );
}

#[tokio::test]
async fn an_allowed_failure_is_an_iteration_like_others() {
    let bench = Bench::new().await;
    let mut job = bench.job("exit 3");
    job.config.iter = Some(2);
    job.config.allow_failure = Some(true);
    let execution = bench.run(job).await;
    assert_eq!(execution.verdict, Verdict::Completed);
    assert_eq!(
        results(&execution)
            .iter()
            .map(|result| result.exit_code)
            .collect::<Vec<_>>(),
        [3, 3]
    );
}

#[tokio::test]
async fn allowed_failures_say_how_they_ended() {
    let bench = Bench::new().await;
    for (script, ended, signal, exit_code) in [
        ("exit 0", Ended::Exited, None, 0),
        ("exit 137", Ended::Exited, None, 137),
        ("kill -9 $$", Ended::Signaled, Some(9), 137),
        (
            "exec busybox dd if=/dev/zero of=/dev/null bs=100M count=1",
            Ended::OutOfMemory,
            None,
            137,
        ),
        (
            "exec busybox dd if=/dev/zero of=/fill bs=1M count=64",
            Ended::DiskFull,
            None,
            1,
        ),
    ] {
        let mut job = bench.job(script);
        job.config.allow_failure = Some(true);
        let execution = bench.run(job).await;
        assert_eq!(execution.verdict, Verdict::Completed, "{script}");
        let told = &execution.conditions.iterations[0];
        let code = results(&execution)[0].exit_code;
        assert_eq!(
            (&told.ended, told.signal, code),
            (&Some(ended), signal, exit_code),
            "{script}"
        );
    }
}

#[tokio::test]
async fn a_file_that_was_not_written_fails_the_job_by_name() {
    let bench = Bench::new().await;
    let mut job = bench.job("exit 0");
    job.config.file_paths = Some(vec!["/report.json".to_owned()]);
    let execution = bench.run(job).await;
    let reason = "collect: iteration 1: /report.json was not written";
    assert_eq!(execution.verdict, Verdict::Failed(reason.to_owned()));
}

#[tokio::test]
async fn files_of_one_iteration_are_together_no_more_than_can_be_delivered() {
    let bench = Bench::new().await;
    let mut job = bench.job("busybox truncate -s 4194304 /one /two; echo 42 > /three");
    let paths = ["/one", "/two", "/three"];
    job.config.file_paths = Some(paths.map(str::to_owned).into());
    let execution = bench.run(job).await;
    assert_eq!(execution.verdict, Verdict::Completed);
    let lost = kiln_model::v0::Truncated {
        texts: 2,
        lost_bytes: (4 << 20) + 4,
    };
    assert_eq!(execution.output.truncated(), Some(lost));
    let [result] = results(&execution).try_into().unwrap();
    let files = result.output.unwrap();
    assert_eq!(files["/three"], "42\n");
    assert!(files["/one"].ends_with(" of 4194304 bytes]\n"));
}

#[tokio::test]
async fn a_cancel_ends_a_command_that_would_not_end() {
    let bench = Bench::new().await;
    let prepared = bench
        .set_up(bench.job("sleep 1000"))
        .await
        .map_err(|failure| failure.error)
        .unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let execution = prepared.execute(Terms::new(cancel)).await;
    let reason = "run: iteration 1: the command was stopped";
    assert_eq!(execution.verdict, Verdict::Failed(reason.to_owned()));
}

#[tokio::test]
async fn a_job_without_time_runs_into_its_timeout() {
    let bench = Bench::new().await;
    let mut job = bench.job("sleep 1000");
    job.config.timeout = 0;
    let execution = bench.run(job).await;
    let Verdict::Failed(reason) = execution.verdict else {
        panic!("{execution:?}")
    };
    assert!(reason.contains("timeout of 0 seconds"), "{reason}");
}

#[tokio::test]
async fn a_missing_image_says_where_it_was_looked_for() {
    let bench = Bench::new().await;
    let mut job = bench.job("exit 0");
    job.config.digest = format!("sha256:{}", "ab".repeat(32)).parse().unwrap();
    let error = bench.set_up_error(job).await;
    assert!(error.starts_with("pull: cannot find 127.0.0.1:"), "{error}");
    assert!(error.contains("the registry has no such image"), "{error}");
    assert!(
        error.ends_with(
            "check that the image is in the server's registry and that the runner can reach it"
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_command_that_is_not_in_the_image_is_the_jobs_fault() {
    let bench = Bench::new().await;
    let mut job = bench.job("exit 0");
    job.config.entrypoint = Some(vec!["/no/such/program".to_owned()]);
    let Verdict::Failed(reason) = bench.run(job).await.verdict else {
        panic!("it ran")
    };
    assert!(
        reason.starts_with("run: the command did not start"),
        "{reason}"
    );
}

#[tokio::test]
async fn what_this_runner_cannot_give_is_refused_with_a_reason() {
    let bench = Bench::new().await;
    let mut micro_vm = bench.job("exit 0");
    micro_vm.spec.sandbox = Some("firecracker".to_owned());
    let error = bench.set_up_error(micro_vm).await;
    assert!(error.contains("asks for the isolation microvm"), "{error}");
    let mut other_machine = bench.job("exit 0");
    other_machine.spec.os = OperatingSystem::Windows;
    let error = bench.set_up_error(other_machine).await;
    assert!(error.contains("another kind of machine"), "{error}");
    let mut many = bench.job("exit 0");
    many.config.iter = Some(MAX_ITERATIONS + 1);
    let error = bench.set_up_error(many).await;
    assert!(error.contains("at most 1000 iterations"), "{error}");
}

#[tokio::test]
async fn a_job_whose_isolation_this_runner_gives_runs_and_its_result_names_it() {
    let bench = Bench::new().await;
    let mut job = bench.job("exit 0");
    job.spec.isolation = Some("namespace".to_owned());
    let execution = bench.run(job).await;
    assert_eq!(execution.verdict, Verdict::Completed);
    let isolation = execution.conditions.isolation;
    assert_eq!(isolation.as_deref(), Some("namespace"));
}

#[tokio::test]
async fn a_machine_is_what_either_way_to_ask_for_one_is_given() {
    let bench = Bench::on(blackbox::qemu(), one_layer).await;
    let mut by_sandbox = bench.job("exit 0");
    by_sandbox.spec.sandbox = Some("firecracker".to_owned());
    assert!(bench.set_up(by_sandbox).await.is_ok());
    let mut by_name = bench.job("exit 0");
    by_name.spec.isolation = Some("microvm".to_owned());
    assert!(bench.set_up(by_name).await.is_ok());
    let mut jailed = bench.job("exit 0");
    jailed.spec.isolation = Some("firecracker".to_owned());
    let error = bench.set_up_error(jailed).await;
    assert!(error.contains("--backend firecracker"), "{error}");
}

#[tokio::test]
async fn the_time_of_the_command_and_the_sizes_of_files_take_the_files_place() {
    let bench = Bench::new().await;
    let mut job = bench.job("echo 12345 > /answer");
    job.config.file_paths = Some(vec!["/answer".to_owned()]);
    job.config.build_time = Some(true);
    job.config.file_size = Some(true);
    let execution = bench.run(job).await;
    assert_eq!(execution.verdict, Verdict::Completed);
    let [result] = results(&execution).try_into().unwrap();
    let files = result.output.unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    let document: serde_json::Value = serde_json::from_str(&files["\0bencher"]).unwrap();
    assert_eq!(document["/answer"]["file-size"]["value"], 6);
    let times = document.as_object().unwrap().values();
    let mut times = times.filter_map(|benchmark| benchmark["build-time"]["value"].as_f64());
    assert!(times.next() > Some(0.0), "{document}");
}

#[tokio::test]
async fn a_cancel_ends_a_set_up() {
    let bench = Bench::new().await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut job = bench.job("exit 0");
    // Nobody ever answers here.
    job.config.registry = bench.registry.silent_url();
    let ended = bench.executor.set_up(job, cancel).await;
    assert!(ended.is_err());
}
