//! The whole pipeline in memory: the guarantees of every message.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use proptest::prelude::*;
use spillgate_artifact::{
    ByteSource, Clock, Ending, Facts, Handle, HandleForm, Manifest, Origin, Reason, SessionId,
    TextPart, Timestamp, TokenBudget, Word,
};
use spillgate_offload::{
    Choice, History, JsonResult, Ledger, LedgerEntry, NoLedger, Offloader, Outcome, PendingResult,
    Policy, Profile, RECOVERY_TOKENS, Rule, Spent,
};
use spillgate_retrieval::audience;
use spillgate_store::{
    ArtifactStore, Candidate, Draft, Gone, Listed, MemoryStore, Part, Receipt, StoreError, Stored,
    Survey, Unreadable,
};
use spillgate_testkit::{StoppedClock, log, noise, records};
use spillgate_text::Tokenizer;

fn offloader(store: Arc<dyn ArtifactStore>, rule: Rule, ledger: Arc<dyn Ledger>) -> Offloader {
    Offloader::new(
        store,
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::O200kBase.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        ledger,
    )
}

fn offer(offloader: &Offloader, bytes: &[u8]) -> Outcome {
    let mut reader = bytes;
    offloader
        .stream(Origin::tool("tool"), &mut reader, &mut |_| {})
        .unwrap()
}

/// A store that works up to one point and then fails.
#[derive(Debug)]
struct Failing {
    inner: MemoryStore,
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    Draft,
    /// A write, once this many bytes have been written.
    Write(usize),
    Commit,
    Open,
}

#[derive(Debug)]
struct FailingDraft {
    inner: Box<dyn Draft>,
    at: At,
    written: usize,
}

fn failure() -> StoreError {
    StoreError::Full {
        path: "/secret/place".into(),
        source: std::io::ErrorKind::StorageFull.into(),
    }
}

