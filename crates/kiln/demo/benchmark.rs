//! The benchmark that `kiln demo` packs into an image: static, without dependencies, honest about its spread.

use std::env;
use std::hint::black_box;
use std::time::Instant;

const SAMPLES: usize = 40;

fn main() {
    let numbers = env::var("NUMBERS").ok().and_then(|text| text.parse().ok());
    let numbers = numbers.unwrap_or(10_000);
    let results = [
        ("sort", measure(|| sort(numbers))),
        ("checksum", measure(checksum)),
    ];
    println!("{{");
    for (at, (name, [low, middle, high])) in results.iter().enumerate() {
        let comma = if at + 1 < results.len() { "," } else { "" };
        println!(
            "  \"{name}\": {{\"latency\": {{\"value\": {middle}, \"lower_value\": {low}, \"upper_value\": {high}}}}}{comma}"
        );
    }
    println!("}}");
    eprintln!("{SAMPLES} samples of each, after warming up");
}

/// Tenth percentile, median and ninetieth percentile, in nanoseconds.
fn measure(work: impl Fn() -> u64) -> [u128; 3] {
    for _ in 0..SAMPLES / 4 {
        black_box(work());
    }
    let mut samples: Vec<u128> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_nanos()
        })
        .collect();
    samples.sort_unstable();
    [samples[SAMPLES / 10], samples[SAMPLES / 2], samples[SAMPLES * 9 / 10]]
}

fn sort(count: usize) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut numbers: Vec<u64> = (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        })
        .collect();
    numbers.sort_unstable();
    numbers[count / 2]
}

fn checksum() -> u64 {
    let bytes = black_box([7_u8; 65_536]);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
