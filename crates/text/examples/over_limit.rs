//! Measures how long it takes to decide whether a text has more than 25,000 tokens, for texts of
//! several sizes.
//!
//! Prints the median of many runs, and the median for the same decision by `bpe-openai`, in the
//! same process.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::time::Instant;

use spillgate_text::Tokenizer;

const LIMIT: u64 = 25_000;
const RUNS: usize = 41;

fn main() {
    let counter = Tokenizer::O200kBase.counter();
    let rival = bpe_openai::o200k_base();
    counter.count("load");
    rival.count("load");
    println!("{:>9} {:>14} {:>14}", "MB", "spillgate µs", "bpe-openai µs");
    for megabytes in [1, 16, 128] {
        let text = log(megabytes << 20);
        let ours = median(|| counter.exceeds(&text, LIMIT));
        let limit = usize::try_from(LIMIT).unwrap_or(usize::MAX);
        // `bpe-openai` needs normalised text. The normalisation is not timed.
        let normal = rival.normalize(text.as_str());
        let theirs = median(|| rival.count_till_limit(&normal, limit).is_none());
        println!("{megabytes:>9} {ours:>14.0} {theirs:>14.0}");
    }
}

/// Returns the median duration of a decision, in microseconds. The decision must be "yes".
fn median(decide: impl Fn() -> bool) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            assert!(decide(), "every text here is over the limit");
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn log(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    for i in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&format!(
            "2026-11-21T10:{:02}:{:02}Z INFO worker-{} [req={:08x}] GET /api/v1/items/{} 200 {}ms\n",
            i / 60 % 60,
            i % 60,
            i % 17,
            i * 2_654_435_761_u64 % 0xffff_ffff,
            i * 7919 % 100_003,
            i % 997
        ));
    }
    text
}
