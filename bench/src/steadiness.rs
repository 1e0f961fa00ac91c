//! Whether a chamber adds noise: the same work, timed by itself, in a chamber and bare, taking turns on one core.

mod spread;
mod work;

use std::path::Path;
use std::sync::Arc;

use kiln_sandbox::quiet::pin_this_thread;
use kiln_sandbox::{
    Backend as _, CancelToken, Chamber, ChamberSpec, Command, Limits, Namespaces, Rootfs,
    Transcript,
};
use kiln_store::SystemClock;

use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::target::{Target, Verdict};

pub(crate) use work::answer_if_asked;

/// Of each side. A third of them would do on a host that never stalls; on one that does, the bound of so few says more about
/// which side was hit than about chambers.
const SAMPLES: usize = 3_000;
const BOUND: f64 = 1.15;

pub(crate) fn measure(place: &Path, say: &dyn Fn(&str)) -> Result<Measurement, Failure> {
    let root = place.join("work");
    work::install(&root)?;
    let core = last_core();
    // What is started from here keeps to the core, as the chamber does.
    pin_this_thread(&[core]).map_err(|source| Failure::io("keep to one core", source))?;
    let mut chamber = Sealed::prepare(&root, core)?;
    let (mut sealed, mut bare) = (Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        if number % 200 == 0 {
            say(&format!("steadiness: {number} of {SAMPLES} pairs"));
        }
        // Neither is always first.
        if number % 2 == 0 {
            sealed.push(chamber.work()?);
            bare.push(work::bare(&root)?);
        } else {
            bare.push(work::bare(&root)?);
            sealed.push(chamber.work()?);
        }
    }
    let ratio = spread::ratio(&sealed, &bare);
    let as_samples = |micros: &[f64]| -> Vec<Sample> { micros.iter().copied().map(one).collect() };
    let (own, peer) = (as_samples(&sealed), as_samples(&bare));
    Ok(Measurement {
        name: "steadiness",
        what: "a few milliseconds of arithmetic, timed by itself, in turns on one core",
        unit: "runs/s",
        fsync: None,
        sides: vec![
            Side::ours("ours: in a chamber", &own, Sample::rate),
            Side::beside("bare", &own, &peer),
        ],
        targets: vec![Target {
            what: format!(
                "the ratio of the coefficients of variation at most {BOUND}, as its upper bound of 95%"
            ),
            verdict: Verdict::at_least(BOUND / ratio.upper, 1.0),
            reached: format!(
                "{:.3}, bounded by {:.3} ({:.2}% in a chamber, {:.2}% bare)",
                ratio.value,
                ratio.upper,
                100.0 * spread::variation(&sealed),
                100.0 * spread::variation(&bare)
            ),
        }],
        notes: vec![format!("{SAMPLES} samples of each, on core {core}")],
    })
}

fn one(micros: f64) -> Sample {
    Sample {
        operations: 1,
        wall: std::time::Duration::from_secs_f64(micros / 1e6),
        ..Sample::default()
    }
}

/// Interrupts go to the first ones.
fn last_core() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores - 1).unwrap_or(0)
}

struct Sealed {
    chamber: Box<dyn Chamber>,
    cancel: CancelToken,
}

impl Sealed {
    fn prepare(root: &Path, core: u32) -> Result<Self, Failure> {
        let backend = Namespaces::new(Arc::new(SystemClock::new()), std::env::temp_dir());
        let spec = ChamberSpec {
            cores: vec![core],
            ..ChamberSpec::default()
        };
        Ok(Self {
            chamber: backend.prepare(&Rootfs::directory(root), &spec)?,
            cancel: CancelToken::new()?,
        })
    }

    /// How long the work took, in microseconds.
    fn work(&mut self) -> Result<f64, Failure> {
        let mut command = Command::new([work::PROGRAM]);
        command.env.push((work::ASKED.to_owned(), "1".to_owned()));
        let mut transcript = Transcript::default();
        let limits = Limits::default();
        let exit = self
            .chamber
            .run(&command, &limits, &mut transcript, &self.cancel)?;
        match exit.code() {
            Some(0) => work::read(&transcript.stdout),
            _ => Err(Failure::Wrong(format!("it ended as {:?}", exit.outcome))),
        }
    }
}
