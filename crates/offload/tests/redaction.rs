//! Messages and look-ups have marks in place of secrets, and the stored bytes keep the secrets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use spillgate_artifact::{Handle, Origin, Reason, TokenBudget};
use spillgate_lookup::{GrepQuery, ReadQuery, Span};
use spillgate_offload::{
    ByReference, Ledger, LedgerEntry, NoLedger, Offloader, Outcome, Policy, Profile, Redaction,
    RetrieveError, Rule,
};
use spillgate_redact::{Redactor, Rules, UserRule};
use spillgate_retrieval::audience;
use spillgate_store::{
    ArtifactStore, MemoryStore, Owners, Partition, Share, ShareRecords, ShareSide, SharedStore,
    StoreError,
};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

const KEY: &str = "AKIAQ3EGXZ7LKTPNWB5M";

fn with(store: Arc<dyn ArtifactStore>, ledger: Arc<dyn Ledger>, rule: Rule) -> Offloader {
    Offloader::new(
        store,
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        ledger,
    )
}

fn offloader(redact: Redaction, max_tokens: u64) -> Offloader {
    let rule = Rule {
        max_tokens: Some(max_tokens),
        redact: Some(redact),
        ..Rule::default()
    };
    with(Arc::new(MemoryStore::default()), Arc::new(NoLedger), rule)
}

fn offer(offloader: &Offloader, text: &[u8]) -> Outcome {
    let origin = Origin::tool("env");
    offloader.stream(origin, &mut &*text, &mut |_| {}).unwrap()
}

fn stored(offloader: &Offloader, text: &[u8]) -> (String, Handle) {
    match offer(offloader, text) {
        Outcome::Offloaded(one) => (one.shown.text().to_owned(), one.receipt.handle()),
        other => panic!("not stored: {other:?}"),
    }
}

fn log() -> String {
    let line = |n: u32| format!("2026-11-25T10:00:{:02}Z worker {n} did its part\n", n % 60);
    let mut lines: Vec<String> = (0..400).map(line).collect();
    lines.insert(1, format!("upload with {KEY} failed\n"));
    lines.insert(200, format!("again with {KEY} and AKIAQ3EGXZ7LKTPNWB5N\n"));
    lines.concat()
}

fn read(offloader: &Offloader, handle: Handle, span: Span) -> Result<String, RetrieveError> {
    let query = ReadQuery {
        span,
        budget: TokenBudget::new(4000),
    };
    Ok(offloader.read(handle, query)?.text)
}

fn lines(start: u64, lines: u64) -> Span {
    Span::Lines {
        start,
        lines: Some(lines),
    }
}

