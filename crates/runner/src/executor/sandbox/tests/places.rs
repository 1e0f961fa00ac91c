//! Which cores jobs run on.

use std::sync::Mutex;
use std::time::Duration;

use kiln_model::v0::{CoreSplit, Isolation};
use kiln_sandbox::{Chamber, Command, Error, Exit, Limits, OutputSink};

use super::*;

#[tokio::test]
async fn jobs_of_a_server_and_of_this_host_run_in_the_same_place() {
    let places = Places::default();
    let partition = PathBuf::from("/sys/fs/cgroup/kiln-benchmarks");
    let quiet = QuietHost::split(four_cores(), Some(partition.clone()));
    let bench = Bench::quiet(Box::new(places.clone()), one_layer, Some(quiet)).await;
    assert!(bench.set_up(bench.job("true")).await.is_ok());
    let local = bench.local(1);
    let ended = bench.executor.run_local(local, CancellationToken::new());
    assert!(matches!(ended.await.unwrap().verdict, Verdict::Failed(_)));
    let place = (vec![1, 2, 3], Some(partition));
    assert_eq!(places.taken(), [place.clone(), place]);
}

#[tokio::test]
async fn a_job_has_as_many_cores_as_its_spec_says() {
    let places = Places::default();
    let quiet = QuietHost::split(four_cores(), None);
    let bench = Bench::quiet(Box::new(places.clone()), one_layer, Some(quiet)).await;
    for cpus in [3, 4] {
        let mut job = bench.job("true");
        job.spec.cpu = cpus;
        assert!(bench.set_up(job).await.is_ok());
    }
    let local = bench.local(4);
    let ended = bench.executor.run_local(local, CancellationToken::new());
    let noise = ended.await.unwrap().conditions.noise.unwrap();
    let all = vec![0, 1, 2, 3];
    assert_eq!(
        places.taken(),
        [
            (vec![1, 2, 3], None),
            (all.clone(), None),
            (all.clone(), None)
        ]
    );
    // What is in effect is told.
    let cores = noise.cores.unwrap();
    assert_eq!((cores.housekeeping, cores.benchmark), (vec![0], all));
    let told = |warning: &String| warning.contains("4 CPUs");
    assert!(noise.warnings.iter().any(told), "{:?}", noise.warnings);
}

fn four_cores() -> CoreSplit {
    CoreSplit {
        housekeeping: vec![0],
        benchmark: vec![1, 2, 3],
    }
}

impl Bench {
    /// A job of this host's own.
    fn local(&self, cpus: u32) -> LocalJob {
        LocalJob {
            image: LocalImage::Layout(self.directory.path().join("layout")),
            overrides: Overrides::default(),
            chamber: ChamberSpec {
                cpus,
                ..ChamberSpec::default()
            },
            timeout: Duration::from_mins(1),
            iterations: 1,
            allow_failure: false,
            file_paths: Vec::new(),
            resources: Vec::new(),
        }
    }
}

/// Chambers that run nothing, and remember where they were to be.
#[derive(Clone, Debug, Default)]
struct Places(Arc<Mutex<Vec<Place>>>);

type Place = (Vec<u32>, Option<PathBuf>);

impl Places {
    fn taken(&self) -> Vec<Place> {
        self.0.lock().unwrap().clone()
    }
}

impl Backend for Places {
    fn name(&self) -> &'static str {
        "namespace"
    }

    fn isolation(&self) -> Option<Isolation> {
        Some(Isolation::Namespace)
    }

    fn prepare(&self, _: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        let place = (spec.cores.clone(), spec.partition.clone());
        self.0.lock().unwrap().push(place);
        Ok(Box::new(self.clone()))
    }
}

impl Chamber for Places {
    fn run(
        &mut self,
        _: &Command,
        _: &Limits,
        _: &mut dyn OutputSink,
        _: &CancelToken,
    ) -> Result<Exit, Error> {
        Err(Error::Spec {
            reason: "nothing runs here".to_owned(),
        })
    }

    fn destroy(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}
