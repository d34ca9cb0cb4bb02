//! Tests that an extraction ends as `docs/extraction.md` says under "When a provider fails",
//! whatever the provider does. The servers and clients are real.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::json;
use spillgate_extract::{
    Asked as Question, Extraction, ExtractionSettings, Extractor, Mode, NoWatch, Status,
};
use spillgate_testkit::log;
use wiremock::ResponseTemplate;

use super::provider::{Asked, Dialect, Provider, Wire, catalogue, model};
use super::{offloader, stored};

/// A fault: its name, the number of retries, and the provider's behaviour.
struct Fault {
    what: &'static str,
    retries: u32,
    wire: Wire,
}

fn fault(
    what: &'static str,
    retries: u32,
    script: impl Fn(&Asked) -> ResponseTemplate + Send + Sync + 'static,
) -> Fault {
    let wire = Wire::Http(Arc::new(script));
    Fault {
        what,
        retries,
        wire,
    }
}

fn raw(what: &'static str, wire: Wire) -> Fault {
    Fault {
        what,
        retries: 1,
        wire,
    }
}

const GOOD: &str = "\"code=E4217\" [L501]";

fn limited(wait: &str) -> ResponseTemplate {
    let body = json!({"error": {"message": "Slow down", "type": "rate_limit_error"}});
    ResponseTemplate::new(429)
        .insert_header("retry-after", wait)
        .set_body_json(body)
}

fn down() -> ResponseTemplate {
    ResponseTemplate::new(500).set_body_json(json!({"error": {"message": "Something broke"}}))
}

fn too_long() -> ResponseTemplate {
    let message = "prompt is too long: 9999 tokens > 8192 maximum";
    ResponseTemplate::new(400)
        .set_body_json(json!({"error": {"type": "invalid_request_error", "message": message}}))
}

fn statuses() -> Vec<Fault> {
    let once = |fault: fn() -> ResponseTemplate| {
        move |asked: &Asked| match asked.number {
            0 => fault(),
            _ => asked.answers(GOOD),
        }
    };
    let no_key = json!({"error": {"message": "Incorrect API key", "type": "authentication_error"}});
    vec![
        fault("429 with Retry-After: 0, once", 1, once(|| limited("0"))),
        fault("429 with Retry-After: 0, always", 1, |_| limited("0")),
        fault("429 with Retry-After: 3600", 1, |_| limited("3600")),
        fault("500, once", 1, once(down)),
        fault("500, always", 1, |_| down()),
        fault("401", 1, move |_| {
            ResponseTemplate::new(401).set_body_json(&no_key)
        }),
        fault("400", 1, |_| {
            ResponseTemplate::new(400).set_body_string("no such model")
        }),
    ]
}

fn wires() -> Vec<Fault> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\n";
    let ping = ": ping\n\n";
    let long = Duration::from_secs(5);
    vec![
        raw("nobody there", Wire::Gone),
        raw("no answer", Wire::Bytes(String::new(), long)),
        raw(
            "silence in a stream",
            Wire::Bytes(format!("{head}{ping}"), long),
        ),
        raw(
            "a cut stream",
            Wire::Bytes(format!("{head}{ping}{part}"), Duration::ZERO),
        ),
        fault("bad JSON", 1, |_| {
            ResponseTemplate::new(200).set_body_raw("{\"choices\": [", "application/json")
        }),
    ]
}

