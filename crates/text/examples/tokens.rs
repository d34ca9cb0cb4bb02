//! Measures how fast texts of several kinds are counted, and how long the first count of a process
//! takes, beside `bpe-openai`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::time::Instant;

use spillgate_text::Tokenizer;

const RUNS: usize = 11;

fn main() {
    let counter = Tokenizer::O200kBase.counter();
    let log = log(1 << 20);
    let first = Instant::now();
    counter.count(&log[..20 << 10]);
    println!("first count, 20 KB: spillgate {:?}", first.elapsed());
    let first = Instant::now();
    let rival = bpe_openai::o200k_base();
    rival.count(&log[..20 << 10]);
    println!("first count, 20 KB: bpe-openai {:?}", first.elapsed());
    for (name, text) in [
        ("log", log),
        ("source", include_str!("../src/kind.rs").repeat(60)),
        (
            "json",
            (0..20_000)
                .map(|i| {
                    format!(
                        "{{\"id\":{i},\"name\":\"naïve – {}\",\"tags\":[\"a/b\",null]}},",
                        i * 7919 % 100_003
                    )
                })
                .collect(),
        ),
        (
            "chinese",
            "漢字かな交じり文。的是不我一有大在人了中到資要以可這個你会".repeat(12_000),
        ),
        ("one letter", "a".repeat(1 << 20)),
        ("spaces", " ".repeat(1 << 20)),
        ("equals signs", "=".repeat(1 << 20)),
        (
            "random letters",
            (0..1u32 << 20)
                .map(|i| char::from(b'a' + (i.wrapping_mul(2_654_435_761) >> 24) as u8 % 26))
                .collect(),
        ),
    ] {
        let ours = median(|| counter.count(&text));
        let theirs = median(|| rival.count(text.as_str()) as u64);
        let megabytes = text.len() as f64 / 1e6;
        println!(
            "{name:>15}: spillgate {:7.1} MB/s, bpe-openai {:7.1} MB/s",
            megabytes / ours,
            megabytes / theirs
        );
    }
}

/// Returns the median duration, in seconds.
fn median(count: impl Fn() -> u64) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(count());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn log(bytes: usize) -> String {
    let line = |i: usize| {
        format!(
            "2026-11-21T10:{:02}:{:02}Z INFO worker-{} [req={:08x}] GET /api/v1/items/{} 200 {}ms\n",
            i / 60 % 60,
            i % 60,
            i % 17,
            i * 2_654_435_761 % 0xffff_ffff,
            i * 7919 % 100_003,
            i % 997
        )
    };
    let mut text: String = (0..bytes / 80).map(line).collect();
    text.truncate(bytes);
    text
}
