//! The fuzz target that stores any bytes, reads them in every way that Spillgate offers, and checks
//! the results.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use spillgate_artifact::{ByteRange, Origin, TokenBudget};
use spillgate_lookup::{Artifact, GrepQuery, LookupError, ReadQuery, Span, grep, read, slice};
use spillgate_offload::{Offloader, Outcome, Profile};
use spillgate_outline::{outline, within};
use spillgate_query::unconfined;
use spillgate_search::{SearchQuery, search};
use spillgate_text::{TokenCounter, Tokenizer};

use crate::{stored, texts};

/// Stores any bytes, and then reads, greps, searches, queries and outlines the stored artifact.
pub fn promises(bytes: &[u8]) {
    let counter = Tokenizer::Heuristic.counter();
    for profile in Profile::BUILT_IN {
        shown(&stored::offloader(profile), bytes);
    }
    let artifact = stored::artifact(bytes);
    let raw = artifact.raw().bytes(0, u64::MAX).unwrap();
    assert_eq!(raw, bytes, "the stored bytes are those that came");
    let sha256 = HEXLOWER.encode(&Sha256::digest(bytes));
    assert_eq!(artifact.manifest().facts.sha256, sha256);
    let view = artifact.view().source().bytes(0, u64::MAX).unwrap();
    let text = std::str::from_utf8(&view).unwrap();
    pages(&artifact, text, &*counter);
    for pattern in patterns(text) {
        matches(&artifact, text, &pattern, &*counter);
    }
    slices(&artifact);
    texts::leads_back(&artifact);
    let facts = &artifact.manifest().facts;
    let budget = TokenBudget::new(150);
    let lines = outline(
        artifact.view(),
        &facts.view,
        facts.stats.kind,
        facts.stats.lines,
        facts.has_failed(),
    )
    .unwrap();
    assert!(counter.count(&within(&lines, budget, &*counter).join("\n")) <= budget.get());
    for words in ["why did it fail", "error id name"] {
        let page = search(&artifact, &SearchQuery::new(words, budget), &*counter).unwrap();
        assert!(counter.count(&page.render()) <= budget.get());
    }
    queried(&artifact);
}

/// Checks that a client is shown the bytes themselves, or a smaller message within the budget.
fn shown(offloader: &Offloader, bytes: &[u8]) {
    let mut reader = bytes;
    let outcome = offloader
        .stream(Origin::tool("cat"), &mut reader, &mut |_| {})
        .unwrap();
    match outcome {
        Outcome::Inline(fits) => {
            let mut raw = Vec::new();
            fits.write_raw(&mut raw).unwrap();
            assert_eq!(raw, bytes);
        }
        Outcome::Offloaded(stored) => {
            let limits = offloader.limits(&Origin::tool("cat"));
            if limits.profile == Profile::Preview {
                assert!(
                    stored.shown.tokens() <= limits.preview.get(),
                    "{}",
                    stored.shown.text()
                );
            }
        }
        Outcome::NotStored(lost) => panic!("{:?}", lost.error),
    }
}

/// Checks that pages make progress, stay within their budget, and together contain the whole view.
fn pages(artifact: &Artifact, text: &str, counter: &dyn TokenCounter) {
    let whole = [
        Span::Lines {
            start: 1,
            lines: None,
        },
        Span::Bytes(ByteRange {
            start: 0,
            end: None,
        }),
    ];
    for (mut span, budget) in whole.into_iter().zip([40, 300]) {
        let budget = TokenBudget::new(budget);
        let mut joined = String::new();
        loop {
            let page = read(artifact, ReadQuery { span, budget }, counter).unwrap();
            assert!(counter.count(&page.text) <= budget.get());
            assert_eq!(page.bytes.start, joined.len() as u64);
            joined.push_str(&page.text);
            assert_eq!(page.bytes.end, Some(joined.len() as u64));
            match page.next {
                Some(next) => span = next,
                None => break,
            }
            assert!(
                !page.text.is_empty(),
                "a page that is not the last has text"
            );
        }
        assert_eq!(joined, text);
    }
    let tail = Span::Tail { lines: 3 };
    let page = read(
        artifact,
        ReadQuery {
            span: tail,
            budget: TokenBudget::new(4000),
        },
        counter,
    );
    assert!(page.is_ok());
}

/// Returns words of the text that, used as patterns, match themselves.
fn patterns(text: &str) -> Vec<String> {
    let is_literal = |word: &&str| word.chars().all(char::is_alphanumeric);
    let words = text.split_whitespace().filter(is_literal);
    let mut patterns: Vec<String> = words
        .take(3)
        .map(|word| word.chars().take(12).collect())
        .collect();
    patterns.extend(["a", "e0", "zq"].map(str::to_owned));
    patterns
}

/// Checks that pages of matches report all lines that match the pattern, and the number of these
/// lines.
fn matches(artifact: &Artifact, text: &str, pattern: &str, counter: &dyn TokenCounter) {
    // A match is reported for the view line in which it begins.
    let view = artifact.view();
    let line = |at| view.line_of_offset(at as u64).unwrap();
    let mut wanted: Vec<u64> = text
        .match_indices(pattern)
        .map(|(at, _)| line(at))
        .collect();
    wanted.dedup();
    let query = GrepQuery::new(pattern, TokenBudget::new(60));
    let (mut start, mut seen) = (1, Vec::new());
    loop {
        let page = grep(artifact, &GrepQuery { start, ..query }, counter).unwrap();
        assert!(
            counter.count(&page.render()) <= query.budget.get(),
            "{}",
            page.render()
        );
        assert_eq!(page.total, wanted.len() as u64, "{pattern:?}: {wanted:?}");
        seen.extend(page.matches.iter().map(|found| found.line));
        match page.next {
            Some(next) if next > start => start = next,
            Some(next) => panic!("the page after line {start} begins at {next}"),
            None => break,
        }
    }
    assert_eq!(seen, wanted, "{pattern:?}");
}

/// Checks that slices together contain the whole text.
fn slices(artifact: &Artifact) {
    let text = artifact.text().unwrap().bytes(0, u64::MAX).unwrap();
    let text = String::from_utf8_lossy(&text);
    let mut joined = String::new();
    for length in [3, 50, u64::MAX] {
        match slice(artifact, joined.chars().count() as u64, length) {
            Ok(slice) => joined.push_str(&slice.text),
            Err(LookupError::PastEnd { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(joined, text);
}

/// Checks that the output of a filter ends with a message that states its outcome.
fn queried(artifact: &Artifact) {
    let bytes = artifact.view().source().bytes(0, u64::MAX).unwrap();
    for filter in [".", ".[0].a?"] {
        for format in ["\"Json\"", "\"Ndjson\"", "{\"Table\":{\"delimiter\":44}}"] {
            let request = format!(
                "{{\"filter\":\"{filter}\",\"raw\":false,\"slurp\":false,\"start\":0,\"byte\":0,\
                 \"window\":2000,\"counted\":100,\"format\":{format},\"from\":0,\"length\":{},\
                 \"memory\":0,\"cpu\":0,\"depth\":64}}",
                bytes.len()
            );
            let mut said = Vec::new();
            unconfined(&request, &bytes, &mut said).unwrap();
            let said = String::from_utf8(said).unwrap();
            let last = said.lines().last().unwrap();
            assert!(last.contains("End") || last.contains("Refused"), "{last}");
        }
    }
}