fn replies() -> Vec<Fault> {
    vec![
        fault("no wrapper", 1, |asked| asked.says("It is E4217.")),
        fault("no wrapper, once", 1, |asked| match asked.number {
            0 => asked.says("It is E4217."),
            _ => asked.answers(GOOD),
        }),
        fault("two wrappers", 1, |asked| {
            let two = ["one", "two"].map(|text| spillgate_testkit::in_slot(&asked.body, text));
            asked.says(&two.concat())
        }),
        fault("empty content", 1, |asked| asked.says("")),
        fault("empty wrapper", 1, |asked| asked.answers(" ")),
        fault("cut at its limit", 1, |asked| {
            let whole = spillgate_testkit::in_slot(&asked.body, "It is");
            let half = whole.split("</").next().unwrap();
            asked.stops(half, "length", "max_tokens")
        }),
        fault("a refusal", 1, |asked| {
            asked.stops("I can't help with that.", "content_filter", "refusal")
        }),
        // A provider that counts tokens differently than we do, so that half of the log is too long
        // for it.
        fault("too long for the model", 1, |asked| {
            let is_child = asked.body.contains("\"tools\"");
            let most = if is_child { 10_000 } else { 20_000 };
            match asked.body.len() {
                long if long > most => too_long(),
                _ if is_child && asked.number == 0 => asked.reads(json!({"lines": 200})),
                _ if is_child || asked.body.contains("E4217") => asked.answers(GOOD),
                _ => asked.answers("NO RELEVANT DATA FOUND"),
            }
        }),
    ]
}

/// Asks about a log of 600 lines.
async fn extract(wire: &Fault, dialect: Dialect, mode: Mode) -> (Extraction, usize) {
    let provider = Provider::start(dialect, wire.wire.clone()).await;
    let catalogue = catalogue(dialect, &[&provider.url], wire.retries);
    let extraction = asked(&catalogue, mode, ExtractionSettings::default(), 600).await;
    (extraction, provider.asked())
}

async fn asked(
    catalogue: &spillgate_llm::Catalogue,
    mode: Mode,
    settings: ExtractionSettings,
    lines: usize,
) -> Extraction {
    let offloader = offloader();
    let handle = stored(&offloader, log(lines).as_bytes());
    let extractor = Extractor::new(offloader, Some(model(catalogue)), settings);
    let question = Question {
        handle,
        extract: "the error".to_owned(),
        mode,
    };
    extractor.extract(&question, &NoWatch).await.unwrap()
}

/// Formats one line with the outcome, the numbers of calls and requests, and the first lines of the
/// answer.
fn told(of: &Extraction, requests: usize) -> String {
    let mut lines = of.body.lines();
    let mut first = lines.next().unwrap_or_default();
    if let Some(mode) = first.strip_prefix("WARNING: tool_output fallback to truncate (") {
        assert!(mode.ends_with(" failed)."), "{first}");
        first = lines.next().unwrap_or_default();
    }
    let status = serde_json::to_value(of.status).unwrap();
    let first = first.split(" (os error").next().unwrap_or_default();
    format!(
        "{} {} ({} calls, {requests} requests): {first}",
        status.as_str().unwrap(),
        of.strategy,
        of.calls
    )
}

/// Returns a table with the outcome of each fault. The snapshots of these tables show how
/// extractions end.
async fn table(faults: Vec<Fault>, dialects: &[Dialect]) -> String {
    let one = |fault: Fault| async move {
        let mut text = format!("{}\n", fault.what);
        for mode in [Mode::FullChunked, Mode::ReadGrep] {
            let mut same: Option<String> = None;
            for &dialect in dialects {
                let (extraction, requests) = extract(&fault, dialect, mode).await;
                if extraction.status == Status::Failed {
                    assert!(extraction.body.contains("TRUNCATED"), "{}", extraction.body);
                }
                let told = told(&extraction, requests);
                assert_eq!(
                    *same.get_or_insert_with(|| told.clone()),
                    told,
                    "{dialect:?}"
                );
            }
            writeln!(text, "  {mode}: {}", same.unwrap()).unwrap();
        }
        text
    };
    join_all(faults.into_iter().map(one)).await.concat()
}

const BOTH: [Dialect; 2] = [Dialect::OpenAi, Dialect::Anthropic];

