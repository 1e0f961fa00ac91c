//! Outputs that were put to use leave the database for the object store, some every second. A busy server has better things to do
//! than to make files, and catches up when it is calm: until then its outputs are read from the database.

use std::time::Duration;

use kiln_control::Denied;
use kiln_control::outputs::{self, Resting};
use kiln_store::{Error, Query, Store, Tx};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::app::Shared;

const EVERY: Duration = Duration::from_secs(1);
/// The pause grows to this while the object store takes nothing.
const LONGEST: Duration = Duration::from_mins(1);
/// How many leave in one round, so that a busy server is not held up by its past.
const ROUND: u32 = 128;
/// How many are written side by side, and how many bytes of them are in memory.
const SIDE_BY_SIDE: usize = 16;
const TOGETHER: u64 = 1 << 20;

/// Lets outputs leave until the server stops.
pub(crate) async fn rest_outputs(app: Shared, stop: CancellationToken) {
    let mut pause = EVERY;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
        pause = match round(&app.store).await {
            Ok(()) => EVERY,
            Err(error) => {
                tracing::warn!(%error, "outputs stay in the database until the object store takes them");
                (pause * 2).min(LONGEST)
            }
        };
    }
}

async fn round(store: &Store) -> Result<(), Denied> {
    let some = |query: &mut dyn Query| outputs::resting(query, ROUND);
    let mut left = store.reader.read(some).await?;
    while !left.is_empty() {
        let later = left.split_off(together(&left));
        rest(store, left).await?;
        left = later;
    }
    Ok(())
}

/// How many of these go at once: as many as fit, and the first in any case.
fn together(outputs: &[Resting]) -> usize {
    let sums = outputs.iter().scan(0_u64, |sum, output| {
        *sum = sum.saturating_add(output.size());
        Some(*sum)
    });
    let fitting = sums.take_while(|sum| *sum <= TOGETHER).count();
    fitting.clamp(1, SIDE_BY_SIDE)
}

async fn rest(store: &Store, outputs: Vec<Resting>) -> Result<(), Denied> {
    let asked = outputs.clone();
    let bodies = move |query: &mut dyn Query| {
        let bodies = asked.iter().map(|output| output.body(query));
        bodies.collect::<Result<Vec<_>, Denied>>()
    };
    let bodies = store.reader.read(bodies).await?;
    let mut putting = JoinSet::new();
    for (output, body) in outputs.iter().zip(bodies) {
        // One without a body has left already, by another server's hand.
        let Some(body) = body else { continue };
        let digest = Some(output.digest().clone());
        let mut writer = store.objects.put_named(output.key.clone(), digest);
        putting.spawn(async move {
            writer.write(&body).await?;
            writer.finish().await.map(drop)
        });
    }
    while let Some(put) = putting.join_next().await {
        put.unwrap_or(Err(Error::Closed))?;
    }
    let gone = move |tx: &mut dyn Tx| outputs::rested(tx, &outputs);
    store.ledger.submit(gone).await
}