#[test]
fn a_preview_and_its_pages_have_marks() {
    let offloader = offloader(Redaction::Mark, 200);
    let text = log();
    let (preview, handle) = stored(&offloader, text.as_bytes());
    assert!(!preview.contains(KEY), "{preview}");
    assert!(preview.contains("[redacted: aws-access-key]"), "{preview}");
    assert_snapshot!(read(&offloader, handle, lines(200, 2)).unwrap(), @r"
    2026-11-25T10:00:18Z worker 198 did its part
    again with [redacted: aws-access-key] and [redacted: aws-access-key 2]
    ");
    let matches = |pattern| {
        let query = GrepQuery::new(pattern, TokenBudget::new(500));
        offloader.grep(handle, &query).unwrap().render()
    };
    assert_snapshot!(matches("AKIA|Q3EG|.{20} failed"), @"2:upload with [redacted: aws-access-key] failed");
    // The stored bytes are as they came, and a line of the view leads to its bytes.
    let artifact = offloader.artifact(handle).unwrap();
    assert_eq!(artifact.raw().bytes(0, u64::MAX).unwrap(), text.as_bytes());
    let (start, end) = artifact.raw_range(201).unwrap().unwrap();
    let line = artifact.raw().bytes(start, end).unwrap();
    assert!(line.starts_with(b"again with AKIA"), "{line:?}");
}

#[test]
fn each_mode_does_what_it_says() {
    let small = format!("AWS_ACCESS_KEY_ID={KEY}\nREGION=eu-central-1\n");
    for (redact, stores_small, shows_key) in [
        (Redaction::Off, false, true),
        (Redaction::Mark, false, false),
        (Redaction::All, true, false),
        (Redaction::Block, true, false),
    ] {
        let offloader = offloader(redact, 200);
        let outcome = offer(&offloader, small.as_bytes());
        let is_stored = matches!(outcome, Outcome::Offloaded(_));
        assert_eq!(is_stored, stores_small, "{redact}: {outcome:?}");
        if let Outcome::Offloaded(one) = &outcome {
            let facts = &one.receipt.manifest().facts;
            assert_eq!(facts.reason, Reason::Secrets);
            assert!(!one.shown.text().contains(KEY), "{}", one.shown.text());
        }
        assert!(matches!(
            offer(&offloader, b"REGION=eu-central-1\n"),
            Outcome::Inline(_)
        ));
        let (preview, handle) = stored(&offloader, log().as_bytes());
        assert_eq!(preview.contains(KEY), shows_key, "{redact}: {preview}");
        match read(&offloader, handle, lines(1, 3)) {
            Ok(page) => assert_eq!(page.contains(KEY), shows_key, "{redact}: {page}"),
            Err(error) => assert_eq!(redact, Redaction::Block, "{error}"),
        }
    }
}

#[test]
fn a_small_result_with_a_secret_is_shown_with_marks() {
    let offloader = offloader(Redaction::All, 200);
    let text = format!("AWS_ACCESS_KEY_ID={KEY}\nREGION=eu-central-1\nSTAGE=test\n");
    let (preview, handle) = stored(&offloader, text.as_bytes());
    assert_snapshot!(preview.replace(&handle.to_string(), "HANDLE"), @r#"
    [spillgate] env returned 70 bytes, 4 lines, 18 tokens (text); stored whole as HANDLE
    head:
       1 AWS_ACCESS_KEY_ID=[redacted: aws-access-key]
       2 REGION=eu-central-1
       3 STAGE=test
    next: spillgate_read(handle="HANDLE", start=1, lines=40)
    also, with the same handle: spillgate_search(words=WORDS), spillgate_grep(pattern=REGEX)
    "#);
}

#[test]
fn what_is_blocked_is_named_and_not_shown() {
    let offloader = offloader(Redaction::Block, 200);
    let (message, handle) = stored(&offloader, log().as_bytes());
    assert_snapshot!(message.replace(&handle.to_string(), "HANDLE"), @"[spillgate] env returned 17987 bytes, 403 lines (log) with secrets (3 × aws-access-key). No part of them is shown; stored whole as HANDLE. The user can read them at a terminal with `spillgate cat --raw`.");
    let error = read(&offloader, handle, lines(1, 3)).unwrap_err();
    assert_snapshot!(error.to_string().replace(&handle.to_string(), "HANDLE"), @r#"the output has secrets, and `redact = "block"` shows no part of it; the user can read it at a terminal with `spillgate cat --raw HANDLE`"#);
}

#[test]
fn a_text_inside_a_document_is_scanned_too() {
    let offloader = offloader(Redaction::Mark, 200);
    // Only the text shows the key: in the document, escapes stand inside it.
    let note = "typed AKIAQ3EG??\x08\x08XZ7LKTPNWB5M\n".repeat(100);
    let document = serde_json::json!({"id": 1, "note": note}).to_string();
    let (_, handle) = stored(&offloader, document.as_bytes());
    let inside = offloader.inside(Some(".note"));
    assert_snapshot!(read(&inside, handle, lines(1, 1)).unwrap(), @"typed [redacted: aws-access-key]");
    let revealed = inside.revealing();
    assert!(read(&revealed, handle, lines(1, 1)).unwrap().contains(KEY));
}

#[test]
fn texts_beside_a_result_have_marks() {
    let offloader = offloader(Redaction::Mark, 200);
    let origin = Origin::tool(format!("curl --user bot --header key:{KEY}"));
    let text = "nothing here\n".repeat(2000);
    let outcome = offloader.stream(origin, &mut text.as_bytes(), &mut |_| {});
    let Outcome::Offloaded(one) = outcome.unwrap() else {
        panic!("not stored")
    };
    assert!(!one.shown.text().contains(KEY), "{}", one.shown.text());
    let told = offloader.presented(format!("the server failed: {KEY}"));
    assert_snapshot!(told.text(), @"the server failed: [redacted: aws-access-key]");
}

#[test]
fn an_older_artifact_and_other_rules_are_scanned_again() {
    let store: Arc<MemoryStore> = Arc::default();
    let of = |redact| {
        let rule = Rule {
            max_tokens: Some(200),
            redact: Some(redact),
            ..Rule::default()
        };
        with(Arc::clone(&store) as _, Arc::new(NoLedger), rule)
    };
    let text = log().replace("worker 7 ", "worker acme_0123abcd ");
    let (_, handle) = stored(&of(Redaction::Off), text.as_bytes());
    assert_eq!(store.manifest(handle).unwrap().facts.secrets, None);
    let offloader = of(Redaction::Mark);
    let page = read(&offloader, handle, lines(1, 10)).unwrap();
    assert!(
        !page.contains(KEY) && page.contains("acme_0123abcd"),
        "{page}"
    );
    let rule = UserRule {
        id: "acme-token".to_owned(),
        pattern: "acme_[0-9a-f]{8}".to_owned(),
        entropy: None,
    };
    let rules = Rules::with(&[rule], &[]).unwrap();
    let offloader = offloader.with_redactor(Arc::new(Redactor::new(rules)));
    let page = read(&offloader, handle, lines(1, 10)).unwrap();
    assert!(
        !page.contains(KEY) && page.contains("[redacted: acme-token]"),
        "{page}"
    );
}

#[test]
fn only_receivers_that_the_user_names_get_secrets() {
    let references = ByReference::new(Some(&["write_*".to_owned()]), None).unwrap();
    let policy = Policy::default().with_references(references.clone());
    assert!(!policy.reveals_secrets(&Origin::tool("write_file")));
    let policy = policy.with_references(references.with_secrets(Some(true)));
    assert!(policy.reveals_secrets(&Origin::tool("write_file")));
    let offloader = offloader(Redaction::Mark, 200);
    let (_, handle) = stored(&offloader, log().as_bytes());
    let revealed = offloader.revealing().artifact(handle).unwrap();
    assert!(!revealed.is_redacted());
    let text = revealed.text().unwrap().bytes(0, u64::MAX).unwrap();
    assert_eq!(text, log().as_bytes());
}

#[derive(Debug, Default)]
struct Entries(Mutex<Vec<LedgerEntry>>);

impl Ledger for Entries {
    fn record(&self, entry: LedgerEntry) {
        self.0.lock().unwrap().push(entry);
    }

    fn inline(&self, _: u64) {}
}

#[test]
fn the_ledger_counts_secrets_by_rule() {
    let ledger = Arc::new(Entries::default());
    let rule = Rule {
        max_tokens: Some(200),
        ..Rule::default()
    };
    let offloader = with(
        Arc::new(MemoryStore::default()),
        Arc::clone(&ledger) as _,
        rule,
    );
    stored(&offloader, log().as_bytes());
    let entries = ledger.0.lock().unwrap();
    let line = serde_json::to_string(&entries[0]).unwrap();
    assert!(
        line.contains(r#""secrets":{"aws-access-key":3}"#) && !line.contains(KEY),
        "{line}"
    );
}

/// A store of which every output is shared.
#[derive(Debug)]
struct Owner(Arc<MemoryStore>);

impl Owners for Owner {
    fn store_of(&self, _: Option<&Partition>) -> Result<Arc<dyn ArtifactStore>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

/// The record of one share.
#[derive(Debug)]
struct OneShare(Share);

impl ShareRecords for OneShare {
    fn share(&self, _: ShareSide, _: &str) -> Result<Option<Share>, StoreError> {
        Ok(Some(self.0.clone()))
    }

    fn put_share(&self, _: ShareSide, _: &str, _: &Share) -> Result<(), StoreError> {
        unreachable!()
    }

    fn remove_share(&self, _: ShareSide, _: &str) -> Result<bool, StoreError> {
        unreachable!()
    }

    fn shares(&self, _: ShareSide) -> Result<Vec<(String, Share)>, StoreError> {
        unreachable!()
    }
}

#[test]
fn a_message_about_a_shared_result_has_marks_where_redaction_is_off() {
    // Its first and last lines, and records that an outline shows.
    let records = |n: u32| format!("{{\"id\": {n}, \"key\": \"{KEY}\"}}\n");
    let records: String = (0..2000).map(records).collect();
    let edges = format!("key {KEY}\n{}end {KEY}\n", log());
    for profile in Profile::BUILT_IN {
        for text in [&edges, &records] {
            let rule = || Rule {
                max_tokens: Some(100),
                redact: Some(Redaction::Off),
                profile: Some(profile.clone()),
                ..Rule::default()
            };
            let own = Arc::new(MemoryStore::default());
            let owner = with(Arc::clone(&own) as _, Arc::new(NoLedger), rule());
            let (_, handle) = stored(&owner, text.as_bytes());
            let share = Share {
                handle,
                owner: None,
                reader: "bob".parse().unwrap(),
                until: serde_json::from_str("\"2999-01-01T00:00:00Z\"").unwrap(),
            };
            let shared = SharedStore::new(
                Arc::new(MemoryStore::default()),
                Arc::new(OneShare(share)),
                Arc::new(Owner(own)),
                Arc::new(StoppedClock::default()),
            );
            let reader = with(Arc::new(shared), Arc::new(NoLedger), rule());
            let message = reader.present_stored(handle).unwrap();
            assert!(
                !message.text().contains(KEY),
                "{profile}: {}",
                message.text()
            );
        }
    }
}
