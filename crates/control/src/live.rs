//! What running jobs write, gathered in memory and written once a second for all jobs together, like signs of life. It may be
//! lost: the output at the end has all of it. If there is no such end, it is the partial output.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kiln_model::v0::{IterationOutput, JobOutput, LiveText, TextKind};
use kiln_store::sql::{job, job_live};
use kiln_store::{Bell, Query, Tx};

use crate::Denied;

/// What one message may carry.
pub const MAX_PIECE_BYTES: usize = 16 << 10;
/// What one job may write in a second; more is dropped.
const MAX_WAITING_BYTES: usize = 4 * MAX_PIECE_BYTES;
/// The exit code of a process whose end nobody saw.
const UNKNOWN_EXIT: i32 = -1;

#[derive(Debug, Default)]
pub struct LiveOutput {
    /// By job, so that flushes of two servers take rows in the same order.
    waiting: Mutex<BTreeMap<i64, Heard>>,
}

#[derive(Debug, Default)]
struct Heard {
    epoch: i64,
    texts: Vec<LiveText>,
    bytes: usize,
}

impl LiveOutput {
    /// The holder of `epoch` tells what its job wrote.
    pub fn hear(&self, job: i64, epoch: i64, text: LiveText) {
        let size = text.text.len();
        let mut waiting = self.lock();
        let heard = waiting.entry(job).or_default();
        if heard.epoch != epoch {
            *heard = Heard {
                epoch,
                ..Heard::default()
            };
        }
        let fits = size <= MAX_PIECE_BYTES && heard.bytes + size <= MAX_WAITING_BYTES;
        if fits && text.stream != TextKind::File {
            heard.bytes += size;
            heard.texts.push(text);
        }
    }

    /// What is to be written, as a closure for the ledger. What a job wrote that its holder lost meanwhile is not.
    pub fn take(&self) -> impl FnMut(&mut dyn Tx) -> Result<(), Denied> + Send + use<> {
        let waiting = std::mem::take(&mut *self.lock());
        move |tx| {
            for (&id, heard) in &waiting {
                let Some(found) = job::find(tx, id)? else {
                    continue;
                };
                if found.life.epoch != heard.epoch || !found.life.status.is_in_flight() {
                    continue;
                }
                for text in &heard.texts {
                    job_live::append(tx, id, heard.epoch, text)?;
                }
                tx.ring(Bell::Job(id));
            }
            Ok(())
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i64, Heard>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of the output of a job whose runner never delivered one.
pub fn partial_output<Q: Query + ?Sized>(
    query: &mut Q,
    job: i64,
    epoch: i64,
) -> Result<Option<JobOutput>, Denied> {
    let pieces = job_live::after(query, job, epoch, 0)?;
    Ok(assemble(pieces.into_iter().map(|(_, text)| text)))
}

/// Puts pieces together; where one is missing, the text says so.
fn assemble(pieces: impl Iterator<Item = LiveText>) -> Option<JobOutput> {
    let mut iterations: BTreeMap<u64, (IterationOutput, [u64; 2])> = BTreeMap::new();
    for piece in pieces {
        let (iteration, ends) = iterations.entry(piece.iteration).or_default();
        iteration.exit_code = UNKNOWN_EXIT;
        let (text, end) = match piece.stream {
            TextKind::Stdout => (&mut iteration.stdout, &mut ends[0]),
            TextKind::Stderr => (&mut iteration.stderr, &mut ends[1]),
            TextKind::File => continue,
        };
        let text = text.get_or_insert_default();
        if piece.start > *end {
            let missing = piece.start - *end;
            let gap = format!("\n[kiln: {missing} bytes are not here]\n");
            text.push_str(&gap);
        }
        *end = piece.start.saturating_add(piece.text.len() as u64);
        text.push_str(&piece.text);
    }
    let results: Vec<IterationOutput> = iterations.into_values().map(|(it, _)| it).collect();
    (!results.is_empty()).then(|| JobOutput {
        results,
        ..JobOutput::default()
    })
}

#[cfg(test)]
mod tests {
    use kiln_model::Kind;

    use super::*;
    use crate::jobs::Holder;
    use crate::testing::{LEASE, World};

    fn piece(start: u64, text: &str) -> LiveText {
        LiveText {
            iteration: 0,
            stream: TextKind::Stdout,
            start,
            text: text.to_owned(),
        }
    }

    /// A running job, and what it wrote.
    fn running(world: &World) -> (i64, i64) {
        let runner = world.runner("rack");
        let job = world.submit(world.ask(Kind::Bench));
        let epoch = world.claim(runner).unwrap().life.epoch;
        let holder = Holder {
            runner,
            epoch: Some(epoch),
        };
        world.start(job, holder);
        (job, epoch)
    }

    fn stored(world: &World, job: i64, epoch: i64) -> Option<String> {
        let output = world.write(move |tx| partial_output(tx, job, epoch));
        output.and_then(|output| output.results[0].stdout.clone())
    }

    #[test]
    fn what_a_lost_job_had_written_is_its_output() {
        let world = World::new();
        let (job, epoch) = running(&world);
        let live = LiveOutput::default();
        live.hear(job, epoch, piece(0, "so "));
        live.hear(job, epoch, piece(3, "far"));
        world.write(live.take());
        assert!(live.is_empty());
        world.pass(2 * LEASE);
        assert_eq!(world.status(job), kiln_model::Status::Failed);
        assert_eq!(stored(&world, job, epoch).as_deref(), Some("so far"));
    }

    #[test]
    fn a_holder_of_an_older_epoch_writes_nothing() {
        let world = World::new();
        let (job, epoch) = running(&world);
        let live = LiveOutput::default();
        live.hear(job, epoch - 1, piece(0, "old"));
        world.write(live.take());
        assert_eq!(stored(&world, job, epoch), None);
    }

    #[test]
    fn a_flood_is_bounded_in_memory_and_on_disk() {
        let world = World::new();
        let (job, epoch) = running(&world);
        let live = LiveOutput::default();
        let chunk = "x".repeat(MAX_PIECE_BYTES);
        for second in 0..40 {
            for number in 0..10 {
                live.hear(job, epoch, piece(second * 10 + number, &chunk));
            }
            let waiting: usize = live.lock().values().map(|heard| heard.bytes).sum();
            assert_eq!(waiting, MAX_WAITING_BYTES);
            world.write(live.take());
        }
        let kept = world.write(move |tx| Ok(job_live::after(tx, job, epoch, 0)?.len()));
        assert_eq!(kept, usize::try_from(job_live::KEPT).unwrap());
    }

    #[test]
    fn a_gap_says_how_much_is_missing() {
        let whole = assemble([piece(0, "ab"), piece(5, "f")].into_iter()).unwrap();
        let stdout = whole.results[0].stdout.as_deref().unwrap();
        assert_eq!(stdout, "ab\n[kiln: 3 bytes are not here]\nf");
    }
}
