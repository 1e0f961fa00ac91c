//! Real output with a few things changed in it, the same things every time. `cargo xtask fuzz` goes on where this ends.

use super::files::FILES;
use super::hostile::survives_in;
use crate::statistics::seeded::Seeded;
use crate::{Adapter, Settings, parse_bytes};

/// How many of each file: a second or two for all of them.
const MUTANTS: u64 = 200;
/// How many things are changed at most.
const CHANGES: usize = 5;

/// What fuzzers try first. No float holds the nines.
const PIECES: [&str; 20] = [
    "NaN",
    "inf",
    "1e999",
    "-1",
    "\n",
    "│",
    "±",
    "[",
    "{",
    "\"",
    "<a x='",
    "\u{fffd}",
    " x ",
    "|",
    "%",
    ":",
    "\0",
    "\u{1b}[",
    "e",
    "9999999999999999999999999999999999999999e999",
];

fn mutant(text: &str, seed: u64) -> Vec<u8> {
    let mut chance = Seeded::new(seed);
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=chance.below(CHANGES) {
        change(&mut bytes, &mut chance);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, chance: &mut Seeded) {
    let start = chance.below(bytes.len() + 1);
    let end = bytes.len().min(start + 1 + chance.below(64));
    match chance.below(6) {
        0 => bytes.truncate(start),
        1 => drop(bytes.drain(start..end)),
        2 => {
            let piece = bytes[start..end].to_vec();
            bytes.splice(end..end, piece);
        }
        3 => {
            let piece = bytes[start..end].to_vec();
            let elsewhere = chance.below(bytes.len() + 1);
            bytes.splice(elsewhere..elsewhere, piece);
        }
        4 => {
            if let Some(byte) = bytes.get_mut(start) {
                *byte ^= 1 << chance.below(8);
            }
        }
        _ => {
            let piece = PIECES[chance.below(PIECES.len())];
            let end = bytes.len().min(start + chance.below(piece.len() + 1));
            bytes.splice(start..end, piece.bytes());
        }
    }
}

#[test]
fn real_output_with_changes_is_survived() {
    for file in FILES {
        for seed in 0..MUTANTS {
            let mutant = mutant(file.text, seed);
            survives_in(file.adapter, &mutant);
            if seed % 10 == 0 {
                survives_in(Adapter::Magic, &mutant);
            }
        }
    }
}

#[test]
fn some_mutants_are_read_and_some_refused() {
    let read = |seed: &u64| {
        FILES.iter().any(|file| {
            let mutant = mutant(file.text, *seed);
            parse_bytes(file.adapter, &mutant, Settings::default()).is_ok()
        })
    };
    assert!((0..10).all(|seed| read(&seed)));
    let refused = FILES.iter().filter(|file| {
        (0..MUTANTS).any(|seed| {
            let mutant = mutant(file.text, seed);
            parse_bytes(file.adapter, &mutant, Settings::default()).is_err()
        })
    });
    assert_eq!(refused.count(), FILES.len());
}
