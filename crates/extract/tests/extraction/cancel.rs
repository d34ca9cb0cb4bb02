//! Tests that dropping an extraction ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use spillgate_extract::{Asked, ExtractionSettings, Extractor, Mode, NoWatch};
use spillgate_llm::Scripted;
use spillgate_testkit::log;

use super::{asked, offloader, oracle, says, stored};

#[tokio::test(start_paused = true)]
async fn nothing_goes_on_after_it() {
    let offloader = offloader();
    let handle = stored(&offloader, log(3000).as_bytes());
    let done = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&done);
    let model = Arc::new(
        Scripted::new(move |seen| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(says(&seen.request, "NO RELEVANT DATA FOUND"))
        })
        .with_latency(Duration::from_secs(60)),
    );
    let settings = ExtractionSettings {
        chunk_tokens: 2000,
        ..ExtractionSettings::default()
    };
    let extractor = Extractor::new(offloader.clone(), Some(model.clone()), settings.clone());
    let question = Asked {
        handle,
        extract: "the error".to_owned(),
        mode: Mode::FullChunked,
    };
    let cancelled = tokio::time::timeout(
        Duration::from_secs(90),
        extractor.extract(&question, &NoWatch),
    );
    assert!(cancelled.await.is_err());
    let begun = model.seen().len();
    assert_eq!(done.load(Ordering::Relaxed), 4, "one round was answered");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(model.seen().len(), begun, "no call after the end");
    assert_eq!(done.load(Ordering::Relaxed), 4);
    // The output is still stored and can be read.
    let model = Some(Arc::new(oracle("E4217")));
    let found = asked(
        &offloader,
        handle,
        model,
        settings,
        Mode::FullChunked,
        "the error",
    )
    .await;
    assert!(found.body.contains("E4217"));
}
