//! Tests of calls that end early, because the store's files are truncated while they are read,
//! because calls take too long, or because callers stop waiting.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_artifact::{Handle, Interrupt, Manifest, Origin, Timestamp, TokenBudget};
use spillgate_extract::{ExtractionSettings, Extractor, NoWatch};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy};
use spillgate_query::{Child, Engine};
use spillgate_retrieval::audience;
use spillgate_retrieval::{CONTINUE, GREP, QUERY, READ, RetrievalTools, SEARCH};
use spillgate_store::{
    ArtifactStore, Draft, FileStore, Gone, Lifetime, Listed, StoreError, Stored,
};
use spillgate_testkit::{StoppedClock, log, records};
use spillgate_text::Tokenizer;
use tempfile::TempDir;

/// A store whose files are truncated as soon as they are opened.
#[derive(Debug)]
struct Cutting {
    store: FileStore,
    /// Bytes that remain of each file; `None` leaves the files unchanged.
    left: Option<u64>,
}

impl ArtifactStore for Cutting {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        self.store.draft()
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        let opened = self.store.open(handle)?;
        for path in bodies(self.store.base()) {
            if let Some(left) = self.left {
                let file = File::options().write(true).open(path).unwrap();
                file.set_len(left).unwrap();
            }
        }
        Ok(opened)
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        self.store.manifest(handle)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        self.store.list()
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        self.store.remove(handle, why, at)
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        self.store.pin(handle, pinned)
    }
}

/// Returns the files below a store's base directory that contain raw bytes or views.
fn bodies(base: &Path) -> Vec<PathBuf> {
    let sessions = fs::read_dir(base)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = sessions.filter(|path| path.is_dir()).flat_map(|session| {
        let entries = fs::read_dir(session).unwrap();
        entries.map(|entry| entry.unwrap().path())
    });
    let is_body = |path: &PathBuf| path.extension().is_none_or(|end| end == "raw");
    files.filter(is_body).collect()
}

/// Returns the tools for a store with one output, and the handle of the output.
fn house(text: &str, left: Option<u64>) -> (TempDir, RetrievalTools, Handle) {
    let dir = TempDir::new().unwrap();
    let clock = Arc::new(StoppedClock::default());
    let over = |left| {
        let store = FileStore::new(dir.path(), Lifetime::Durable, clock.clone());
        Offloader::new(
            Arc::new(Cutting { store, left }),
            Policy::default(),
            Tokenizer::Heuristic.counter(),
            audience::usual_tools(),
            clock.clone(),
            Arc::new(NoLedger),
        )
    };
    let mut bytes = text.as_bytes();
    let outcome = over(None).stream(Origin::tool("cat"), &mut bytes, &mut |_| {});
    let Outcome::Offloaded(stored) = outcome.unwrap() else {
        panic!("it is stored");
    };
    let offloader = over(left);
    let tools = RetrievalTools {
        extractor: Some(Extractor::new(
            offloader.clone(),
            None,
            ExtractionSettings::default(),
        )),
        offloader,
        page: TokenBudget::new(2500),
        // The child process ends without output, as it does if it cannot read.
        engine: Engine::new(Child {
            program: "false".into(),
            arguments: Vec::new(),
        }),
        session: None,
    };
    (dir, tools, stored.receipt.handle())
}

fn text(result: &str) -> (String, bool) {
    let result: Value = serde_json::from_str(result).unwrap();
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["isError"] == true)
}

/// Returns a call of each tool that reads to the end of the text.
fn calls(handle: &str) -> [(&'static str, Value); 5] {
    [
        (READ, json!({"handle": handle, "tail": true})),
        (GREP, json!({"handle": handle, "pattern": "nowhere at all"})),
        (SEARCH, json!({"handle": handle, "words": "nowhere"})),
        (QUERY, json!({"handle": handle, "filter": "."})),
        (CONTINUE, json!({"tool_call_id": handle, "offset": 20_000})),
    ]
}

#[test]
fn a_file_that_is_shortened_ends_each_call() {
    for output in [log(60_000), records(20_000)] {
        for left in [0, 1, 5_000] {
            for at in 0..5 {
                // Each call has its own store, because the files remain truncated.
                let (_dir, tools, handle) = house(&output, Some(left));
                let (tool, arguments) = &calls(&handle.to_string())[at];
                let arguments = serde_json::value::to_raw_value(arguments).unwrap();
                let answer = tools.call(tool, Some(&arguments), &Interrupt::default());
                let (said, is_error) = text(&answer);
                assert!(is_error, "{tool}: {said}");
                assert!(
                    said.contains("shortened while it was read"),
                    "{tool}: {said}"
                );
            }
        }
    }
}

#[test]
fn outlines_and_extractions_say_so_too() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for output in [log(60_000), records(20_000)] {
        let (_dir, tools, handle) = house(&output, Some(5_000));
        let outline = tools.offloader.outline(handle, TokenBudget::new(400));
        let error = outline.unwrap_err().to_string();
        assert!(error.contains("shortened while it was read"), "{error}");
        for mode in ["search", "truncate"] {
            let (_dir, tools, handle) = house(&output, Some(5_000));
            let asked = json!({"handle": handle.to_string(), "extract": "the disk", "mode": mode});
            let asked = serde_json::value::to_raw_value(&asked).unwrap();
            let answer = runtime.block_on(tools.tool_output(Some(&asked), &NoWatch));
            let (said, is_error) = text(&answer);
            assert!(is_error, "{mode}: {said}");
            assert!(said.contains("shortened"), "{mode}: {said}");
        }
    }
}

#[test]
fn calls_end_when_they_must() {
    let (_dir, tools, handle) = house(&log(60_000), None);
    let gone = Interrupt::default();
    gone.cancel();
    let at_once = tools.offloader.clone().with_lookup_timeout(Duration::ZERO);
    let hurried = RetrievalTools {
        offloader: at_once,
        ..tools.clone()
    };
    for (tool, arguments) in calls(&handle.to_string()) {
        let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
        let cancelled = tools.call(tool, Some(&arguments), &gone);
        let late = hurried.call(tool, Some(&arguments), &Interrupt::default());
        for (answer, why) in [
            (cancelled, "it was cancelled"),
            (
                late,
                "it took longer than the 0 s it may take. Ask for less at a time",
            ),
        ] {
            let (said, is_error) = text(&answer);
            assert!(is_error, "{tool}: {said}");
            let told = format!("the look-up was ended: {why}");
            assert!(said.contains(&told), "{tool}: {said}");
        }
    }
}

#[test]
fn a_pattern_that_would_take_all_memory_is_refused() {
    let (_dir, tools, handle) = house(&log(600), None);
    let asked = json!({"handle": handle.to_string(), "pattern": "(?:a{0,1000}){0,1000}"});
    let asked = serde_json::value::to_raw_value(&asked).unwrap();
    let (said, is_error) = text(&tools.call(GREP, Some(&asked), &Interrupt::default()));
    assert!(is_error);
    assert_snapshot!(said, @"the pattern is too large: compiled, it takes more than 16 MiB. Use smaller repetitions");
}
