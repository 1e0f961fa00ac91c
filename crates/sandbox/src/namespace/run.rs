//! One run, from the launcher's start to the last process's end.

use std::time::Duration;

use kiln_guest_init::protocol::{Kill, Start, ToGuest, Usage as GuestUsage};
use kiln_model::{Clock, Millis};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::guest_process::GuestProcess;
use crate::cgroup::{Group, GroupUsage};
use crate::conversation::{Conversation, Heard};
use crate::deadline::{Action, Cause, Deadlines};
use crate::link::{Guest, Link};
use crate::{CancelToken, Error, Exit, Limits, Outcome, OutputSink, Sealed, Usage};

/// What one run is made of.
pub(crate) struct Run<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) seal: ToGuest,
    pub(crate) start: Start,
    pub(crate) limits: &'a Limits,
    pub(crate) cancel: &'a CancelToken,
}

pub(super) fn run(run: &Run<'_>, group: Group, sink: &mut dyn OutputSink) -> Result<Exit, Error> {
    let mut conversation = Conversation::new(&run.start, sink);
    let mut guest = GuestProcess::spawn()?;
    // The launcher waits for its first message: everything it starts is born inside the group.
    group.add(guest.launcher_pid())?;
    guest.link().tell(&run.seal)?;
    guest.link().tell(&ToGuest::Start(run.start.clone()))?;

    let talk = talk(run, &mut guest, &mut conversation);
    // Only when every process is gone are the group's figures final.
    drop(guest);
    let group_usage = group.usage();
    let mut layers = group.remove()?;
    let Talk { cause, wall } = talk?;

    let outcome = outcome(cause, &conversation, group_usage)?;
    layers.append(&mut conversation.layers);
    let guest_usage = conversation
        .end
        .map_or_else(GuestUsage::default, |(_, usage)| usage);
    Ok(Exit {
        outcome,
        usage: usage(guest_usage, group_usage),
        stdout: conversation.stdout.end,
        stderr: conversation.stderr.end,
        files: conversation.files,
        sealed: Sealed { layers },
        wall,
    })
}

/// How the conversation went.
pub(crate) struct Talk {
    pub(crate) cause: Option<Cause>,
    pub(crate) wall: Duration,
}

/// Listens to the guest until it has finished, hung up, or run out of time.
pub(crate) fn talk(
    run: &Run<'_>,
    guest: &mut impl Guest,
    conversation: &mut Conversation<'_>,
) -> Result<Talk, Error> {
    let mut deadlines = Deadlines::new(run.clock.monotonic(), run.limits.timeout, run.limits.grace);
    let mut started = None;
    let mut ended = None;
    let mut cancel_seen = false;
    'talk: loop {
        let now = run.clock.monotonic();
        let patience = deadlines.next_alarm().map(|alarm| alarm.since(now));
        let news = wait_for_news(guest.link(), (!cancel_seen).then_some(run.cancel), patience)?;
        let mut actions = Vec::new();
        if news.guest {
            let connected = guest.link().read()?;
            while let Some(message) = guest.link().next_message()? {
                let now = run.clock.monotonic();
                match conversation.hear(message)? {
                    Heard::Nothing => {}
                    Heard::Born(pid) => guest.born(pid)?,
                    Heard::Started => {
                        started = Some(now);
                        deadlines.started(now);
                    }
                    Heard::Exited => {
                        ended = Some(now);
                        actions.extend(deadlines.exited(now));
                    }
                    Heard::Finished => break 'talk,
                }
            }
            if !connected {
                break;
            }
        }
        let now = run.clock.monotonic();
        if news.canceled {
            cancel_seen = true;
            actions.extend(deadlines.cancel(now));
        }
        actions.extend(deadlines.check(now));
        for action in actions {
            match action {
                Action::Ask => guest.link().tell(&ToGuest::Kill(Kill::Ask))?,
                Action::Force => guest.link().tell(&ToGuest::Kill(Kill::Force))?,
                Action::Destroy if started.is_none() && deadlines.cause().is_none() => {
                    return Err(Error::NotReady);
                }
                Action::Destroy => break 'talk,
            }
        }
    }
    let ended = ended.unwrap_or_else(|| run.clock.monotonic());
    let wall = started.map_or(Duration::ZERO, |started: Millis| ended.since(started));
    Ok(Talk {
        cause: deadlines.cause(),
        wall,
    })
}

struct News {
    guest: bool,
    canceled: bool,
}

fn wait_for_news(
    link: &Link,
    cancel: Option<&CancelToken>,
    patience: Option<Duration>,
) -> Result<News, Error> {
    let mut fds = vec![PollFd::from_borrowed_fd(link.socket(), PollFlags::IN)];
    fds.extend(cancel.map(|cancel| PollFd::new(cancel, PollFlags::IN)));
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    match poll(&mut fds, patience.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(Error::host("cannot wait for the chamber", errno)),
    }
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    Ok(News {
        guest: ready.next().unwrap_or(false),
        canceled: ready.next().unwrap_or(false),
    })
}

/// What the run comes to. A guest without a last word was killed with its command, or is a fault.
pub(crate) fn outcome(
    cause: Option<Cause>,
    conversation: &Conversation<'_>,
    group: GroupUsage,
) -> Result<Outcome, Error> {
    let oom_kills = group.oom_kills.unwrap_or(0);
    match (cause, conversation.end) {
        (Some(Cause::TimedOut), _) => Ok(Outcome::TimedOut),
        (Some(Cause::Canceled), _) => Ok(Outcome::Canceled),
        (None, Some((status, _))) => Ok(Outcome::of(status, oom_kills)),
        (None, None) if oom_kills > 0 => Ok(Outcome::OutOfMemory),
        (None, None) => Err(Error::Lost),
    }
}

pub(crate) fn usage(guest: GuestUsage, group: GroupUsage) -> Usage {
    Usage {
        elapsed: Duration::from_nanos(guest.elapsed_nanos),
        user: Duration::from_micros(guest.user_micros),
        system: Duration::from_micros(guest.system_micros),
        peak_resident_bytes: guest.peak_resident_bytes,
        minor_faults: guest.minor_faults,
        major_faults: guest.major_faults,
        voluntary_switches: guest.voluntary_switches,
        involuntary_switches: guest.involuntary_switches,
        peak_memory_bytes: group.peak_memory_bytes,
        chamber_cpu: group.cpu,
        throttled: group.throttled,
        oom_kills: group.oom_kills,
    }
}
