//! Tests of recording and replaying.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use spillgate_llm::{ChatModel, ErrorKind, Message, NoDeltas, Scripted, ToolCall};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// A request that contains a nonce twice: in its wrapper and elsewhere.
fn request(text: &str, nonce: &str) -> Request {
    Request {
        system: format!("Answer in <ai-agent-{nonce}-FINAL format=\"text\">."),
        messages: vec![Message::User(format!("BEGIN {nonce}\n{text}\nEND {nonce}"))],
        max_output_tokens: 100,
        ..Request::default()
    }
}

/// A model that wraps its answers as instructed, numbers them, and sometimes fails.
fn wrapping() -> Scripted {
    Scripted::new(|seen| {
        let system = &seen.request.system;
        let nonce = &system[nonces(system)[0].clone()];
        if seen.number % 4 == 3 {
            return Err(LlmError::new(
                ErrorKind::Provider,
                Scripted::name(),
                "overloaded",
            ));
        }
        let text = format!(
            "<ai-agent-{nonce}-FINAL>{}</ai-agent-{nonce}-FINAL>",
            seen.number
        );
        Ok(Reply {
            calls: vec![ToolCall {
                id: "call_0".to_owned(),
                name: "Say".to_owned(),
                arguments: format!("{{\"nonce\":\"{nonce}\"}}"),
            }],
            ..Scripted::says(text)
        })
    })
}

/// Returns the outcome of each request.
fn ask(model: &dyn ChatModel, requests: &[Request]) -> Vec<Result<Reply, LlmError>> {
    block_on(async {
        let mut replies = Vec::new();
        for request in requests {
            replies.push(model.chat(request, &NoDeltas).await);
        }
        replies
    })
}

fn record(path: &Path, requests: &[Request]) -> Vec<Result<Reply, LlmError>> {
    ask(&Recorder::new(wrapping(), path).unwrap(), requests)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_recorded_is_played_with_the_nonces_of_now(
        asked in prop::collection::vec(("[a-c]{0,2}|\\PC{0,20}", "[0-9a-f]{32}", "[0-9a-f]{32}"), 1..8),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cassette.jsonl");
        let then: Vec<Request> = asked.iter().map(|(text, then, _)| request(text, then)).collect();
        let now: Vec<Request> = asked.iter().map(|(text, _, now)| request(text, now)).collect();
        let recorded = record(&path, &then);
        let same = ask(&Replayer::open(&path).unwrap(), &then);
        prop_assert_eq!(&same, &recorded);
        let replayer = Replayer::open(&path).unwrap();
        let played = ask(&replayer, &now);
        prop_assert_eq!(replayer.left(), 0);
        let expected = ask(&wrapping(), &now);
        for (played, expected) in played.into_iter().zip(expected) {
            match (played, expected) {
                (Ok(played), Ok(expected)) => {
                    prop_assert_eq!(played.text, expected.text);
                    prop_assert_eq!(played.calls, expected.calls);
                }
                (played, expected) => prop_assert_eq!(played, expected),
            }
        }
    }
}

const NONCE: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_request_that_was_not_recorded_is_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cassette.jsonl");
    record(&path, &[request("a", NONCE), request("a", NONCE)]);
    let replayer = Replayer::open(&path).unwrap();
    let asked = ["a", "b", "a", "a"].map(|text| request(text, NONCE));
    let errors: Vec<Option<String>> = ask(&replayer, &asked)
        .into_iter()
        .map(|reply| {
            let error = reply.err()?;
            assert!(!error.kind.is_transient(), "{error}");
            Some(error.message)
        })
        .collect();
    let missing = "the request is not on the cassette (151 bytes, 1 messages); record it again";
    let spent = "the request is on the cassette 2 times and was asked once more";
    assert_eq!(
        errors,
        [None, Some(missing.to_owned()), None, Some(spent.to_owned())]
    );
}

#[test]
fn more_may_vary_than_nonces() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cassette.jsonl");
    record(&path, &[request("of day 17", NONCE)]);
    let day = |text: &str| {
        let mut ranges = nonces(text);
        ranges.extend(text.find("day ").map(|at| at + 4..at + 6));
        ranges
    };
    let replayer = Replayer::with(&path, Box::new(day)).unwrap();
    let now = [request("of day 18", &NONCE.replace('0', "f"))];
    assert!(ask(&replayer, &now)[0].is_ok());
}

#[test]
fn a_cassette_is_its_owner_s_and_of_one_model() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cassette.jsonl");
    record(&path, &[request("a", NONCE)]);
    record(&path, &[request("b", NONCE)]);
    let replayer = Replayer::open(&path).unwrap();
    assert_eq!(replayer.left(), 2);
    assert_eq!(replayer.target(), Scripted::name());
    assert_eq!(replayer.limits(), wrapping().limits());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let other = Recorder::new(wrapping().with_limits(10, 5), &path).unwrap_err();
    assert_eq!(
        other.to_string(),
        "the file is no cassette of this model with these limits"
    );
}

#[test]
fn a_file_that_is_no_cassette_is_not_played() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c");
    let head = r#"{"cassette":1,"target":"a/b","limits":{"window":2,"max_output":1}}"#;
    let cases = [
        (
            String::new(),
            "line 1: not the beginning of a cassette: EOF",
        ),
        (
            "{}".to_owned(),
            "line 1: not the beginning of a cassette: missing field `cassette`",
        ),
        (
            head.replace(":1,\"t", ":2,\"t"),
            "line 1: version 2 is not 1",
        ),
        (
            format!("{head}\n{{\"request\""),
            "line 2: EOF while parsing",
        ),
    ];
    for (text, message) in cases {
        std::fs::write(&path, text).unwrap();
        let error = Replayer::open(&path).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
