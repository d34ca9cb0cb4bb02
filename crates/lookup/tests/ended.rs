//! Tests lookups that end early: because they are cancelled, time out, or read lost bytes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use spillgate_artifact::{
    ByteSource, Handle, Interrupt, Interrupted, Layout, Manifest, SourceTruncated, TokenBudget,
};
use spillgate_lookup::{Artifact, GrepQuery, LookupError, ReadQuery, Span, grep, read, slice};
use spillgate_store::Stored;
use spillgate_store::conformance::facts_of;
use spillgate_text::{Indexer, Tokenizer};

/// A source that is cancelled or shortened while it is read.
#[derive(Debug)]
struct Watched {
    bytes: Vec<u8>,
    /// Number of reads so far.
    reads: AtomicU64,
    /// Cancels the interrupt from the read with this number on.
    cancel: Option<(u64, Interrupt)>,
    /// After this many reads, the source contains only its first bytes, up to the second number.
    cut: Option<(u64, usize)>,
}

impl ByteSource for Watched {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some((after, interrupt)) = &self.cancel
            && read >= *after
        {
            interrupt.cancel();
        }
        match self.cut {
            Some((after, left)) if read > after => {
                self.bytes[..left].to_vec().read_at(buffer, offset)
            }
            _ => self.bytes.read_at(buffer, offset),
        }
    }
}

fn stored(text: &[u8], source: &Arc<Watched>) -> Stored {
    let mut indexer = Indexer::as_is(Layout::AsIs);
    indexer.feed(text);
    let index = indexer.finish();
    let mut facts = facts_of(text);
    facts.stats.chars = text.len() as u64;
    facts.view.longest_line = index.longest_line;
    let handle: Handle =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001"
            .parse()
            .unwrap();
    let manifest = Manifest::new(handle, facts);
    Stored {
        file: None,
        manifest,
        raw: Arc::clone(source) as _,
        view: Arc::clone(source) as _,
        derived: None,
        index: index.to_bytes(),
        is_shared: false,
    }
}

const COSTLY: &str = "(?:a{0,300}){0,300}b";

type Look = (&'static str, fn(&Artifact) -> Result<(), LookupError>);

/// Lookups that go through the whole text.
const LOOKS: [Look; 4] = [
    ("grep", |artifact| found(artifact, "nowhere")),
    ("costly grep", |artifact| found(artifact, COSTLY)),
    ("read", |artifact| {
        let query = ReadQuery {
            span: Span::Lines {
                start: 1,
                lines: None,
            },
            budget: TokenBudget::new(u64::MAX >> 8),
        };
        read(artifact, query, &*Tokenizer::Heuristic.counter()).map(drop)
    }),
    ("slice", |artifact| {
        let chars = artifact.manifest().facts.stats.chars;
        slice(artifact, chars - 10, 10).map(drop)
    }),
];

fn found(artifact: &Artifact, pattern: &str) -> Result<(), LookupError> {
    let query = GrepQuery::new(pattern, TokenBudget::new(1000));
    grep(artifact, &query, &*Tokenizer::Heuristic.counter()).map(drop)
}

/// Returns three texts: ordinary lines, long lines that are searched in memory, and a single line.
fn texts() -> [Vec<u8>; 3] {
    [
        "2026-11-21 INFO all is well\n".repeat(600_000).into_bytes(),
        format!("{}\n", "a".repeat(200 << 10))
            .repeat(20)
            .into_bytes(),
        vec![b'a'; 6 << 20],
    ]
}

#[test]
fn a_cancelled_look_up_reads_no_further_block() {
    for text in texts() {
        for (name, look) in LOOKS {
            let interrupt = Interrupt::default();
            let source = Arc::new(Watched {
                bytes: text.clone(),
                reads: AtomicU64::new(0),
                cancel: Some((2, interrupt.clone())),
                cut: None,
            });
            let artifact = Artifact::open_until(stored(&text, &source), &interrupt).unwrap();
            let ended = look(&artifact);
            let reads = source.reads.load(Ordering::Relaxed);
            let ended = ended.unwrap_err();
            let why = Interrupted::Cancelled;
            assert!(
                matches!(ended, LookupError::Interrupted { why: is } if is == why),
                "{name}: {ended}"
            );
            // The second thread may have been about to read when the interrupt was cancelled.
            assert!(reads <= 3, "{name}: {reads} reads");
        }
    }
}

#[test]
fn a_view_in_memory_is_read_once_and_still_cancelled() {
    for (lines, is_held) in [(1000, true), (200_000, false)] {
        let text = "2026-11-21 INFO all is well\n".repeat(lines).into_bytes();
        let interrupt = Interrupt::default();
        let source = Arc::new(Watched {
            bytes: text.clone(),
            reads: AtomicU64::new(0),
            cancel: None,
            cut: None,
        });
        let reads = || source.reads.load(Ordering::Relaxed);
        let artifact = Artifact::open_until(stored(&text, &source), &interrupt).unwrap();
        let artifact = artifact.in_memory().unwrap();
        let before = reads();
        assert_eq!(before, u64::from(is_held), "{lines} lines");
        found(&artifact, "nowhere").unwrap();
        assert_eq!(reads() == before, is_held, "{lines} lines");
        interrupt.cancel();
        let ended = found(&artifact, "nowhere").unwrap_err();
        assert_eq!(ended.kind(), "cancelled", "{lines} lines");
    }
}

#[test]
fn a_costly_pattern_ends_amid_a_line() {
    // A search that did not end would run for minutes.
    let text = vec![b'a'; 200 << 10];
    for (interrupt, kind) in [
        (Interrupt::default(), "cancelled"),
        (Interrupt::after(Duration::from_millis(300)), "timeout"),
    ] {
        let source = Arc::new(Watched {
            bytes: text.clone(),
            reads: AtomicU64::new(0),
            cancel: None,
            cut: None,
        });
        let artifact = Artifact::open_until(stored(&text, &source), &interrupt).unwrap();
        let ended = std::thread::scope(|scope| {
            let looking = scope.spawn(|| found(&artifact, COSTLY));
            while source.reads.load(Ordering::Relaxed) < 2 && !looking.is_finished() {
                std::thread::yield_now();
            }
            if kind == "cancelled" {
                interrupt.cancel();
            }
            looking.join().unwrap()
        });
        assert_eq!(ended.unwrap_err().kind(), kind);
    }
}

#[test]
fn bytes_that_are_gone_end_every_look_up() {
    for text in texts() {
        let len = text.len() as u64;
        for left in [0, 1000, text.len() - 1] {
            for (name, look) in LOOKS {
                if name == "costly grep" && text[0] == b'a' {
                    continue; // the same reads as `grep`, but it takes minutes
                }
                let source = Arc::new(Watched {
                    bytes: text.clone(),
                    reads: AtomicU64::new(0),
                    cancel: None,
                    cut: Some((0, left)),
                });
                let artifact = Artifact::open(stored(&text, &source)).unwrap();
                let ended = look(&artifact).unwrap_err();
                let at = left as u64;
                assert!(
                    matches!(ended, LookupError::Shortened(is) if is == SourceTruncated { at, len }),
                    "{name} with {left} of {len}: {ended}"
                );
                assert_eq!(ended.kind(), "store_damaged");
            }
        }
    }
}
