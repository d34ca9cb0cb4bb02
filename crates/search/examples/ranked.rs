//! Measures the time of a ranked search inside a running process.
//!
//! `ranked --store DIR HANDLE WORDS [RUNS]` opens a stored artifact again for each run and searches
//! it with a budget of 1,000 tokens. It prints the time of the first run, the median of the others
//! and the number of passages as `{"first_us":N,"median_us":N,"passages":N}`. The vocabulary is
//! loaded before the first run, because any search has to count its page. `benches/search.py` calls
//! it.

#![allow(
    clippy::print_stdout,
    reason = "a bench whose answer is what it prints"
)]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use spillgate_artifact::{Handle, SystemClock, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_search::{SearchQuery, search};
use spillgate_store::{ArtifactStore, FileStore, Lifetime};
use spillgate_text::Tokenizer;

/// Odd, so that the median is one of the runs.
const RUNS: usize = 7;
const BUDGET: u64 = 1000;
const USAGE: &str = "usage: ranked --store DIR HANDLE WORDS [RUNS]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (base, handle, words, runs) = match arguments.as_slice() {
        [option, base, handle, words, rest @ ..] if option == "--store" => {
            (base, handle, words, rest.first())
        }
        _ => return Err(USAGE.into()),
    };
    let handle: Handle = handle.parse()?;
    let runs = runs.map_or(Ok(RUNS), |runs| runs.parse())?;
    let store = FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock));
    let counter = Tokenizer::O200kBase.counter();
    let query = SearchQuery::new(words, TokenBudget::new(BUDGET));
    let (mut took, mut passages) = (Vec::new(), 0);
    for _ in 0..=runs {
        let start = Instant::now();
        let artifact = Artifact::open(store.open(handle)?)?;
        let page = search(&artifact, &query, &*counter)?;
        took.push(start.elapsed().as_micros());
        passages = page.passages.len();
    }
    let first = took.remove(0);
    took.sort_unstable();
    let median = took.get(took.len() / 2).ok_or("no runs")?;
    println!("{{\"first_us\":{first},\"median_us\":{median},\"passages\":{passages}}}");
    Ok(())
}
