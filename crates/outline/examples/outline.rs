//! Prints the outline of a file and the time that it took.
//!
//! `outline FILE [--max-tokens N] [--runs N]` stores the file like a result, prints its
//! outline within a budget and, as the last line, the figures:
//! `{"kind":…,"bytes":N,"view_bytes":N,"seconds":S,"mb_per_s":R}`. The time is that of the outline
//! alone, the best of all runs. The speed refers to bytes of the view. `benches/outline.py` calls
//! this program.

#![allow(
    clippy::print_stdout,
    reason = "a bench whose answer is what it prints"
)]

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use spillgate_artifact::{Origin, SystemClock, TokenBudget};
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy};
use spillgate_outline::{DEFAULT_TOKENS, outline, within};
use spillgate_store::{FileStore, Lifetime};
use spillgate_text::Tokenizer;

const USAGE: &str = "usage: outline FILE [--max-tokens N] [--runs N]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or(USAGE)?;
    let (mut max_tokens, mut runs) = (DEFAULT_TOKENS, 3);
    while let Some(option) = arguments.next() {
        let value: u64 = arguments.next().ok_or(USAGE)?.parse()?;
        match option.as_str() {
            "--max-tokens" => max_tokens = value,
            "--runs" => runs = value,
            _ => return Err(USAGE.into()),
        }
    }
    let scratch = tempfile::tempdir()?;
    run(scratch.path(), &file, TokenBudget::new(max_tokens), runs)
}

fn run(base: &Path, file: &str, budget: TokenBudget, runs: u64) -> Result<(), Box<dyn Error>> {
    let store = FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock));
    let offloader = Offloader::new(
        Arc::new(store),
        Policy::default(),
        Tokenizer::O200kBase.counter(),
        Audience::default(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    );
    let origin = Origin::tool("outline");
    let outcome = offloader.stream(origin, &mut File::open(file)?, &mut |_| {})?;
    let Outcome::Offloaded(offloaded) = outcome else {
        return Err("it is so small that it is shown as it is".into());
    };
    let artifact = offloader.artifact(offloaded.receipt.handle())?;
    let facts = &artifact.manifest().facts;
    let (mut best, mut lines) = (f64::INFINITY, Vec::new());
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        lines = outline(
            artifact.view(),
            &facts.view,
            facts.stats.kind,
            facts.stats.lines,
            facts.has_failed(),
        )?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    for line in within(&lines, budget, &**offloader.counter()) {
        println!("{line}");
    }
    let (kind, bytes) = (facts.stats.kind, artifact.view().bytes());
    println!(
        "{{\"kind\":\"{kind}\",\"bytes\":{},\"view_bytes\":{bytes},\"seconds\":{best:.6},\"mb_per_s\":{:.0}}}",
        facts.stats.bytes,
        bytes as f64 / best / 1e6
    );
    Ok(())
}
