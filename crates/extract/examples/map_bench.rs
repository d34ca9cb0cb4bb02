//! Measures how long it takes to read an output in chunks, apart from the time of the model.
//!
//! Prints one JSON object with the calls per second for a model that takes no time, and the
//! speed-up of reading four chunks in parallel with a model that takes 50 ms. `benches/run.sh
//! --only extract` calls it.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark whose answer is what it prints"
)]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use spillgate_artifact::{Handle, Origin, SystemClock};
use spillgate_extract::{Asked, ExtractionSettings, Extractor, Mode, NoWatch};
use spillgate_llm::Scripted;
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_store::MemoryStore;
use spillgate_testkit::{in_slot, log};
use spillgate_text::Tokenizer;

/// Number of chunks with which the speed-up is measured. It is so large that an incomplete last
/// round of parallel requests matters little.
const CHUNKS: u64 = 80;

fn main() -> Result<(), Box<dyn Error>> {
    let offloader = offloader();
    // The tokenizer's vocabulary is loaded once per process. It is loaded now, so that the first
    // measured call has no delay.
    let text = log(60_000);
    let handle = stored(&offloader, &text)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let run = |tokens, parallel, most, latency| {
        runtime.block_on(seconds(&offloader, handle, tokens, parallel, most, latency))
    };
    let (calls, took) = run(1000, 4, 10_000, 0)?;
    let small = run(1000, 1, CHUNKS, 50)?;
    let at_once = run(1000, 4, CHUNKS, 50)?;
    let answer = json!({
        "calls": calls,
        "calls_per_second": calls as f64 / took,
        "megabytes": text.len() as f64 / 1e6,
        "seconds": took,
        "one_at_a_time_s": small.1,
        "four_at_once_s": at_once.1,
        "speed_up": small.1 / at_once.1,
    });
    println!("{answer}");
    Ok(())
}

/// Returns the number of calls, and the duration of the whole extraction in seconds.
async fn seconds(
    offloader: &Offloader,
    handle: Handle,
    chunk_tokens: u64,
    parallel: u64,
    max_chunks_hard: u64,
    latency: u64,
) -> Result<(u64, f64), Box<dyn Error>> {
    let model = Scripted::new(|seen| {
        let text = in_slot(&seen.request.system, "NO RELEVANT DATA FOUND");
        Ok(Scripted::says(text))
    });
    // A model with a small window keeps the chunks small. With a large window, the extraction
    // would use fewer, larger chunks.
    let model = model
        .with_limits(3000, 500)
        .with_latency(Duration::from_millis(latency));
    let settings = ExtractionSettings {
        chunk_tokens,
        parallel,
        max_chunks_hard,
        ..ExtractionSettings::default()
    };
    let extractor = Extractor::new(offloader.clone(), Some(Arc::new(model)), settings);
    let asked = Asked {
        handle,
        extract: "the code of the error".to_owned(),
        mode: Mode::FullChunked,
    };
    let began = Instant::now();
    let found = extractor.extract(&asked, &NoWatch).await?;
    if found.coverage.failed_chunks > 0 || found.calls == 0 {
        return Err(format!("wrong: {:?}", found.coverage).into());
    }
    Ok((found.calls, began.elapsed().as_secs_f64()))
}

fn offloader() -> Offloader {
    let everything = Rule {
        max_bytes: Some(1),
        profile: Some(Profile::Handle),
        ..Rule::default()
    };
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::default().under(everything),
        Tokenizer::O200kBase.counter(),
        Audience::default(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    )
}

fn stored(offloader: &Offloader, text: &str) -> Result<Handle, Box<dyn Error>> {
    let mut reader = text.as_bytes();
    match offloader.stream(Origin::tool("bench"), &mut reader, &mut |_| {})? {
        Outcome::Offloaded(offloaded) => Ok(offloaded.receipt.handle()),
        _ => Err("the log was not stored".into()),
    }
}
