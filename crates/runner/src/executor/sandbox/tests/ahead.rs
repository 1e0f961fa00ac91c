//! What is done for a job before it runs, so that it need not be done while it does.

use kiln_model::v0::Isolation;
use kiln_sandbox::{Chamber, Command, Error, Exit, Limits, OutputSink};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::blackbox::{qemu, two_layers};
use super::*;

#[tokio::test]
async fn a_jobs_only_iteration_finds_its_chamber_sealed() {
    let bench = Bench::on(qemu(), two_layers).await;
    for _ in 0..2 {
        let execution = bench.run(bench.job("exit 0")).await;
        assert_eq!(execution.verdict, Verdict::Completed, "{execution:?}");
        let layers = &execution.conditions.layers;
        let start = layers.iter().find(|layer| layer.name == "start");
        assert_eq!(
            start.unwrap().detail,
            "from a template with its chamber sealed"
        );
    }
}

#[tokio::test]
async fn nothing_more_is_made_for_a_job_that_is_canceled() {
    let (patient, mut news) = Patient::new();
    let bench = Bench::on(Box::new(patient), two_layers).await;
    let cancel = CancellationToken::new();
    let set_up = bench.executor.set_up(bench.job("exit 0"), cancel.clone());
    let set_up = tokio::spawn(set_up);
    assert_eq!(news.recv().await, Some("began"));
    cancel.cancel();
    assert!(set_up.await.unwrap().is_err());
    assert_eq!(news.recv().await, Some("stopped"));
}

/// Makes ready until it is told to stop, and tells when.
#[derive(Clone, Debug)]
struct Patient(UnboundedSender<&'static str>);

impl Patient {
    fn new() -> (Self, UnboundedReceiver<&'static str>) {
        let (sender, news) = unbounded_channel();
        (Self(sender), news)
    }
}

impl Backend for Patient {
    fn name(&self) -> &'static str {
        "namespace"
    }

    fn isolation(&self) -> Option<Isolation> {
        Some(Isolation::Namespace)
    }

    fn prepare(&self, _: &Rootfs, _: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Chamber for Patient {
    fn run(
        &mut self,
        _: &Command,
        _: &Limits,
        _: &mut dyn OutputSink,
        _: &CancelToken,
    ) -> Result<Exit, Error> {
        unreachable!("its job is canceled before")
    }

    fn make_ready(&mut self, _: &Command, cancel: &CancelToken) {
        self.0.send("began").unwrap();
        while !cancel.is_canceled() {
            std::thread::yield_now();
        }
        self.0.send("stopped").unwrap();
    }

    fn destroy(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}
