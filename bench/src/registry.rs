//! Pushing and pulling with skopeo: our registry beside Debian's `docker-registry`, on the same disk.

mod images;
mod server;

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use images::Workload;
pub(crate) use images::noise;
use server::{Running, Which};
pub(crate) use server::{build, kib};

/// Fewer than elsewhere: each moves a gigabyte.
const ROUNDS: u32 = 3;
/// How much more memory than at rest a server may ever take.
const MEMORY_MIB: f64 = 64.0;

/// What one server did in one round.
#[derive(Clone, Copy)]
struct Turn {
    push: Sample,
    pull: Sample,
}

pub(crate) fn measure(place: &Path, say: &dyn Fn(&str)) -> Result<Vec<Measurement>, Failure> {
    say("registry: building kiln");
    let kiln = build()?;
    let mut measurements = Vec::new();
    for workload in [Workload::Large, Workload::Small] {
        let ours = Running::start(Which::Kiln, &kiln, &place.join("kiln"))?;
        let peer = Running::start(Which::DockerRegistry, &kiln, &place.join("docker"))?;
        let (mut our_turns, mut peer_turns) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            say(&format!(
                "registry: {}, round {round} of {ROUNDS}",
                workload.name()
            ));
            // New bytes in every round: what a registry has is not sent again.
            let layout = place.join("layout");
            workload.write(&layout, round)?;
            our_turns.push(turn(&ours, workload, &layout, place)?);
            peer_turns.push(turn(&peer, workload, &layout, place)?);
        }
        let memory = ours.memory_above_idle_mib()?;
        measurements.extend(compare(workload, &our_turns, &peer_turns, memory));
    }
    Ok(measurements)
}

fn turn(
    server: &Running,
    workload: Workload,
    layout: &Path,
    place: &Path,
) -> Result<Turn, Failure> {
    let local = format!("oci:{}:image", layout.display());
    let remote = format!("docker://{}/bench/image:latest", server.address());
    let back = place.join("back");
    let pulled = format!("oci:{}:image", back.display());
    let push = copy(server, workload, &local, &remote, "dest")?;
    let pull = copy(server, workload, &remote, &pulled, "src")?;
    std::fs::remove_dir_all(&back).map_err(|source| Failure::io("tidy up", source))?;
    Ok(Turn { push, pull })
}

fn copy(
    server: &Running,
    workload: Workload,
    from: &str,
    to: &str,
    side: &str,
) -> Result<Sample, Failure> {
    let mut skopeo = Command::new("skopeo");
    skopeo.args(["copy", "--quiet", "--insecure-policy"]);
    skopeo.arg(format!("--{side}-tls-verify=false"));
    if let Some(credentials) = server.credentials() {
        skopeo.arg(format!("--{side}-creds")).arg(credentials);
    }
    let watch = Stopwatch::start();
    let output = skopeo
        .args([from, to])
        .output()
        .map_err(|source| Failure::io("run skopeo; `cargo xtask setup` installs it", source))?;
    let wall = watch.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Wrong(format!("skopeo copy {from} {to}: {said}")));
    }
    Ok(Sample {
        operations: workload.operations(),
        wall,
        ..Sample::default()
    })
}

fn compare(workload: Workload, ours: &[Turn], peer: &[Turn], memory: f64) -> Vec<Measurement> {
    let pushes = |turns: &[Turn]| turns.iter().map(|turn| turn.push).collect::<Vec<_>>();
    let pulls = |turns: &[Turn]| turns.iter().map(|turn| turn.pull).collect::<Vec<_>>();
    let push = workload.measurement("push");
    let pull = workload.measurement("pull");
    vec![
        beside(push, workload, [pushes(ours), pushes(peer)], 1.0, memory),
        beside(
            pull,
            workload,
            [pulls(ours), pulls(peer)],
            workload.pull_target(),
            memory,
        ),
    ]
}

fn beside(
    name: &'static str,
    workload: Workload,
    [ours, peer]: [Vec<Sample>; 2],
    wanted: f64,
    memory: f64,
) -> Measurement {
    let peer = Side::beside("docker-registry", &ours, &peer);
    let ratio = peer.ours_by_this.map_or(f64::NAN, |by| by.median);
    let speed = Target {
        what: format!("at least {wanted} times as fast as docker-registry"),
        verdict: Verdict::at_least(ratio, wanted),
        reached: format!("{ratio:.2} times"),
    };
    let within = Target {
        what: format!("at most {MEMORY_MIB} MiB above idle, over all rounds"),
        verdict: Verdict::at_least(MEMORY_MIB, memory),
        reached: format!("{memory:.1} MiB"),
    };
    Measurement {
        name,
        what: "skopeo copy, whole process",
        unit: workload.unit(),
        fsync: None,
        sides: vec![Side::ours("ours", &ours, Sample::rate), peer],
        targets: vec![speed, within],
        notes: Vec::new(),
    }
}