#[deny(clippy::missing_trait_methods)]
impl ArtifactStore for Failing {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        if self.at == At::Draft {
            return Err(failure());
        }
        Ok(Box::new(FailingDraft {
            inner: self.inner.draft()?,
            at: self.at,
            written: 0,
        }))
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        match self.at {
            At::Open => Err(failure()),
            _ => self.inner.open(handle),
        }
    }

    fn peek(&self, handle: Handle) -> Result<Stored, StoreError> {
        match self.at {
            At::Open => Err(failure()),
            _ => self.inner.peek(handle),
        }
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        self.inner.manifest(handle)
    }

    fn receipt(&self, handle: Handle) -> Result<Receipt, StoreError> {
        self.inner.receipt(handle)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        self.inner.list()
    }

    fn survey(&self) -> Result<Survey, StoreError> {
        self.inner.survey()
    }

    fn newest(
        &self,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<Vec<Unreadable>, StoreError> {
        self.inner.newest(visit)
    }

    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        self.inner.candidates()
    }

    fn beginning_with(&self, beginning: &str) -> Result<Vec<Handle>, StoreError> {
        self.inner.beginning_with(beginning)
    }

    fn count(&self) -> Result<usize, StoreError> {
        self.inner.count()
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        self.inner.remove(handle, why, at)
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        self.inner.pin(handle, pinned)
    }

    fn in_session(&self, session: SessionId) -> Option<Arc<dyn ArtifactStore>> {
        self.inner.in_session(session)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Draft for FailingDraft {
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError> {
        self.written += bytes.len();
        match self.at {
            At::Write(limit) if self.written > limit => Err(failure()),
            _ => self.inner.write(part, bytes),
        }
    }

    fn complete(&mut self, part: Part) {
        self.inner.complete(part);
    }

    fn discard_view(&mut self) -> Result<(), StoreError> {
        self.inner.discard_view()
    }

    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError> {
        self.inner.read(part)
    }

    fn commit(
        self: Box<Self>,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Receipt, StoreError> {
        match self.at {
            At::Commit => Err(failure()),
            _ => self.inner.commit(facts, index, form),
        }
    }
}

#[test]
fn wherever_the_store_fails_no_handle_is_shown() {
    let inputs: [Vec<u8>; 4] = [
        log(3000).into(),
        log(40_000).into(),
        records(20_000).into(),
        "\x1b[1mbold\x1b[0m\n".repeat(60_000).into(),
    ];
    let places = [
        At::Draft,
        At::Write(0),
        At::Write(200_000),
        At::Write(400_000),
        At::Commit,
        At::Open,
    ];
    for (at, input) in places
        .iter()
        .flat_map(|at| inputs.iter().map(move |i| (at, i)))
    {
        let store = Arc::new(Failing {
            inner: MemoryStore::default(),
            at: *at,
        });
        let offloader = offloader(store, Rule::default(), Arc::new(NoLedger));
        let lost = match offer(&offloader, input) {
            Outcome::NotStored(lost) => lost,
            // The result is too small to reach the failure.
            Outcome::Offloaded(_) if matches!(at, At::Write(n) if *n >= input.len()) => continue,
            // A preview that says why a run failed does not open the stored artifact.
            Outcome::Offloaded(shown)
                if matches!(at, At::Open) && shown.shown.text().contains("failure:") =>
            {
                continue;
            }
            other => panic!("{at:?}: {other:?}"),
        };
        let text = lost.shown.text();
        assert!(!text.contains("stored whole as"), "{at:?}: {text}");
        assert!(!text.contains("/secret"), "{at:?}: {text}");
        assert!(
            text.contains("could not be stored: the disk is full"),
            "{at:?}: {text}"
        );
        assert!(
            lost.shown.tokens() <= 2500,
            "{at:?}: {}",
            lost.shown.tokens()
        );
        assert_eq!(lost.stats.bytes, input.len() as u64, "{at:?}");
    }
}

/// Records ledger entries as text.
#[derive(Debug, Default)]
struct Entries(Mutex<Vec<String>>);

impl Ledger for Entries {
    fn record(&self, entry: LedgerEntry) {
        let entry = serde_json::to_value(entry).unwrap();
        let told = [
            "exit",
            "server",
            "tool",
            "handle",
            "bytes_in",
            "tokens_in",
            "tokens_shown",
        ];
        let told = told.map(|field| entry[field].to_string());
        self.0.lock().unwrap().push(told.join(" "));
    }

    fn inline(&self, bytes: u64) {
        self.0.lock().unwrap().push(format!("inline {bytes}"));
    }
}

#[test]
fn every_exit_leaves_an_entry() {
    let ledger = Arc::new(Entries::default());
    let store = Arc::new(MemoryStore::default());
    let working = offloader(store, Rule::default(), Arc::clone(&ledger) as _);
    let failing = Arc::new(Failing {
        inner: MemoryStore::default(),
        at: At::Commit,
    });
    let failing = offloader(failing, Rule::default(), Arc::clone(&ledger) as _);
    let large = log(3000);
    let offered = |to: &Offloader, mut bytes: &[u8]| {
        let origin = Origin {
            server: Some("server".to_owned()),
            ..Origin::tool("tool")
        };
        to.stream(origin, &mut bytes, &mut |_| {}).unwrap()
    };
    offered(&working, b"small");
    let Outcome::Offloaded(stored) = offered(&working, large.as_bytes()) else {
        panic!("it does not fit");
    };
    offered(&failing, large.as_bytes());
    let handle = stored.receipt.handle();
    working.outline(handle, TokenBudget::new(200)).unwrap();
    working.extracted(handle, "an answer", true, Spent::default());
    working.listed(Some("server".to_owned()), "definitions");
    let entries = ledger.0.lock().unwrap().join("\n");
    // The token count of a handle varies from run to run.
    let shown = format!("\"count\":{}", stored.shown.tokens());
    let entries = entries.replace(&handle.to_string(), "HANDLE");
    let entries = entries.replace(&shown, "\"count\":\"as shown\"");
    insta::assert_snapshot!(entries, @r#"
    inline 5
    "offloaded" "server" "tool" "HANDLE" 189914 {"count":74976,"exact":true} {"count":"as shown","exact":true}
    "not_stored" "server" "tool" null 189914 {"count":74976,"exact":true} {"count":2019,"exact":true}
    "retrieved" "server" "tool" "HANDLE" 0 {"count":0,"exact":true} {"count":118,"exact":true}
    "extracted" "server" "tool" "HANDLE" 0 {"count":0,"exact":true} {"count":2,"exact":true}
    "listed" "server" "" null 0 {"count":0,"exact":true} {"count":1,"exact":true}
    "#);
}

#[test]
fn json_and_what_is_kept_beside_its_text_leave_an_entry() {
    let ledger = Arc::new(Entries::default());
    let store = Arc::new(MemoryStore::default());
    let working = offloader(store, Rule::default(), Arc::new(NoLedger));
    let working = working.with_ledger(Arc::clone(&ledger) as _);
    let large = log(3000);
    // The text fits, but another part of the result does not.
    let Outcome::Inline(fits) = offer(&working, b"text") else {
        panic!("it fits");
    };
    let kept = fits.store().unwrap().handle();
    let raw = format!("{{\"text\":{}}}", serde_json::json!(large)).into_bytes();
    let raw_bytes = raw.len() as u64;
    let raw = JsonResult::from(Bytes::from(raw));
    let part = TextPart {
        start: 9,
        end: raw_bytes - 2,
        is_string: true,
    };
    let of_json = Origin::tool("json");
    let captured = working.capture_json(of_json.clone(), false, raw, vec![part]);
    let pending = working.submit(captured, working.limits(&of_json));
    let json = pending.settle(Choice::Limits { is_over: None });
    let Outcome::Offloaded(json) = json else {
        panic!("it does not fit");
    };
    assert_eq!(json.receipt.manifest().facts.raw_bytes, raw_bytes);
    let entries = ledger.0.lock().unwrap().join("\n");
    let entries = entries
        .replace(&kept.to_string(), "KEPT")
        .replace(&json.receipt.handle().to_string(), "JSON");
    // The tokens of the first message vary with its handle.
    let shown = format!("\"count\":{}", json.shown.tokens());
    let entries = entries.replace(&shown, "\"count\":\"as shown\"");
    insta::assert_snapshot!(entries, @r#"
    inline 4
    "offloaded" null "tool" "KEPT" 4 {"count":1,"exact":true} {"count":1,"exact":true}
    "offloaded" null "json" "JSON" 189914 {"count":74976,"exact":true} {"count":"as shown","exact":true}
    "#);
}

#[test]
fn the_same_result_gets_the_same_message_but_for_the_handle() {
    for input in [
        log(3000).into_bytes(),
        records(900).into_bytes(),
        noise(90_000),
    ] {
        let shown = || {
            let store = Arc::new(MemoryStore::default());
            let offloader = offloader(store, Rule::default(), Arc::new(NoLedger));
            let Outcome::Offloaded(offloaded) = offer(&offloader, &input) else {
                panic!("it does not fit");
            };
            let handle = offloaded.receipt.handle().to_string();
            offloaded.shown.text().replace(&handle, "HANDLE")
        };
        let first = shown();
        assert!((0..5).all(|_| shown() == first), "{first}");
    }
}

fn any_result() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (100usize..4000).prop_map(|n| log(n).into_bytes()),
        (20usize..900).prop_map(|n| records(n).into_bytes()),
        (2000usize..60_000).prop_map(noise),
        "([a-z]{1,12} ){500,3000}".prop_map(String::into_bytes),
        "(漢字かな|🚀|\\[spillgate\\] |next: |\n){900,3000}".prop_map(String::into_bytes),
        "(a,b\n){1,2}(\"[a-z\n]{0,9}\",[0-9]{1,3}\n){900,2000}".prop_map(String::into_bytes),
        "(<div><p>[a-z ]{0,40}</p></div>){100,400}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_message_is_within_its_budget_and_smaller(
        input in any_result(),
        preview_tokens in prop_oneof![Just(1u64), 300u64..1200],
        max_tokens in 1u64..4000,
        profile in prop::sample::select(Profile::BUILT_IN.to_vec()),
        detailed_recovery in prop::option::of(any::<bool>()),
    ) {
        let counter = Tokenizer::O200kBase.counter();
        let rule = Rule {
            max_tokens: Some(max_tokens),
            preview_tokens: Some(preview_tokens),
            profile: Some(profile.clone()),
            detailed_recovery,
            ..Rule::default()
        };
        let store = Arc::new(MemoryStore::default());
        let offloader = offloader(Arc::clone(&store) as _, rule, Arc::new(NoLedger));
        let outcome = offer(&offloader, &input);
        let tokens = match profile {
            Profile::Reject => input.len() as u64 / 4, // its format estimates
            _ => counter.count(&String::from_utf8_lossy(&input)),
        };
        match outcome {
            Outcome::Inline(fits) => {
                let mut raw = Vec::new();
                fits.write_raw(&mut raw).unwrap();
                prop_assert_eq!(raw, input);
                prop_assert!(tokens <= max_tokens || fits.is_never_worse());
                prop_assert!(store.list().unwrap().is_empty());
            }
            Outcome::Offloaded(offloaded) => {
                prop_assert!(tokens > max_tokens);
                let shown = &offloaded.shown;
                prop_assert_eq!(shown.tokens(), counter.count(shown.text()));
                if profile == Profile::Preview {
                    // A preview that says why a run failed may cost a sixth more.
                    let most = (preview_tokens * 7 / 6).max(300).min(tokens / 2);
                    prop_assert!(shown.tokens() <= most);
                    let ours = shown.text().lines().filter(|line| line.starts_with("[spillgate] "));
                    prop_assert_eq!(ours.count(), 1);
                    let ends = |line: &str| line.starts_with("next: ") || line.starts_with("also, ");
                    let calls = shown.text().lines().rev().take_while(|line| ends(line));
                    prop_assert!((1..=3).contains(&calls.count()));
                }
                if profile == Profile::Reject {
                    let (error, block) = shown.text().split_once("\n\n").unwrap_or((shown.text(), ""));
                    prop_assert!(!error.contains('\n'));
                    prop_assert!(counter.count(block) <= RECOVERY_TOKENS);
                    prop_assert!(block.is_empty() || detailed_recovery == Some(true));
                    prop_assert!(shown.text().contains("handle=") || !error.contains("stored"));
                }
                let artifact = offloader.artifact(offloaded.receipt.handle()).unwrap();
                prop_assert_eq!(artifact.raw().bytes(0, u64::MAX).unwrap(), input);
            }
            Outcome::NotStored(lost) => prop_assert!(false, "{:?}", lost.error),
        }
    }
}

fn pending(offloader: &Offloader, text: &str) -> PendingResult {
    let mut reader = text.as_bytes();
    let pending = offloader.submit_stream(Origin::tool("tool"), false, &mut reader, &mut |_| {});
    pending.unwrap()
}

#[test]
fn what_would_stand_instead_is_known_before_it_is_stored() {
    for profile in [Profile::Handle, Profile::Continuation] {
        let rule = Rule {
            profile: Some(profile.clone()),
            ..Rule::default()
        };
        let offloader = offloader(Arc::new(MemoryStore::default()), rule, Arc::new(NoLedger));
        let text = "One line of a plain text.\n".repeat(200);
        let pending = pending(&offloader, &text);
        let instead = pending.instead();
        let choice = Choice::Store(Reason::TokenBudget);
        let Outcome::Offloaded(stored) = pending.settle(choice) else {
            panic!("a store in memory fails");
        };
        let shown = stored.shown.tokens();
        let off = instead.abs_diff(shown);
        assert!(off <= shown / 4, "{}: {instead}, {shown}", profile.name());
    }
}

#[test]
fn a_small_result_that_is_stored_says_how_to_look_into_it() {
    let store = Arc::new(MemoryStore::default());
    let offloader = offloader(store, Rule::default(), Arc::new(NoLedger));
    let pending = pending(&offloader, "a few words\n");
    let Outcome::Offloaded(stored) = pending.settle(Choice::Store(Reason::SizeCap)) else {
        panic!("a store in memory fails");
    };
    let text = stored.shown.text();
    assert!(text.contains("stored whole as "), "{text}");
    assert!(
        text.contains("\nnext: ") && text.contains("\nalso, "),
        "{text}"
    );
}

#[test]
fn the_beginning_of_a_result_ends_with_a_character() {
    let offloader = offloader(
        Arc::new(MemoryStore::default()),
        Rule::default(),
        Arc::new(NoLedger),
    );
    let pending = pending(&offloader, "aäö");
    let told = (0..7).map(|bytes| pending.beginning(bytes).unwrap());
    assert_eq!(
        told.collect::<Vec<_>>(),
        ["", "a", "a", "aä", "aä", "aäö", "aäö"]
    );
}

/// Returns the message for a text that a session is shown, with handles replaced by their number.
fn shown_in(
    offloader: &Offloader,
    history: Option<&Arc<History>>,
    handles: &mut Vec<String>,
    (tool, text): (&str, &str),
) -> String {
    let mut reader = text.as_bytes();
    let pending = offloader.submit_stream(Origin::tool(tool), false, &mut reader, &mut |_| {});
    let pending = pending.unwrap().shown_in(history.cloned());
    let Outcome::Offloaded(stored) = pending.settle(Choice::Limits { is_over: None }) else {
        panic!("it is stored");
    };
    handles.push(stored.receipt.handle().to_string());
    let all = handles.iter().enumerate();
    let shown = stored.shown.text().to_owned();
    all.fold(shown, |text, (at, handle)| {
        text.replace(handle, &format!("H{at}"))
    })
}

#[test]
fn what_a_session_was_shown_is_not_shown_again() {
    let offloader = offloader(
        Arc::new(MemoryStore::default()),
        Rule::default(),
        Arc::new(NoLedger),
    );
    let text: String = (0..900)
        .map(|i| format!("row {i} has a value of {}\n", i * 7))
        .collect();
    let other =
        text.replace("row 7 has a value of 49", "row 7 has a value of 50") + "row 900 is new\n";
    let history = Arc::new(History::default());
    let mut handles = Vec::new();
    let mut show = |history, tool, text| shown_in(&offloader, history, &mut handles, (tool, text));
    let first = show(Some(&history), "list", &text);
    assert!(
        !first.contains("H0 ") && !first.contains("changes:"),
        "{first}"
    );
    let again = show(Some(&history), "list", &text);
    insta::assert_snapshot!(again, @"[spillgate] list returned 24930 bytes, the same as before (text); stored whole as H0");
    let changed = show(Some(&history), "list", &other);
    let changes = changed.split("\nhead:").next().unwrap();
    insta::assert_snapshot!(changes, @"
    [spillgate] list returned 24945 bytes, 902 lines, 9763 tokens (text); stored whole as H2
    changes:
      since H1: 2 lines added, 1 removed
      +   8 row 7 has a value of 50
      + 901 row 900 is new
      -   8 row 7 has a value of 49
    ");
    // Another tool, another session and a stateless caller were shown nothing of it.
    for (history, tool) in [
        (Some(&history), "scan"),
        (Some(&Arc::default()), "list"),
        (None, "list"),
    ] {
        let text = format!("{other}{tool}{}", history.is_some());
        let shown = shown_in(&offloader, history, &mut Vec::new(), (tool, &text));
        assert!(!shown.contains("changes:"), "{shown}");
    }
    let counter = Tokenizer::O200kBase.counter();
    assert!(counter.count(&again) <= 60, "{again}");
}

#[test]
fn a_result_that_is_gone_is_not_named() {
    let store = Arc::new(MemoryStore::default());
    let offloader = offloader(store.clone(), Rule::default(), Arc::new(NoLedger));
    let text = "One line of a plain text.\n".repeat(2000);
    let history = Arc::new(History::default());
    let mut handles = Vec::new();
    shown_in(&offloader, Some(&history), &mut handles, ("list", &text));
    let gone = handles[0].parse().unwrap();
    store
        .remove(gone, Gone::Evicted, StoppedClock::default().now())
        .unwrap();
    let more = format!("{text}more\n");
    for text in [&text, &more] {
        let shown = shown_in(&offloader, Some(&history), &mut handles, ("list", text));
        assert!(!shown.contains("H0"), "{shown}");
    }
}

#[test]
fn how_a_command_ended_is_said_first() {
    let offloader = offloader(
        Arc::new(MemoryStore::default()),
        Rule::default(),
        Arc::new(NoLedger),
    );
    let text = "One line of a plain text.\n".repeat(2000);
    let ending = Ending {
        exit_code: Some(3),
        duration_ms: Some(1290),
        ..Ending::default()
    };
    let pending = pending(&offloader, &text).ended(ending);
    let Outcome::Offloaded(stored) = pending.settle(Choice::Limits { is_over: None }) else {
        panic!("it is stored");
    };
    assert_eq!(stored.receipt.manifest().facts.ending, Some(ending));
    let headline = stored.shown.text().lines().next().unwrap();
    let headline = headline.replace(&stored.receipt.handle().to_string(), "HANDLE");
    insta::assert_snapshot!(headline, @"[spillgate] tool ended: exit code 3 after 1.2 s; 52000 bytes, 2001 lines, 14000 tokens (text); stored whole as HANDLE");
}

/// The numbers of ADR 28.
#[test]
fn a_word_costs_few_tokens() {
    let counter = Tokenizer::O200kBase.counter();
    let letters = || 'a'..='z';
    let pairs = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}")));
    let dear: Vec<String> = pairs.filter(|pair| counter.count(pair) > 1).collect();
    let words: Vec<String> = (0..10_000).map(|_| Word::random().to_string()).collect();
    let has_dear = |word: &&String| dear.iter().any(|pair| word.contains(pair));
    assert_eq!((dear.len(), words.iter().find(has_dear)), (29, None));
    let costs = |before: &str| -> Vec<u64> {
        let cost = |word: &String| counter.count(&format!("{before}{word}"));
        words.iter().map(cost).collect()
    };
    let mean = |costs: &[u64]| costs.iter().sum::<u64>() as f64 / costs.len() as f64;
    // As in the first line of a message, as an argument, and alone.
    for before in [" ", "\"", ""] {
        let costs = costs(before);
        let (mean, most) = (mean(&costs), costs.iter().max());
        assert!(
            mean < 8.5 && most <= Some(&10),
            "{before:?}: {mean}, {most:?}"
        );
    }
    assert!(mean(&costs(" ")) < 8.0, "{}", mean(&costs(" ")));
}
