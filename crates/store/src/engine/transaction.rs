//! One meaning of a transaction for both drivers: frames, bells, poison, and the time of the batch.

use kiln_model::Millis;

use super::frames::Frames;
use super::{Begin, Commit, Driver, Left, Session};
use crate::kernel_time::KernelTime;
use crate::tape::{Frame, Transcript};
use crate::{Bell, DatabaseErrorKind, Engine, Error, Query, Row, Tx, Value, params};

/// Nested savepoints share one name: the innermost one is meant, on both engines.
const OPEN: &str = "SAVEPOINT frame";
const KEEP: &str = "RELEASE SAVEPOINT frame";
const UNDO: &str = "ROLLBACK TO SAVEPOINT frame; RELEASE SAVEPOINT frame";
const WRITE_MARK: &str = "UPDATE meta SET kernel_time = ?1";
/// For how many transactions closures run in savepoints after one had to be undone.
const WARY: u32 = 64;

#[derive(Debug)]
pub(crate) struct Transaction<D> {
    driver: D,
    frames: Frames,
    now: Millis,
    wall: Millis,
    /// The kernel-time mark this transaction wrote.
    mark: Option<Millis>,
    transcript: Option<Transcript>,
    /// Transactions, this one included, whose closures run in savepoints. A savepoint costs a fifth of a small closure on
    /// `SQLite`, and two round trips on PostgreSQL, and hardly any closure changes something and then fails: so there is
    /// none until one did.
    wary: u32,
    /// The closure that runs now has no savepoint.
    trusted: bool,
    /// It may have changed something.
    touched: bool,
}

impl<D: Driver> Transaction<D> {
    pub(crate) fn new(driver: D) -> Self {
        Self {
            driver,
            frames: Frames::default(),
            now: Millis::ZERO,
            wall: Millis::ZERO,
            mark: None,
            transcript: None,
            wary: 0,
            trusted: false,
            touched: false,
        }
    }

    pub(crate) fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    fn take_kernel_lock(&mut self) -> Result<(), Error> {
        self.frames.check()?;
        if !self.frames.kernel_is_locked() {
            self.driver
                .lock_kernel()
                .map_err(|error| self.frames.fail(error))?;
            self.frames.kernel_locked();
        }
        Ok(())
    }

    fn told(&mut self, frame: Frame, answer: Result<(), Error>) -> Result<(), Error> {
        if let Some(transcript) = &mut self.transcript {
            transcript.nested(frame, &answer);
        }
        answer
    }

    fn open_frame(&mut self) -> Result<(), Error> {
        self.frames.check()?;
        self.driver
            .routine(OPEN)
            .map_err(|error| self.frames.fail(error))?;
        self.frames.opened();
        Ok(())
    }

    fn keep_frame(&mut self) -> Result<(), Error> {
        self.frames.check()?;
        self.driver
            .routine(KEEP)
            .map_err(|error| self.frames.fail(error))?;
        self.frames.kept();
        Ok(())
    }

    fn undo_frame(&mut self) -> Result<(), Error> {
        self.driver
            .script(UNDO)
            .map_err(|error| self.frames.fail(error))?;
        self.frames.undone();
        Ok(())
    }
}

impl<D: Driver> Query for Transaction<D> {
    fn engine(&self) -> Engine {
        D::ENGINE
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        let answer = self.frames.check().and_then(|()| {
            self.touched |= !only_reads(sql);
            let answer = self.driver.query(sql, params);
            answer.map_err(|error| self.frames.fail(error))
        });
        if let Some(transcript) = &mut self.transcript {
            transcript.query(sql, params, &answer);
        }
        answer
    }
}

impl<D: Driver> Tx for Transaction<D> {
    fn now(&self) -> Millis {
        self.now
    }

    fn wall(&self) -> Millis {
        self.wall
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        let answer = self.frames.check().and_then(|()| {
            self.touched = true;
            let answer = self.driver.execute(sql, params);
            answer.map_err(|error| self.frames.fail(error))
        });
        if let Some(transcript) = &mut self.transcript {
            transcript.execute(sql, params, &answer);
        }
        answer
    }

    fn ring(&mut self, bell: Bell) {
        self.frames.ring(bell);
    }

