//! Measures the time to the first page of matches in a running process.
//!
//! `first_page --store DIR HANDLE PATTERN [RUNS]` opens a stored artifact again for each run, finds
//! the first 50 matching lines and prints the median duration of all runs as
//! `{"median_us":N,"matches":N}`. `benches/run.sh` calls it.

#![allow(
    clippy::print_stdout,
    reason = "a bench whose answer is what it prints"
)]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use spillgate_artifact::{Handle, SystemClock, TokenBudget};
use spillgate_lookup::{Artifact, GrepQuery, grep};
use spillgate_store::{ArtifactStore, FileStore, Lifetime};
use spillgate_text::Tokenizer;

/// Number of runs. It is odd, so that one of the runs is the median.
const RUNS: usize = 51;

/// Token budget of a page on the command line. The size of the page in bytes already shows that it
/// fits, so no tokenizer vocabulary is loaded.
const BUDGET: u64 = 10_000;

const USAGE: &str = "usage: first_page --store DIR HANDLE PATTERN [RUNS]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (base, handle, pattern, runs) = match arguments.as_slice() {
        [option, base, handle, pattern, rest @ ..] if option == "--store" => {
            (base, handle, pattern, rest.first())
        }
        _ => return Err(USAGE.into()),
    };
    let handle: Handle = handle.parse()?;
    let runs = runs.map_or(Ok(RUNS), |runs| runs.parse())?;
    let store = FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock));
    let counter = Tokenizer::O200kBase.counter();
    let query = GrepQuery {
        max_matches: 50,
        count_all: false,
        ..GrepQuery::new(pattern, TokenBudget::new(BUDGET))
    };
    let (mut took, mut matches) = (Vec::new(), 0);
    for _ in 0..=runs {
        let start = Instant::now();
        let artifact = Artifact::open(store.open(handle)?)?;
        let page = grep(&artifact, &query, &*counter)?;
        took.push(start.elapsed().as_micros());
        matches = page.matches.len();
    }
    took.remove(0); // the first run warms the caches
    took.sort_unstable();
    let median = took.get(took.len() / 2).ok_or("no runs")?;
    println!("{{\"median_us\":{median},\"matches\":{matches}}}");
    Ok(())
}
