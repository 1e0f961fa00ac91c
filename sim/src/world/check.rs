//! Looking at the database after a step.

use std::sync::Arc;

use kiln_model::{Kind, Status};
use kiln_store::{Error, params};

use super::{Errand, Event, World};
use crate::invariants::{self, Times, View};
use crate::note::Note;
use crate::outcome::Violation;
use crate::snapshot::{Look, Snapshot};

impl World {
    /// Checks every invariant on what the last transaction left behind.
    pub(super) fn check(&mut self, notes: &[Note]) -> Result<(), Violation> {
        let commits = self.host.plan.commits();
        if commits == self.seen_commits && notes.is_empty() {
            return Ok(());
        }
        self.seen_commits = commits;
        let before = Arc::clone(&self.seen);
        let (base, changes) = (Arc::clone(&self.seen), self.seen_changes);
        let read = self
            .reader
            .read(move |query| Look::take(query, &base, changes))
            .wait();
        let look = read.map_err(|error: Error| {
            Violation::new("readable", format!("the database cannot be read: {error}"))
        })?;
        self.seen_changes = look.changes;
        let after = look.snapshot.map_or_else(|| Arc::clone(&before), Arc::new);
        let time = self.server.as_ref().map(|server| Times {
            now: server.now(),
            opened: server.opened,
        });
        self.shadow.take(notes, time.map(|time| time.now));
        self.tell_changes(&before, &after);
        invariants::check(&View {
            before: &before,
            after: &after,
            shadow: &self.shadow,
            objects: &self.host.objects,
            notes,
            time,
        })?;
        self.seen = after;
        self.fetch_results();
        Ok(())
    }

    /// The bench jobs whose output could not be read: they stay completed.
    pub(super) fn invalid_reports(&self) -> Result<Vec<i64>, Violation> {
        let read = self.reader.read(|query| {
            let rows = query.query(
                "SELECT job.id FROM job JOIN report ON report.id = job.report_id \
                 WHERE report.status = ?1",
                params!["invalid"],
            )?;
            rows.iter().map(|row| row.get(0)).collect()
        });
        let invalid: Result<Vec<i64>, Error> = read.wait();
        invalid.map_err(|error| Violation::new("readable", error.to_string()))
    }

    fn tell_changes(&mut self, before: &Snapshot, after: &Snapshot) {
        for (seen, event) in after.fresh_events(before) {
            let (id, kind) = (seen.job.id, seen.job.ask.kind.name());
            let to = event.to.map_or("?", Status::name);
            let (what, epoch, actor) = (&event.what, event.epoch, &event.actor);
            self.trace.line(
                self.schedule.now(),
                format_args!("    {kind} {id}: {what} by {actor}, now {to} in epoch {epoch}"),
            );
        }
    }

    /// Somebody wants every result of an action or a runtime job.
    fn fetch_results(&mut self) {
        let seen = Arc::clone(&self.seen);
        for job in seen.all_jobs() {
            let waits = job.ask.kind != Kind::Bench && job.life.status == Status::Completed;
            if waits && self.fetching.insert(job.id) {
                let delay = self.rng.within(300..=8_000);
                let refuse = job.ask.kind == Kind::Runtime && self.rng.percent(20);
                let errand = Errand::Fetch {
                    job: job.id,
                    epoch: job.life.epoch,
                    refuse,
                };
                self.schedule.after(delay, Event::Errand(errand));
            }
        }
    }
}
