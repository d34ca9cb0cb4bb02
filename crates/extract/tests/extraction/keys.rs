//! Tests that a key is never shown, whatever a server does with it.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;
use spillgate_extract::{Asked as Question, ExtractionSettings, Extractor, Mode, NoWatch};
use spillgate_llm::{ChatModel, Secrets};
use spillgate_offload::{FileLedger, Offloader, Policy, Profile, Rule};
use spillgate_retrieval::audience;
use spillgate_store::MemoryStore;
use spillgate_testkit::cassette::{Recorder, Replayer};
use spillgate_testkit::{StoppedClock, log};
use wiremock::ResponseTemplate;

use super::provider::{Asked, Dialect, KEY, KEY_START, Keys, Provider, Wire, catalogue, model};
use super::stored;

/// Everything that was written during a test, by any component.
#[derive(Debug, Clone, Default)]
struct Seen(Arc<Mutex<Vec<u8>>>);

impl io::Write for Seen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seen {
    fn add(&self, what: &str, text: &str) {
        let mut all = self.0.lock().unwrap();
        all.extend_from_slice(format!("\n== {what}\n{text}\n").as_bytes());
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// A server that repeats the key in every possible part of its response.
fn echo(asked: &Asked) -> ResponseTemplate {
    let key = &asked.key;
    let error = json!({"error": {"message": format!("no {key} here"), "type": key, "code": key}});
    let head = |status| ResponseTemplate::new(status).insert_header("x-request-id", key.as_str());
    match asked.number % 9 {
        0 => head(429)
            .insert_header("retry-after", "0")
            .set_body_json(error),
        1 => head(500).set_body_string(format!("<html>{key}</html>")),
        2 => head(200).set_body_raw(format!("{{\"choices\": \"{key}"), "application/json"),
        3 => head(200).set_body_raw(format!("{}{key}", "x".repeat(280)), "application/json"),
        4 => head(200).set_body_raw(
            format!("data: {{\"error\": {{\"message\": \"{key}\"}}}}\n\n"),
            "text/event-stream",
        ),
        5 => head(302).insert_header("location", key.as_str()),
        6 => asked.stops(&format!("said {key}"), key, key),
        7 => asked.answers(&format!("said {key}")),
        _ => head(401).set_body_json(error),
    }
}

/// Runs `work`, and collects in `seen` everything that this thread and all other threads trace in
/// the meantime.
fn traced(seen: &Seen, work: impl Future<Output = ()>) {
    let writer = seen.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let dispatch = tracing::Dispatch::new(subscriber);
    let here = tracing::dispatcher::set_default(&dispatch);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // The guard is forgotten, so that the dispatcher stays set for the lifetime of the thread.
        .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&dispatch)))
        .build()
        .unwrap();
    runtime.block_on(work);
    drop(here);
}

fn offloader(ledger: &Path) -> Offloader {
    let rule = Rule {
        profile: Some(Profile::Handle),
        max_bytes: Some(400),
        ..Rule::default()
    };
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::new(rule, [], []).unwrap(),
        spillgate_text::Tokenizer::O200kBase.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(FileLedger::new(ledger)),
    )
}

/// Extracts in each mode until the server has shown all its behaviours.
async fn faults(seen: &Seen, dialect: Dialect, base: &Path) {
    let provider = Provider::start(dialect, Wire::Http(Arc::new(echo))).await;
    let catalogue = catalogue(dialect, &[&provider.url, &provider.url], 0);
    let offloader = offloader(&base.join("ledger"));
    let handle = stored(&offloader, log(300).as_bytes());
    let cassette = base.join("cassette");
    let recorder = Recorder::new(model(&catalogue), &cassette).unwrap();
    seen.add(
        "debug",
        &format!("{recorder:?} {catalogue:?} {offloader:?}"),
    );
    let extractor = Extractor::new(
        offloader,
        Some(Arc::new(recorder)),
        ExtractionSettings::default(),
    );
    seen.add("debug", &format!("{extractor:?}"));
    for mode in [Mode::FullChunked, Mode::ReadGrep].repeat(6) {
        let question = Question {
            handle,
            extract: "the error".to_owned(),
            mode,
        };
        let extraction = extractor.extract(&question, &NoWatch).await.unwrap();
        seen.add(
            "extraction",
            &format!("{extraction:?}\n{}", extraction.text()),
        );
        seen.add("trace", &serde_json::to_string(&extraction.trace).unwrap());
    }
    assert!(provider.asked() > 18, "{}", provider.asked());
    for file in ["cassette", "ledger"] {
        seen.add(file, &std::fs::read_to_string(base.join(file)).unwrap());
    }
    seen.add(
        "debug",
        &format!("{:?}", Replayer::open(&cassette).unwrap()),
    );
}

