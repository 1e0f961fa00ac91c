//! One run, from the seal to the last process's end.

use std::time::Duration;

use kiln_guest_init::protocol::{Kill, Start, ToGuest, Usage as GuestUsage};
use kiln_model::{Clock, Millis};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::standby::Standby;
use super::watch::{Surroundings, Watch};
use crate::cgroup::{GroupUsage, fresh_name};
use crate::conversation::{Conversation, Heard};
use crate::deadline::{Action, Cause, Deadlines};
use crate::link::{Guest, Link};
use crate::network::NetworkPlan;
use crate::{CancelToken, Error, Exit, Limits, Outcome, OutputSink, Sealed, Usage};

/// What one run is made of.
pub(crate) struct Run<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) start: Start,
    pub(crate) network: Option<&'a NetworkPlan>,
    pub(crate) limits: &'a Limits,
    pub(crate) cancel: &'a CancelToken,
}

/// Runs the command of a guest that has its seal. When nothing is left to be measured `look_ahead` is called.
pub(crate) fn run(
    run: &Run<'_>,
    standby: Standby,
    sink: &mut dyn OutputSink,
    look_ahead: &mut dyn FnMut(),
) -> Result<Exit, Error> {
    let Standby {
        group, guest, plot, ..
    } = standby;
    // Whatever the end, it goes before its group and what it has written.
    let mut guest = guest;
    let mut conversation = Conversation::new(&run.start, sink);
    // Without a network to wait for, the guest goes on to the command by itself.
    if run.network.is_none() {
        guest.link().tell(&ToGuest::Start(run.start.clone()))?;
    }

    let mut watch = Watch::new(&group);
    let talk = talk(run, &mut guest, &mut conversation, &mut watch);
    let surroundings = watch.end();
    if talk.is_ok() {
        look_ahead();
    }
    // The command is gone with all that it has started, and the end of PID 1 takes a while.
    if let (Some(_), Some(plot)) = (&conversation.end, &plot) {
        plot.clear();
    }
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
        usage: usage(guest_usage, group_usage, surroundings),
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
    watch: &mut Watch<'_>,
) -> Result<Talk, Error> {
    let mut deadlines = Deadlines::new(run.clock.monotonic(), run.limits.timeout, run.limits.grace);
    let mut started = None;
    let mut ended = None;
    let mut cancel_seen = false;
    // Lives until the conversation is over.
    let mut network = None;
    'talk: loop {
        let now = run.clock.monotonic();
        let alarm = [deadlines.next_alarm(), watch.next_sample()];
        let patience = alarm.into_iter().flatten().min();
        let patience = patience.map(|alarm| alarm.since(now));
        let news = wait_for_news(guest.link(), (!cancel_seen).then_some(run.cancel), patience)?;
        let mut actions = Vec::new();
        let mut connected = true;
        if news.guest {
            connected = guest.link().read()?;
            while let Some(message) = guest.link().next_message()? {
                let now = run.clock.monotonic();
                match conversation.hear(message)? {
                    Heard::Nothing => {}
                    Heard::Born(pid) => {
                        guest.born(pid)?;
                        if let Some(plan) = run.network {
                            network = Some(plan.connect(pid, &unique_name()?)?);
                            guest.link().tell(&ToGuest::Start(run.start.clone()))?;
                        }
                    }
                    Heard::Started => {
                        started = Some(now);
                        deadlines.started(now);
                        watch.started(now, guest.process());
                    }
                    Heard::Exited => {
                        ended = Some(now);
                        watch.ended();
                        actions.extend(deadlines.exited(now));
                    }
                    Heard::Finished => break 'talk,
                }
            }
        }
        let now = run.clock.monotonic();
        if news.canceled {
            cancel_seen = true;
            actions.extend(deadlines.cancel(now));
        }
        if !connected {
            break;
        }
        watch.check(now);
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
    drop(network);
    let ended = ended.unwrap_or_else(|| run.clock.monotonic());
    let wall = started.map_or(Duration::ZERO, |started: Millis| ended.since(started));
    Ok(Talk {
        cause: deadlines.cause(),
        wall,
    })
}

fn unique_name() -> Result<String, Error> {
    fresh_name().ok_or(Error::OutOfTurn("this host does not tell when we started"))
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
        (None, Some((status, usage))) => Ok(Outcome::of(status, oom_kills, usage.disk_full)),
        (None, None) if oom_kills > 0 => Ok(Outcome::OutOfMemory),
        (None, None) => Err(Error::Lost),
    }
}

pub(crate) fn usage(guest: GuestUsage, group: GroupUsage, surroundings: Surroundings) -> Usage {
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
        steal: surroundings.steal,
        pressure: surroundings.pressure,
        frequency: surroundings.frequency,
        cpu_samples: surroundings.cpu_samples,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::cgroup::{Group, Hierarchies};
    use crate::{ChamberSpec, Missing, Transcript};

    #[derive(Debug)]
    struct Stopped;

    impl Clock for Stopped {
        fn wall(&self) -> Millis {
            Millis(0)
        }

        fn monotonic(&self) -> Millis {
            Millis(0)
        }
    }

    struct HungUp(Link);

    impl Guest for HungUp {
        fn link(&mut self) -> &mut Link {
            &mut self.0
        }

        fn born(&mut self, _: u32) -> Result<(), Error> {
            Ok(())
        }

        fn process(&self) -> Option<u32> {
            None
        }
    }

    #[test]
    fn a_guest_that_hangs_up_as_it_is_canceled_is_canceled_and_not_lost() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let cancel = CancelToken::new().unwrap();
        cancel.cancel();
        let accepting = ChamberSpec {
            missing_limits: Missing::Accept,
            ..ChamberSpec::default()
        };
        let group = Group::create(&Hierarchies::default(), &accepting).unwrap();
        let run = Run {
            clock: &Stopped,
            start: Start::default(),
            network: None,
            limits: &Limits::default(),
            cancel: &cancel,
        };
        let mut transcript = Transcript::default();
        let mut conversation = Conversation::new(&run.start, &mut transcript);
        let mut guest = HungUp(Link::new(ours).unwrap());
        let talked = talk(&run, &mut guest, &mut conversation, &mut Watch::new(&group)).unwrap();
        assert_eq!(talked.cause, Some(Cause::Canceled));
    }
}
