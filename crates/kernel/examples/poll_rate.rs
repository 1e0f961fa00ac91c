//! How many messages per second of CPU the kernel claims, dispatches, applies and acknowledges in memory.
//!
//! `cargo run --release -p kiln-kernel --example poll_rate`

use std::fs;
use std::hint::black_box;
use std::sync::Arc;

use kiln_kernel::memory::MemoryTx;
use kiln_kernel::{
    Kind, Kv, MemoryKv, Message, MessageView, Runner, RunnerConfig, Step, apply_only, inbox,
};
use kiln_model::Millis;

const MESSAGES: u64 = 1_000_000;
const BATCH: usize = 64;
const WORKER: u64 = 7;

fn main() {
    let kv = MemoryKv::new();
    for chunk in 0..MESSAGES / 1000 {
        kv.write(move |tx| {
            for seq in chunk * 1000..(chunk + 1) * 1000 {
                let id = format!("message-{seq}");
                let frame = Message::new(Kind::Command, 7, id, "a payload").encode()?;
                inbox::put(tx, WORKER, seq, &frame)?;
            }
            Ok(())
        })
        .expect("rows fit into memory");
    }
    let handler = apply_only(
        |message: &MessageView<'_>, _: &mut MemoryTx, _: &mut Step| {
            black_box(message.payload);
            Ok(())
        },
    );
    let runner = Runner::boot(kv, Arc::new(handler), RunnerConfig::new(WORKER))
        .expect("an empty store boots");
    let before = cpu_seconds();
    let mut processed = 0;
    while processed < MESSAGES {
        let polled = runner.poll_inbox(BATCH, &|| Millis(1));
        assert_eq!(polled.failure, None);
        processed += polled.processed as u64;
    }
    let spent = cpu_seconds() - before;
    #[expect(
        clippy::print_stdout,
        clippy::cast_precision_loss,
        reason = "a measurement for people"
    )]
    {
        println!(
            "{:.0} messages per CPU second ({spent:.2} s)",
            MESSAGES as f64 / spent
        );
    }
}

/// User and system time of this process, from the kernel's own account in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux tells about this process");
    let after_name = stat.rsplit(')').next().expect("split has a last part");
    let ticks = |index: usize| {
        let field = after_name
            .split_whitespace()
            .nth(index)
            .expect("the line has 50 fields");
        field.parse::<f64>().expect("times are numbers")
    };
    (ticks(11) + ticks(12)) / 100.0
}
