//! Measures how fast a large output is divided into chunks.
//!
//! `plan_bench [MEGABYTES]` creates a log and a JSON document of that size (100 MB by default) in a
//! store in memory, plans the chunks of both, and prints one JSON object per line with the times.

#![allow(
    clippy::print_stdout,
    reason = "a bench whose answer is what it prints"
)]

use std::error::Error;
use std::time::Instant;

use serde_json::json;
use spillgate_artifact::{ContentKind, HandleForm, Layout};
use spillgate_extract::plan_chunks;
use spillgate_lookup::Artifact;
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, MemoryStore, Part};
use spillgate_text::{Indexer, JsonLayout, Tokenizer};

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes = std::env::args().nth(1);
    let megabytes = megabytes.map_or(Ok(100), |given| given.parse::<usize>())?;
    let bytes = megabytes << 20;
    let counter = Tokenizer::O200kBase.counter();
    let log = spillgate_testkit::log(bytes / 66);
    let log = stored(log.as_bytes(), ContentKind::Log, Layout::AsIs)?;
    let mut text = Vec::new();
    let json = spillgate_testkit::records(bytes / 200);
    JsonLayout::default().feed(json.as_bytes(), &mut text)?;
    let json = stored(&text, ContentKind::Json, Layout::Json)?;
    for (name, artifact) in [("log", &log), ("json", &json)] {
        for tokens in [8000, 100_000] {
            let mut took = Vec::new();
            let mut chunks = 0;
            for _ in 0..RUNS {
                let start = Instant::now();
                chunks = plan_chunks(artifact, tokens, &*counter)?;
                took.push(start.elapsed());
            }
            took.sort_unstable();
            let megabytes = artifact.view().bytes() as f64 / 1e6;
            let rate = megabytes / took[RUNS / 2].as_secs_f64();
            let answer = json!({
                "kind": name,
                "megabytes": megabytes,
                "chunk_tokens": tokens,
                "chunks": chunks,
                "seconds": took[RUNS / 2].as_secs_f64(),
                "mb_per_s": rate,
            });
            println!("{answer}");
        }
    }
    Ok(())
}

fn stored(text: &[u8], kind: ContentKind, layout: Layout) -> Result<Artifact, Box<dyn Error>> {
    let store = MemoryStore::default();
    let mut indexer = Indexer::as_is(layout);
    indexer.feed(text);
    let mut facts = facts_of(text);
    facts.stats.kind = kind;
    facts.view.layout = layout;
    let mut draft = store.draft()?;
    draft.write(Part::Raw, text)?;
    let receipt = draft.commit(facts, &indexer.finish().to_bytes(), HandleForm::Short)?;
    Ok(Artifact::open(store.open(receipt.handle())?)?)
}
