//! Tests large, empty and unusual outputs: each mode answers, or says that it could not.

use std::sync::Arc;

use spillgate_extract::{Extraction, ExtractionSettings, Mode, Status, Strategy};
use spillgate_llm::Scripted;
use spillgate_testkit::{log, noise, records};

use super::{asked, data, offloader, says, stored, stored_empty};

/// A model that answers every request immediately, in every mode. It finds something only if the
/// data contains the record 17 or `E4217`.
fn model() -> Arc<Scripted> {
    Arc::new(Scripted::new(|seen| {
        let answer = match data(&seen.request).contains("id\": 17,")
            || data(&seen.request).contains("E4217")
        {
            true => "\"E4217\"",
            false => "NO RELEVANT DATA FOUND\nsomething else",
        };
        Ok(says(&seen.request, answer))
    }))
}

async fn in_every_mode(bytes: &[u8], what: &str) -> Vec<Extraction> {
    let offloader = offloader();
    let handle = match bytes.is_empty() {
        true => stored_empty(&offloader),
        false => stored(&offloader, bytes),
    };
    let mut all = Vec::new();
    for mode in Mode::ALL {
        let found = asked(
            &offloader,
            handle,
            Some(model()),
            ExtractionSettings::default(),
            mode,
            "the code E4217",
        )
        .await;
        let shown = found.text();
        // Nothing is cut silently.
        let whole = found.coverage.is_whole();
        let says =
            shown.contains("TRUNCATED") || shown.contains("] of ") || shown.contains("read ");
        assert!(whole || says, "{what} {mode}: {shown}");
        let tokens = offloader.counter().count(&shown);
        assert!(tokens < 2700, "{what} {mode}: {tokens} tokens");
        all.push(found);
    }
    all
}

fn strategies(all: &[Extraction]) -> Vec<&'static str> {
    all.iter().map(|one| one.strategy.name()).collect()
}

#[tokio::test]
async fn a_json_line_of_five_megabytes() {
    let text = records(60_000);
    assert!(text.len() > 5_000_000 && !text.contains('\n'));
    let all = in_every_mode(text.as_bytes(), "json").await;
    assert_eq!(
        strategies(&all),
        [
            "full-chunked",
            "full-chunked",
            "read-grep",
            "truncate",
            "search"
        ]
    );
    // The output takes more chunks than `maxChunks`, but it is read completely, not truncated.
    assert!(all[0].coverage.chunks > 1 && all[0].coverage.is_whole());
    assert_eq!(all[0].status, Status::NotFound);
}

#[tokio::test]
async fn a_log_of_twenty_megabytes() {
    let text = log(320_000);
    assert!(text.len() > 20_000_000);
    let all = in_every_mode(text.as_bytes(), "log").await;
    assert_eq!(
        strategies(&all),
        [
            "read-grep",
            "full-chunked",
            "read-grep",
            "truncate",
            "search"
        ]
    );
    assert!(all[1].coverage.chunks > 10);
    // There are more chunks than may be read. The most promising ones are read, and the answer says
    // so.
    assert_eq!(all[1].status, Status::Partial);
    assert!(all[1].body.contains("E4217"), "{}", all[1].body);
}

#[tokio::test]
async fn a_text_of_three_hundred_pages() {
    let page = "It was a dark and stormy night; the rain fell in torrents.\n\n".repeat(40);
    let text: String = (1..=300).map(|n| format!("# Page {n}\n\n{page}")).collect();
    let all = in_every_mode(text.as_bytes(), "text").await;
    assert_eq!(
        strategies(&all),
        [
            "read-grep",
            "full-chunked",
            "read-grep",
            "truncate",
            "search"
        ]
    );
}

#[tokio::test]
async fn an_output_of_nothing() {
    let all = in_every_mode(b"", "empty").await;
    assert_eq!(
        strategies(&all),
        [
            "full-chunked",
            "full-chunked",
            "read-grep",
            "truncate",
            "search"
        ]
    );
    for found in &all {
        assert_eq!(found.calls, 0, "{}", found.strategy);
        assert!(
            found.body.to_lowercase().contains("empty"),
            "{}: {}",
            found.strategy,
            found.body
        );
        assert_ne!(found.status, Status::Failed);
    }
}

#[tokio::test]
async fn bytes_that_are_no_text() {
    let all = in_every_mode(&noise(3_000_000), "binary").await;
    assert_eq!(all[3].strategy, Strategy::Truncate);
    for found in all {
        assert_ne!(found.status, Status::Failed, "{}", found.strategy);
    }
}
