//! Searches in each kind of content.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod json;
mod several;
mod tables;
mod text;

use std::sync::Arc;

use insta::assert_snapshot;
use proptest::prelude::*;
use spillgate_artifact::{Layout, Origin, SystemClock, TokenBudget};
use spillgate_lookup::{Artifact, LookupError};
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_search::{
    Passage, SearchPage, SearchQuery, SeveralPage, paths_at, search, search_several,
};
use spillgate_store::MemoryStore;
use spillgate_text::{TokenCounter, Tokenizer};

/// Stores a text like a tool result, however small it is.
fn artifact(text: &str) -> Artifact {
    let everything = Rule {
        max_bytes: Some(1),
        profile: Some(Profile::Handle),
        ..Rule::default()
    };
    let offloader = Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::default().under(everything),
        Tokenizer::Heuristic.counter(),
        Audience::default(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    );
    let outcome = offloader.stream(Origin::tool("test"), &mut text.as_bytes(), &mut |_| {});
    match outcome.unwrap() {
        Outcome::Offloaded(offloaded) => offloader.artifact(offloaded.receipt.handle()).unwrap(),
        other => panic!("not stored: {other:?}"),
    }
}

fn find(artifact: &Artifact, words: &str, budget: u64) -> SearchPage {
    let counter = Tokenizer::O200kBase.counter();
    let query = SearchQuery::new(words, TokenBudget::new(budget));
    let page = search(artifact, &query, &*counter).unwrap();
    check(artifact, &page, budget, &*counter);
    page
}

/// Checks what holds for every page.
fn check(artifact: &Artifact, page: &SearchPage, budget: u64, counter: &dyn TokenCounter) {
    let rendered = page.render();
    assert_eq!(page.tokens, counter.count(&rendered));
    assert!(
        page.tokens <= TokenBudget::new(budget).get(),
        "{} of {budget}",
        page.tokens
    );
    let view = artifact.view();
    let mut shown = Vec::new();
    for passage in &page.passages {
        let (first, last) = (passage.lines.first, passage.lines.last);
        assert!(
            (1..=last).contains(&first) && last <= view.lines(),
            "{first}-{last}"
        );
        let (start, end) = (
            view.offset_of_line(first).unwrap(),
            view.offset_of_line(last + 1).unwrap(),
        );
        let lines = String::from_utf8(view.source().bytes(start, end).unwrap()).unwrap();
        match passage.is_cut {
            true => assert!(lines.contains(&passage.text)),
            false => assert_eq!(lines.strip_suffix('\n').unwrap_or(&lines), passage.text),
        }
        shown.push((first, last));
    }
    shown.sort_unstable();
    for pair in shown.windows(2) {
        assert!(pair[0].1 < pair[1].0, "{shown:?} overlap");
    }
}

fn log() -> String {
    let line = |i: usize| match i {
        700 => "10:11:40 WARN  DataNode: blk_-4217 has 1 replica, 3 are wanted\n".to_owned(),
        1200 => {
            "10:20:00 ERROR sshd[77]: Failed password for root from 10.0.0.7 port 2201\n".to_owned()
        }
        _ => format!(
            "10:{:02}:{:02} INFO  PacketResponder {} for block blk_{i} terminating\n",
            i / 60,
            i % 60,
            i % 3
        ),
    };
    (0..2000).map(line).collect()
}