#[tokio::test]
async fn statuses_end_as_documented() {
    assert_snapshot!(table(statuses(), &BOTH).await, @r#"
    429 with Retry-After: 0, once
      full-chunked: found full-chunked (1 calls, 2 requests): "code=E4217" [L501]
      read-grep: found read-grep (1 calls, 2 requests): "code=E4217" [L501]
    429 with Retry-After: 0, always
      full-chunked: failed truncate (1 calls, 2 requests): Reason: p0/reader: HTTP 429: Slow down
      read-grep: failed truncate (1 calls, 2 requests): Reason: p0/reader: HTTP 429: Slow down
    429 with Retry-After: 3600
      full-chunked: failed truncate (1 calls, 1 requests): Reason: p0/reader: HTTP 429: Slow down
      read-grep: failed truncate (1 calls, 1 requests): Reason: p0/reader: HTTP 429: Slow down
    500, once
      full-chunked: found full-chunked (1 calls, 2 requests): "code=E4217" [L501]
      read-grep: found read-grep (1 calls, 2 requests): "code=E4217" [L501]
    500, always
      full-chunked: failed truncate (1 calls, 2 requests): Reason: p0/reader: HTTP 500: Something broke
      read-grep: failed truncate (1 calls, 2 requests): Reason: p0/reader: HTTP 500: Something broke
    401
      full-chunked: failed truncate (1 calls, 1 requests): Reason: p0/reader: HTTP 401: Incorrect API key
      read-grep: failed truncate (1 calls, 1 requests): Reason: p0/reader: HTTP 401: Incorrect API key
    400
      full-chunked: failed truncate (1 calls, 1 requests): Reason: p0/reader: HTTP 400: no such model
      read-grep: failed truncate (1 calls, 1 requests): Reason: p0/reader: HTTP 400: no such model
    "#);
}

#[tokio::test]
async fn broken_connections_end_as_documented() {
    assert_snapshot!(table(wires(), &BOTH[..1]).await, @r#"
    nobody there
      full-chunked: failed truncate (1 calls, 0 requests): Reason: p0/reader: error sending request: client error (Connect): tcp connect error: Connection refused
      read-grep: failed truncate (1 calls, 0 requests): Reason: p0/reader: error sending request: client error (Connect): tcp connect error: Connection refused
    no answer
      full-chunked: failed truncate (1 calls, 2 requests): Reason: p0/reader: no answer within 1s
      read-grep: failed truncate (1 calls, 2 requests): Reason: p0/reader: no answer within 1s
    silence in a stream
      full-chunked: failed truncate (1 calls, 2 requests): Reason: p0/reader: nothing more of the answer within 1s
      read-grep: failed truncate (1 calls, 2 requests): Reason: p0/reader: nothing more of the answer within 1s
    a cut stream
      full-chunked: failed truncate (1 calls, 2 requests): Reason: p0/reader: the answer ended before its end
      read-grep: failed truncate (1 calls, 2 requests): Reason: p0/reader: the answer ended before its end
    bad JSON
      full-chunked: failed truncate (1 calls, 2 requests): Reason: p0/reader: the answer is not what the protocol says (EOF while parsing a list at line 1 column 13): {"choices": [
      read-grep: failed truncate (1 calls, 2 requests): Reason: p0/reader: the answer is not what the protocol says (EOF while parsing a list at line 1 column 13): {"choices": [
    "#);
}

#[tokio::test]
async fn strange_replies_end_as_documented() {
    assert_snapshot!(table(replies(), &BOTH).await, @r#"
    no wrapper
      full-chunked: failed truncate (2 calls, 2 requests): Reason: failed to emit final report
      read-grep: failed truncate (2 calls, 2 requests): Reason: failed to emit final report
    no wrapper, once
      full-chunked: found full-chunked (2 calls, 2 requests): "code=E4217" [L501]
      read-grep: found read-grep (2 calls, 2 requests): "code=E4217" [L501]
    two wrappers
      full-chunked: failed truncate (2 calls, 2 requests): Reason: emitted two different final reports
      read-grep: failed truncate (2 calls, 2 requests): Reason: emitted two different final reports
    empty content
      full-chunked: failed truncate (2 calls, 2 requests): Reason: received empty content
      read-grep: failed truncate (2 calls, 2 requests): Reason: received empty content
    empty wrapper
      full-chunked: failed truncate (2 calls, 2 requests): Reason: received empty content
      read-grep: failed truncate (2 calls, 2 requests): Reason: received empty content
    cut at its limit
      full-chunked: failed truncate (2 calls, 2 requests): Reason: emitted a final report that was cut off
      read-grep: failed truncate (2 calls, 2 requests): Reason: emitted a final report that was cut off
    a refusal
      full-chunked: failed truncate (1 calls, 1 requests): Reason: the model refused
      read-grep: failed truncate (1 calls, 1 requests): Reason: the model refused
    too long for the model
      full-chunked: found full-chunked (7 calls, 7 requests): "code=E4217" [L501]
      read-grep: found read-grep (3 calls, 3 requests): "code=E4217" [L501]
    "#);
}

#[tokio::test]
async fn a_chunk_over_the_context_is_split_and_all_of_it_is_read() {
    let long = replies().pop().unwrap();
    assert_eq!(long.what, "too long for the model");
    let (found, _) = extract(&long, Dialect::OpenAi, Mode::FullChunked).await;
    assert!(found.coverage.chunks > 1 && found.coverage.failed_chunks == 0);
    assert!(found.coverage.is_whole(), "{:?}", found.coverage);
    assert_eq!(found.citations[0].lines.first, 501);
    // If no chunk is ever short enough, each split costs at most two requests.
    let always = fault("", 1, |_| too_long());
    for (mode, most) in [(Mode::FullChunked, 1 + 2 * 64), (Mode::ReadGrep, 1)] {
        let (failed, requests) = extract(&always, Dialect::OpenAi, mode).await;
        assert_eq!(failed.status, Status::Failed);
        assert!(requests <= most, "{mode}: {requests}");
    }
}

/// Tests that, if a target fails, the next one is asked, and that, if all targets fail, the error
/// names all of them.
#[tokio::test]
async fn targets_are_asked_in_turn() {
    let up = |asked: &Asked| asked.answers(GOOD);
    let first = Provider::start(Dialect::OpenAi, fault("", 0, |_| down()).wire).await;
    let other = Provider::start(Dialect::OpenAi, fault("", 0, up).wire).await;
    let gone = Provider::start(Dialect::OpenAi, Wire::Gone).await;
    let ask = |urls: Vec<String>, mode| async move {
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let catalogue = catalogue(Dialect::OpenAi, &urls, 0);
        asked(&catalogue, mode, ExtractionSettings::default(), 600).await
    };
    for mode in [Mode::FullChunked, Mode::ReadGrep] {
        let found = ask(vec![first.url.clone(), other.url.clone()], mode).await;
        assert_eq!((found.status, found.calls), (Status::Found, 1));
        let target = found.trace.children[1].children[0].target.clone();
        assert_eq!(target.unwrap(), "p1/reader");
        let failed = ask(vec![first.url.clone(), gone.url.clone()], mode).await;
        assert_eq!(failed.status, Status::Failed);
        let reason = failed.body.lines().nth(1).unwrap();
        assert!(reason.starts_with("Reason: p1/reader: "), "{reason}");
        let before = "; tried before: p0/reader: HTTP 500: Something broke";
        assert!(reason.ends_with(before), "{reason}");
    }
    assert_eq!((first.asked(), other.asked()), (4, 2));
}

/// Tests that, if one of several chunks fails, the others are read, and the answer says that one is
/// missing.
#[tokio::test]
async fn a_chunk_that_fails_leaves_a_part() {
    // The ids of the failures differ, but the reason is the same, so it is reported once.
    let script = |asked: &Asked| match asked.body.contains("worker-3 processed batch id=1") {
        true => down().insert_header("x-request-id", format!("req-{}", asked.number)),
        false if asked.body.contains("E4217") => asked.answers(GOOD),
        false => asked.answers("NO RELEVANT DATA FOUND"),
    };
    let provider = Provider::start(Dialect::OpenAi, fault("", 0, script).wire).await;
    let settings = ExtractionSettings {
        chunk_tokens: 1000,
        ..ExtractionSettings::default()
    };
    let catalogue = catalogue(Dialect::OpenAi, &[&provider.url], 0);
    let found = asked(&catalogue, Mode::FullChunked, settings, 600).await;
    assert_eq!(found.status, Status::Partial);
    assert!(found.coverage.failed_chunks > 1 && !found.coverage.is_whole());
    let note = found.body.lines().last().unwrap();
    let (failed, all) = (found.coverage.failed_chunks, found.coverage.chunks);
    let said = format!(
        "[{failed} of {all} chunks could not be read: p0/reader: HTTP 500: Something broke (request req-"
    );
    assert!(note.starts_with(&said), "{note}");
    assert_eq!(note.matches("HTTP 500").count(), 1, "{note}");
}

/// Tests that an answer for the calling model is limited even if a server ignores the limit of the
/// reply.
#[tokio::test]
async fn an_answer_without_end_is_cut() {
    let endless = |asked: &Asked| asked.answers(&"\"code=E4217\" [L501] and so on\n".repeat(9000));
    let apart = move |asked: &Asked| match asked.body.contains("CHUNK OUTPUTS") {
        true => down(),
        false => endless(asked),
    };
    let nothing = |asked: &Asked| {
        let words = "words and words\n".repeat(9000);
        asked.answers(&format!("NO RELEVANT DATA FOUND\n{words}"))
    };
    let settings = ExtractionSettings {
        chunk_tokens: 4000,
        answer_tokens: 500,
        ..ExtractionSettings::default()
    };
    let cut = "[CUT: the answer goes on";
    for (mode, wire, marks) in [
        (Mode::FullChunked, fault("", 0, endless), [cut, ""]),
        (Mode::ReadGrep, fault("", 0, endless), [cut, ""]),
        (
            Mode::FullChunked,
            fault("", 0, apart),
            ["# Chunk 1\n", "\n# Chunk 5\n"],
        ),
        (
            Mode::FullChunked,
            fault("", 0, nothing),
            ["characters in all]", ""],
        ),
    ] {
        let provider = Provider::start(Dialect::OpenAi, wire.wire).await;
        let catalogue = catalogue(Dialect::OpenAi, &[&provider.url], 0);
        let found = asked(&catalogue, mode, settings.clone(), 600).await;
        let tokens = offloader().counter().count(&found.text());
        assert!(tokens < 1500, "{mode}: {tokens}");
        let has_all = marks.iter().all(|mark| found.body.contains(mark));
        assert!(has_all, "{marks:?} {}", found.body);
    }
}

/// Tests that combined answers that are too long for the provider are combined in smaller batches.
#[tokio::test]
async fn a_reduction_over_the_context_is_done_in_rounds() {
    let script = |asked: &Asked| match asked.body.contains("CHUNK OUTPUTS") {
        true if asked.body.len() > 8000 => too_long(),
        true => asked.answers("put together"),
        false => asked.answers(&"worker-1 did it\n".repeat(150)),
    };
    let provider = Provider::start(Dialect::OpenAi, fault("", 0, script).wire).await;
    let settings = ExtractionSettings {
        chunk_tokens: 3000,
        ..ExtractionSettings::default()
    };
    let catalogue = catalogue(Dialect::OpenAi, &[&provider.url], 0);
    let found = asked(&catalogue, Mode::FullChunked, settings, 600).await;
    assert_eq!(found.status, Status::Found);
    assert!(found.body.starts_with("put together"), "{}", found.body);
    assert!(found.coverage.is_whole() && found.coverage.failed_chunks == 0);
}
