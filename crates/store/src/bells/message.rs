//! Rings as servers tell them to each other: `SERVER:L7*3,J12,R5,S5,K`, or `SERVER:*` for everything.

use std::collections::BTreeMap;

use crate::Bell;

/// PostgreSQL takes payloads up to 8,000 bytes.
const LONGEST: usize = 7_900;
/// Past this many different bells it is cheaper for all to look again.
const MOST: usize = 10_000;

/// Rings that have been collected.
#[derive(Debug, Default)]
pub(super) struct Rings {
    counts: BTreeMap<Bell, u32>,
    everything: bool,
}

/// What another server said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) server: u64,
    /// None means everything.
    pub(super) rings: Option<Vec<Bell>>,
}

impl Rings {
    pub(super) fn add(&mut self, bell: Bell) {
        self.add_times(bell, 1);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.everything |= other.everything;
        other
            .counts
            .into_iter()
            .for_each(|(bell, count)| self.add_times(bell, count));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty() && !self.everything
    }

    /// The messages that tell these rings, each short enough.
    pub(super) fn payloads(&self, server: u64) -> Vec<String> {
        if self.everything {
            return vec![format!("{server:x}:*")];
        }
        let mut payloads = Vec::new();
        let mut current = String::new();
        for (bell, count) in &self.counts {
            let ring = match bell {
                Bell::Lane(lane) => format!("L{lane}*{count}"),
                Bell::Job(job) => format!("J{job}"),
                Bell::Runner(runner) => format!("R{runner}"),
                Bell::Slots(runner) => format!("S{runner}"),
                Bell::Kernel => "K".into(),
            };
            if current.len() + ring.len() + 1 > LONGEST {
                payloads.push(std::mem::take(&mut current));
            }
            if current.is_empty() {
                current = format!("{server:x}:");
            } else {
                current.push(',');
            }
            current.push_str(&ring);
        }
        payloads.push(current);
        payloads
    }

    fn add_times(&mut self, bell: Bell, times: u32) {
        let count = self.counts.entry(bell).or_default();
        *count = count.saturating_add(times);
        if self.counts.len() > MOST {
            self.everything = true;
        }
        if self.everything {
            self.counts.clear();
        }
    }
}

impl Message {
    /// What a payload says, if it is one of ours. A newer server's words count as everything.
    pub(super) fn parse(payload: &str) -> Option<Self> {
        let (server, rings) = payload.split_once(':')?;
        let server = u64::from_str_radix(server, 16).ok()?;
        let mut bells = Vec::new();
        for ring in rings.split(',') {
            match parse_ring(ring) {
                Some((bell, count)) => bells.extend(std::iter::repeat_n(bell, count)),
                None => {
                    return Some(Self {
                        server,
                        rings: None,
                    });
                }
            }
        }
        Some(Self {
            server,
            rings: Some(bells),
        })
    }
}

fn parse_ring(ring: &str) -> Option<(Bell, usize)> {
    if ring == "K" {
        return Some((Bell::Kernel, 1));
    }
    if let Some(job) = ring.strip_prefix('J') {
        return Some((Bell::Job(job.parse().ok()?), 1));
    }
    if let Some(runner) = ring.strip_prefix('R') {
        return Some((Bell::Runner(runner.parse().ok()?), 1));
    }
    if let Some(runner) = ring.strip_prefix('S') {
        return Some((Bell::Slots(runner.parse().ok()?), 1));
    }
    let (lane, count) = ring.strip_prefix('L')?.split_once('*')?;
    let count: usize = count.parse().ok()?;
    Some((Bell::Lane(lane.parse().ok()?), count.min(MOST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_survive_the_wire_with_their_counts() {
        let mut rings = Rings::default();
        let told = [
            Bell::Lane(-3),
            Bell::Lane(7),
            Bell::Lane(7),
            Bell::Job(12),
            Bell::Runner(5),
            Bell::Slots(5),
            Bell::Kernel,
        ];
        for bell in told {
            rings.add(bell);
        }
        rings.add(Bell::Job(12));
        let payloads = rings.payloads(0xabc);
        assert_eq!(payloads, ["abc:L-3*1,L7*2,J12,R5,S5,K"]);
        assert_eq!(
            Message::parse(&payloads[0]),
            Some(Message {
                server: 0xabc,
                rings: Some(told.to_vec())
            })
        );
    }

    #[test]
    fn many_rings_make_several_messages_none_too_long() {
        let mut rings = Rings::default();
        (0..5_000).for_each(|job| rings.add(Bell::Job(job)));
        let payloads = rings.payloads(1);
        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() < 8_000));
        let told: usize = payloads
            .iter()
            .filter_map(|p| Message::parse(p)?.rings)
            .map(|rings| rings.len())
            .sum();
        assert_eq!(told, 5_000);
    }

    #[test]
    fn too_many_rings_become_everything() {
        let mut rings = Rings::default();
        (0..20_000).for_each(|job| rings.add(Bell::Job(job)));
        assert_eq!(rings.payloads(1), ["1:*"]);
        assert_eq!(
            Message::parse("1:*"),
            Some(Message {
                server: 1,
                rings: None
            })
        );
    }

    #[test]
    fn what_is_not_understood_is_everything_or_nothing_but_no_panic() {
        assert_eq!(
            Message::parse("1:X9"),
            Some(Message {
                server: 1,
                rings: None
            })
        );
        assert_eq!(Message::parse("hello"), None);
        assert_eq!(Message::parse(""), None);
    }
}