    fn lock_kernel(&mut self) -> Result<(), Error> {
        let answer = self.take_kernel_lock();
        if let Some(transcript) = &mut self.transcript {
            transcript.lock(&answer);
        }
        answer
    }

    fn nested_depth(&self) -> usize {
        self.frames.depth()
    }

    fn begin_nested(&mut self) -> Result<(), Error> {
        let answer = self.open_frame();
        self.told(Frame::Begin, answer)
    }

    fn commit_nested(&mut self) -> Result<(), Error> {
        let answer = self.frames.may_close().and_then(|()| self.keep_frame());
        self.told(Frame::Commit, answer)
    }

    fn rollback_nested(&mut self) -> Result<(), Error> {
        let answer = self.frames.may_close().and_then(|()| self.undo_frame());
        self.told(Frame::Rollback, answer)
    }

    fn transcript(&mut self) -> &mut Option<Transcript> {
        &mut self.transcript
    }
}

impl<D: Driver> Session for Transaction<D> {
    fn begin(&mut self, begin: Begin, time: &KernelTime) -> Result<(), Error> {
        self.frames.reset();
        self.wary = self.wary.saturating_sub(1);
        self.mark = None;
        let database = self.driver.begin(begin)?;
        self.now = database.map_or_else(|| time.now(), |database| time.observe(database));
        self.wall = time.wall();
        if begin == Begin::Read {
            // A snapshot needs no lock.
            self.frames.kernel_locked();
            return Ok(());
        }
        if begin == Begin::Again {
            self.lock_kernel()?;
        }
        if database.is_none()
            && let Some(mark) = time.next_mark(self.now)
        {
            self.driver.execute(WRITE_MARK, params![mark])?;
            self.mark = Some(mark);
        }
        Ok(())
    }

    fn in_transaction(&mut self) -> bool {
        self.driver.in_transaction()
    }

    fn commit(&mut self, time: &KernelTime) -> Commit {
        let outcome = self.driver.commit();
        if matches!(outcome, Commit::Done) {
            time.committed(self.mark);
        }
        outcome
    }

    fn rollback(&mut self) {
        self.driver.rollback();
        self.frames.reset();
    }

    fn enter(&mut self, time: &KernelTime) -> Result<(), Error> {
        self.wall = time.wall();
        self.transcript = None;
        self.touched = false;
        self.trusted = self.wary == 0;
        if self.trusted {
            self.frames.check()?;
            self.frames.opened();
        } else {
            self.open_frame()?;
        }
        self.frames.protect();
        Ok(())
    }

    fn leave(&mut self, keep: bool) -> Result<Left, Error> {
        while !self.frames.is_balanced() {
            self.undo_frame()?;
        }
        self.frames.unprotect();
        match (self.trusted, keep) {
            (true, true) => self.frames.kept(),
            (true, false) if self.touched || self.frames.failure().is_some() => {
                self.wary = WARY + 1;
                return Ok(Left::Entangled);
            }
            (true, false) => self.frames.undone(),
            (false, true) => self.keep_frame()?,
            (false, false) => self.undo_frame()?,
        }
        Ok(Left::Closed)
    }

    fn objection(&self) -> Option<Error> {
        let unbalanced = || {
            (!self.frames.is_balanced()).then(|| {
                Error::database(
                    DatabaseErrorKind::Other,
                    "a closure left a nested frame open",
                )
            })
        };
        self.frames.failure().cloned().or_else(unbalanced)
    }

    fn take_bells(&mut self) -> Vec<Bell> {
        self.frames.take_bells()
    }

    fn script(&mut self, sql: &str) -> Result<(), Error> {
        self.driver.script(sql)
    }

    fn tables(&mut self) -> Result<Vec<String>, Error> {
        self.driver.tables()
    }

    fn tidy(&mut self) -> Commit {
        self.driver.tidy()
    }

    fn settle_time(&mut self, time: &KernelTime) -> Result<(), Error> {
        match D::ENGINE {
            Engine::Sqlite => self
                .driver
                .execute(WRITE_MARK, params![time.now()])
                .map(drop),
            Engine::Postgres => Ok(()),
        }
    }
}

/// A statement that begins otherwise may change something. Locks that a `SELECT` took may outlive their closure.
fn only_reads(sql: &str) -> bool {
    let word = sql.trim_start().get(..6);
    word.is_some_and(|word| word.eq_ignore_ascii_case("select"))
}
