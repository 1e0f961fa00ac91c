//! Which image runs next, and when there has been enough.

use kiln_insight::{
    Average, Results, Settings, Side, TURNS_OF_A_BLOCK, Turns, TurnsSettings, parse, side_of_turn,
};
use kiln_model::v0::{Adapter, JobConfig, PairedConfig};
use kiln_sandbox::FAR_AHEAD;

use crate::Iteration;

/// The order of a job's iterations.
#[derive(Debug)]
pub(super) enum Schedule {
    /// One image, so many times.
    Repeat { iterations: u32 },
    /// Two images that take turns.
    Pairs(Box<Pairs>),
}

#[derive(Debug)]
pub(super) struct Pairs {
    adapter: Adapter,
    settings: Settings,
    most: usize,
    turns: Turns,
    /// What cannot be read now will not be read later.
    unreadable: bool,
}

impl Schedule {
    pub(super) fn of(config: &JobConfig) -> Self {
        match &config.paired {
            None => Self::Repeat {
                iterations: config.iter.unwrap_or(1),
            },
            Some(paired) => Self::Pairs(Box::new(Pairs::new(paired, config.average.as_deref()))),
        }
    }

    /// Whose turn the iteration of this number is, from 0; nobody's when there has been enough.
    pub(super) fn side(&self, number: u32) -> Option<Side> {
        match self {
            Self::Repeat { iterations } => (number < *iterations).then_some(Side::Base),
            Self::Pairs(pairs) => pairs.goes_on(number).then(|| side_of_turn(number as usize)),
        }
    }

    /// How many turns right after this one are for the same side, as far as a chamber looks ahead.
    pub(super) fn further(&self, number: u32) -> u32 {
        let side = self.side(number);
        let same = (1..=FAR_AHEAD).take_while(|ahead| self.side(number + ahead) == side);
        same.last().unwrap_or(0)
    }

    /// Looks at what an iteration wrote.
    pub(super) fn look_at(&mut self, iteration: &Iteration) {
        if let Self::Pairs(pairs) = self {
            pairs.look_at(iteration);
        }
    }

    /// Whether pairs ended because everything was decided.
    pub(super) fn is_decided(&self) -> bool {
        matches!(self, Self::Pairs(pairs) if pairs.turns.is_decided())
    }
}

impl Pairs {
    fn new(config: &PairedConfig, average: Option<&str>) -> Self {
        Self {
            adapter: config.adapter,
            settings: Settings {
                average: average.and_then(|average| average.parse::<Average>().ok()),
                fold: None,
            },
            // Only whole blocks count.
            most: (config.pairs as usize * 2).next_multiple_of(TURNS_OF_A_BLOCK),
            turns: Turns::new(TurnsSettings {
                gate: config.gate,
                error_rate: config.error_rate,
                measure: config.measure.clone(),
            }),
            unreadable: false,
        }
    }

    fn goes_on(&self, number: u32) -> bool {
        let number = number as usize;
        let whole = number.is_multiple_of(TURNS_OF_A_BLOCK);
        number < self.most && !self.unreadable && !(whole && self.turns.is_decided())
    }

    fn look_at(&mut self, iteration: &Iteration) {
        let read: Result<Vec<Results>, _> = iteration
            .result_texts()
            .map(|text| parse(self.adapter, text, self.settings))
            .collect();
        match read {
            Ok(results) => self.turns.add(&results),
            Err(_) => self.unreadable = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use kiln_model::Digest;

    use super::*;

    fn schedule(pairs: u32) -> Schedule {
        let config = PairedConfig {
            digest: Digest::from_hash(&[7; 32]).unwrap(),
            image: None,
            pairs,
            gate: 0.02,
            error_rate: 0.01,
            measure: None,
            adapter: Adapter::Json,
        };
        Schedule::Pairs(Box::new(Pairs::new(&config, None)))
    }

    fn wrote(text: &str) -> Iteration {
        Iteration {
            stdout: text.into(),
            ..Iteration::default()
        }
    }

    /// Runs to the end; how many turns there were, and the first four sides.
    fn run(mut schedule: Schedule, write: impl Fn(u32, Side) -> String) -> (u32, Vec<Side>, bool) {
        let mut sides = Vec::new();
        let mut number = 0;
        while let Some(side) = schedule.side(number) {
            schedule.look_at(&wrote(&write(number, side)));
            sides.push(side);
            number += 1;
        }
        sides.truncate(4);
        (number, sides, schedule.is_decided())
    }

    fn latency(number: u32, value: f64) -> String {
        let wobble = 1.0 + f64::from(number % 5) / 1_000.0;
        format!(r#"{{"b":{{"latency":{{"value":{}}}}}}}"#, value * wobble)
    }

    #[test]
    fn one_image_is_repeated() {
        let schedule = Schedule::Repeat { iterations: 2 };
        assert_eq!(schedule.side(1), Some(Side::Base));
        assert_eq!(schedule.side(2), None);
    }

    #[test]
    fn a_chamber_expects_the_turns_of_its_own_side_that_follow_each_other() {
        let schedule = Schedule::Repeat { iterations: 5 };
        let further: Vec<u32> = (0..5).map(|number| schedule.further(number)).collect();
        assert_eq!(further, [FAR_AHEAD, FAR_AHEAD, 2, 1, 0]);
    }

    #[test]
    fn a_chamber_expects_nothing_beyond_a_turn_of_the_other_side() {
        // Base, head, head, base, and then the same again.
        let further: Vec<u32> = (0..4).map(|number| schedule(15).further(number)).collect();
        assert_eq!(further, [0, 1, 0, 1]);
    }

    #[test]
    fn a_clear_difference_ends_the_turns_early() {
        let (turns, sides, decided) = run(schedule(200), |number, side| {
            latency(number, if side == Side::Head { 150.0 } else { 100.0 })
        });
        assert_eq!(sides, [Side::Base, Side::Head, Side::Head, Side::Base]);
        assert!(decided && turns < 100, "{turns}");
        assert_eq!(turns % 4, 0);
    }

    #[test]
    fn without_a_decision_all_pairs_are_run_in_whole_blocks() {
        let noise = [60.0, 140.0, 90.0, 170.0, 80.0, 110.0, 50.0];
        let (turns, _, decided) = run(schedule(15), |number, _| {
            latency(number, noise[number as usize % noise.len()])
        });
        assert_eq!((turns, decided), (32, false));
    }

    #[test]
    fn what_cannot_be_read_ends_the_turns_at_once() {
        let (turns, _, decided) = run(schedule(15), |_, _| "no numbers".to_owned());
        assert_eq!((turns, decided), (1, false));
    }
}
