//! Tests extraction with scripted models: the requests of each strategy, and the result.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cancel;
mod decisions;
mod faults;
mod injection;
mod keys;
mod provider;
mod redaction;
mod sizes;
mod strategies;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use spillgate_artifact::{Handle, HandleForm, Origin};
use spillgate_conversation::{Nonce, Nonces};
use spillgate_extract::{Asked, Extraction, ExtractionSettings, Extractor, Mode, NoWatch};
use spillgate_llm::{Reply, Request, Scripted};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_retrieval::audience;
use spillgate_store::conformance::facts_of;
use spillgate_store::{MemoryStore, Part};
use spillgate_testkit::{StoppedClock, in_slot};
use spillgate_text::Tokenizer;

/// A source of nonces that counts up, so that tests know the nonces in advance.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Nonces for Counting {
    fn fresh(&self) -> Nonce {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        Nonce::of(bytes)
    }
}

/// An offloader that stores everything larger than 400 bytes.
fn offloader() -> Offloader {
    let rule = Rule {
        profile: Some(Profile::Handle),
        max_bytes: Some(400),
        ..Rule::default()
    };
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::O200kBase.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    )
}

fn origin() -> Origin {
    Origin {
        arguments: Some(r#"{"query":"worker"}"#.to_owned()),
        ..Origin::tool("fetch_log")
    }
}

/// Stores an oversized output.
fn stored(offloader: &Offloader, bytes: &[u8]) -> Handle {
    let mut reader = bytes;
    match offloader.stream(origin(), &mut reader, &mut |_| {}) {
        Ok(Outcome::Offloaded(offloaded)) => offloaded.receipt.handle(),
        other => panic!("not stored: {other:?}"),
    }
}

/// Stores an empty output, although no rule would store one.
fn stored_empty(offloader: &Offloader) -> Handle {
    let mut draft = offloader.store().draft().unwrap();
    draft.write(Part::Raw, b"").unwrap();
    let index = spillgate_text::Indexer::as_is(spillgate_artifact::Layout::AsIs).finish();
    let receipt = draft
        .commit(facts_of(b""), &index.to_bytes(), HandleForm::Short)
        .unwrap();
    receipt.handle()
}

/// Returns a reply with an answer in the slot of its request.
fn says(request: &Request, text: &str) -> Reply {
    Scripted::says(in_slot(&request.system, text))
}

/// Returns the first message of a request. For a chunk, it contains the data.
fn data(request: &Request) -> String {
    match &request.messages[0] {
        spillgate_llm::Message::User(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// A model that answers each chunk as a good model would: with the line that contains `needle`,
/// quoted and cited.
fn oracle(needle: &'static str) -> Scripted {
    Scripted::new(move |seen| {
        let request = &seen.request;
        if request.system.contains("CHUNK OUTPUTS") {
            return Ok(says(request, "put together"));
        }
        let data = data(request);
        let line = data.lines().find(|line| line.contains(needle));
        let answer = line.and_then(|line| line.split_once('|'));
        Ok(says(
            request,
            &match answer {
                Some((number, text)) => format!("`{}` [L{number}]", text.trim()),
                None => "NO RELEVANT DATA FOUND\nlines about workers".to_owned(),
            },
        ))
    })
}

/// Asks `model` about an output and returns the extraction.
async fn asked(
    offloader: &Offloader,
    handle: Handle,
    model: Option<Arc<Scripted>>,
    settings: ExtractionSettings,
    mode: Mode,
    extract: &str,
) -> Extraction {
    let model = model.map(|model| model as Arc<dyn spillgate_llm::ChatModel>);
    let extractor = Extractor::new(offloader.clone(), model, settings)
        .with_nonces(Arc::new(Counting::default()));
    let asked = Asked {
        handle,
        extract: extract.to_owned(),
        mode,
    };
    extractor.extract(&asked, &NoWatch).await.unwrap()
}
