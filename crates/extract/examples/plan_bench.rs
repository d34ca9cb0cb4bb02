//! How fast is a large output cut into chunks?
//!
//! `plan_bench [MEGABYTES]` makes a log and a JSON document of that size (100) in a
//! store in memory and prints how many megabytes of view are planned a second, in the
//! best of five runs: a shared machine only makes it slower.

#![allow(
    clippy::print_stdout,
    reason = "a bench whose answer is what it prints"
)]

use std::error::Error;
use std::time::{Duration, Instant};

use spillgate_artifact::{ContentKind, Layout};
use spillgate_extract::plan_chunks;
use spillgate_lookup::Artifact;
use spillgate_measure::Tokenizer;
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, MemoryStore, Part};
use spillgate_view::{Indexer, JsonLayout};

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes = std::env::args().nth(1);
    let megabytes = megabytes.map_or(Ok(100), |given| given.parse::<usize>())?;
    let bytes = megabytes << 20;
    let counter = Tokenizer::O200kBase.counter();
    counter.prepare();
    let log = spillgate_testkit::log(bytes / 66);
    let log = stored(log.as_bytes(), ContentKind::Log, Layout::AsIs)?;
    let mut text = Vec::new();
    let json = spillgate_testkit::records(bytes / 200);
    JsonLayout::default().feed(json.as_bytes(), &mut text)?;
    let json = stored(&text, ContentKind::Json, Layout::Json)?;
    for (name, artifact) in [("log", &log), ("json", &json)] {
        for tokens in [8000, 100_000] {
            let (mut best, mut chunks) = (Duration::MAX, 0);
            for _ in 0..RUNS {
                let start = Instant::now();
                chunks = plan_chunks(artifact, tokens, &*counter)?;
                best = best.min(start.elapsed());
            }
            let megabytes = artifact.view().bytes() as f64 / 1e6;
            let rate = megabytes / best.as_secs_f64();
            println!("{name} {megabytes:.0} MB, {tokens} tokens: {chunks} chunks, {rate:.0} MB/s");
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
    let receipt = draft.commit(facts, &indexer.finish().to_bytes())?;
    Ok(Artifact::open(store.open(receipt.handle())?)?)
}
