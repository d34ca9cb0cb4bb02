//! Results that are not searched for secrets as a whole when they are stored: messages and look-ups are
//! those of results that are.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use spillgate_artifact::{Handle, Origin, TokenBudget};
use spillgate_lookup::{GrepQuery, ReadQuery, Span};
use spillgate_offload::{Exit, Ledger, LedgerEntry, Offloader, Outcome, Policy, Redaction, Rule};
use spillgate_redact::{Redactor, Rules};
use spillgate_retrieval::audience;
use spillgate_store::{ArtifactStore, FileStore, Lifetime, MemoryStore};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

/// Keeps all entries.
#[derive(Debug, Default)]
struct Entries(Mutex<Vec<LedgerEntry>>);

impl Ledger for Entries {
    fn record(&self, entry: LedgerEntry) {
        self.0.lock().unwrap().push(entry);
    }

    fn inline(&self, _: u64) {}
}

impl Entries {
    /// Returns the number of found secrets by rule.
    fn secrets(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for (rule, found) in self.0.lock().unwrap().iter().flat_map(|one| &one.secrets) {
            *sums.entry(rule.clone()).or_default() += found;
        }
        sums
    }
}

/// An offloader with marks of its own, as a process has them.
fn offloader(
    store: &Arc<dyn ArtifactStore>,
    ledger: &Arc<Entries>,
    redact: Redaction,
) -> Offloader {
    let rule = Rule {
        max_tokens: Some(200),
        redact: Some(redact),
        ..Rule::default()
    };
    Offloader::new(
        Arc::clone(store),
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::clone(ledger) as _,
    )
    .with_redactor(Arc::new(Redactor::new(Rules::builtin())))
}

fn stored(offloader: &Offloader, text: &str) -> (String, Handle) {
    let origin = Origin::tool("env");
    match offloader.stream(origin, &mut text.as_bytes(), &mut |_| {}) {
        Ok(Outcome::Offloaded(one)) => {
            let handle = one.receipt.handle();
            let shown = one.shown.text().replace(&handle.to_string(), "HANDLE");
            (shown, handle)
        }
        other => panic!("not stored: {other:?}"),
    }
}

/// Returns what look-ups show of an artifact.
fn looked_up(offloader: &Offloader, handle: Handle) -> String {
    let budget = TokenBudget::new(100_000);
    let span = Span::Lines {
        start: 1,
        lines: Some(100_000),
    };
    let page = offloader.read(handle, ReadQuery { span, budget }).unwrap();
    let matches = offloader.grep(handle, &GrepQuery::new("[a-zA-Z]", budget));
    format!("{}\n{}", page.text, matches.unwrap().render())
}

const SECRETS: [&str; 4] = [
    "key AKIAQ3EGXZ7LKTPNWB5M",
    "got {\"password\": \"Tr0ub4dor&3\"}",
    "push with ghp_q8Zr3LmXv0TbKcYw5NdHs7JfPgEu2Ai94RVo failed",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp9\n-----END PRIVATE KEY-----",
];

fn text_of(lines: &[(usize, u32)]) -> String {
    let line = |(secret, n): &(usize, u32)| match SECRETS.get(*secret) {
        Some(secret) => format!("{secret}\n"),
        None if n % 50 == 0 => format!("ERROR request {n} failed: refused\n"),
        None => format!("2026-11-25T10:00:{:02}Z worker {n} did its part\n", n % 60),
    };
    lines.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_result_that_is_searched_later_is_shown_as_one_that_is_searched_before(
        lines in prop::collection::vec((0..60_usize, 0..1000_u32), 60..400),
        plain in any::<bool>(),
    ) {
        let lines: Vec<_> = lines.into_iter().map(|(secret, n)| (if plain { 9 } else { secret }, n)).collect();
        let text = text_of(&lines);
        let all = [u64::MAX, 0].map(|whole| {
            let store: Arc<dyn ArtifactStore> = Arc::<MemoryStore>::default();
            let ledger = Arc::default();
            let offloader = offloader(&store, &ledger, Redaction::Mark).searching_whole(whole);
            let (message, handle) = stored(&offloader, &text);
            (message, looked_up(&offloader, handle), ledger.secrets())
        });
        let (message, pages, _) = &all[1];
        for part in ["AKIAQ3", "Tr0ub4", "ghp_q8", "MIIEvQ", "VJTUt9", "Ai94RVo", "NXp9"] {
            prop_assert!(!message.contains(part) && !pages.contains(part), "{}\n{}", message, pages);
        }
        prop_assert_eq!(&all[0], &all[1]);
    }
}

#[test]
fn the_first_look_up_searches_and_counts_and_the_second_does_not() {
    let base = tempfile::tempdir().unwrap();
    let text = text_of(
        &(0..400)
            .map(|n| (if n == 200 { 0 } else { 9 }, n))
            .collect::<Vec<_>>(),
    );
    let clock = Arc::new(StoppedClock::default());
    let store: Arc<dyn ArtifactStore> =
        Arc::new(FileStore::new(base.path(), Lifetime::Durable, clock));
    let ledger: Arc<Entries> = Arc::default();
    // Nothing searched this artifact.
    let (_, handle) = stored(&offloader(&store, &ledger, Redaction::Off), &text);
    assert_eq!(store.manifest(handle).unwrap().facts.secrets, None);
    let size = |store: &Arc<dyn ArtifactStore>| store.list().unwrap()[0].bytes;
    let before = size(&store);
    assert_eq!(store.open(handle).unwrap().derived.unwrap().read(), None);
    let first = looked_up(&offloader(&store, &ledger, Redaction::Mark), handle);
    let kept = store.open(handle).unwrap().derived.unwrap().read().unwrap();
    assert!(first.contains("key [redacted: aws-access-key]"), "{first}");
    assert!(!kept.windows(6).any(|part| part == b"AKIAQ3"));
    assert!(size(&store) > before);
    let again = looked_up(&offloader(&store, &ledger, Redaction::Mark), handle);
    assert_eq!(again, first);
    let found = BTreeMap::from([("aws-access-key".to_owned(), 1)]);
    assert_eq!(ledger.secrets(), found);
    let searched = |one: &&LedgerEntry| one.exit == Exit::Searched;
    let entries = ledger.0.lock().unwrap().clone();
    assert_eq!(entries.iter().filter(searched).count(), 1);
    // A damaged file is not used.
    let derived = std::fs::read_dir(base.path().join(&handle.to_string()[..1])).unwrap();
    let is_derived = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "derived");
    let path = derived
        .map(|entry| entry.unwrap().path())
        .find(is_derived)
        .unwrap();
    let whole = std::fs::read(&path).unwrap();
    for damaged in [&whole[..whole.len() - 1], b"", &[&whole[..], b"x"].concat()] {
        std::fs::write(&path, damaged).unwrap();
        assert_eq!(
            looked_up(&offloader(&store, &ledger, Redaction::Mark), handle),
            first
        );
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}