#[test]
fn a_key_is_shown_to_nobody_but_the_provider() {
    let seen = Seen::default();
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let base = tempfile::tempdir().unwrap();
        traced(&seen, faults(&seen, dialect, base.path()));
    }
    wrong_settings(&seen);
    let text = seen.text();
    for expected in [
        "an extraction starts",
        "a request to a model failed",
        "hyper",
        "[key]",
        "HTTP 429",
    ] {
        assert!(text.contains(expected), "nothing was seen of {expected}");
    }
    let shown = text.lines().find(|line| line.contains(KEY_START));
    assert_eq!(shown, None);
}

/// A key with a newline, which cannot be sent. The error must not contain the key.
struct Broken;

impl Secrets for Broken {
    fn variable(&self, _: &str) -> Option<String> {
        Some(format!("{KEY}\n{KEY}"))
    }
}

fn wrong_settings(seen: &Seen) {
    let good = catalogue(Dialect::OpenAi, &["http://127.0.0.1:1"], 0);
    let mut urls = good.clone();
    let provider = urls.providers.get_mut("p0").unwrap();
    provider.base_url = Some(format!("http://me:{KEY}@127.0.0.1:1/v1?key={KEY}"));
    seen.add(
        "debug",
        &format!("{urls:?} {}", serde_json::to_string(&urls).unwrap()),
    );
    for (catalogue, secrets) in [(&good, &Broken as &dyn Secrets), (&urls, &Keys)] {
        let target = "p0/reader".parse().unwrap();
        let error = catalogue
            .model(&[target], secrets)
            .map(|model| model.target());
        let error = error.unwrap_err();
        seen.add("error", &format!("{error} {error:?}"));
    }
}

/// Tests that a recorded extraction can be replayed without a network and gives the same text.
#[tokio::test]
async fn a_recorded_extraction_is_played_again() {
    let script = |asked: &Asked| match asked.body.contains("\"tools\"") {
        true if asked.number < 1 => asked.reads(json!({"start": 499, "lines": 3})),
        true => asked.answers("\"code=E4217\" [L501]"),
        false if asked.body.contains("CHUNK OUTPUTS") => asked.answers("put together"),
        false => asked.answers("`INFO` somewhere"),
    };
    for mode in [Mode::FullChunked, Mode::ReadGrep] {
        let base = tempfile::tempdir().unwrap();
        let cassette = base.path().join("cassette");
        let provider = Provider::start(Dialect::Anthropic, Wire::Http(Arc::new(script))).await;
        let live = model(&catalogue(Dialect::Anthropic, &[&provider.url], 0));
        let offloader = offloader(&base.path().join("ledger"));
        let handle = stored(&offloader, log(600).as_bytes());
        let settings = ExtractionSettings {
            chunk_tokens: 4000,
            ..ExtractionSettings::default()
        };
        let ask = |model: Arc<dyn ChatModel>| {
            let extractor = Extractor::new(offloader.clone(), Some(model), settings.clone());
            let question = Question {
                handle,
                extract: "the error".to_owned(),
                mode,
            };
            async move { extractor.extract(&question, &NoWatch).await.unwrap() }
        };
        let recorded = ask(Arc::new(Recorder::new(live, &cassette).unwrap())).await;
        let asked = provider.asked();
        let replayer = Arc::new(Replayer::open(&cassette).unwrap());
        let played = ask(replayer.clone()).await;
        assert_eq!(played.text(), recorded.text());
        assert_eq!(
            (played.calls, played.usage),
            (recorded.calls, recorded.usage)
        );
        assert_eq!((replayer.left(), provider.asked()), (0, asked));
        // A request that was not recorded results in an error.
        let again = ask(replayer).await;
        assert!(again.body.contains("is on the cassette"), "{}", again.body);
    }
}
