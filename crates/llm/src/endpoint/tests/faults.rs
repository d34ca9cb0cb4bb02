//! Tests failures of a connection, and the errors that result from them.

use std::fmt::Write as _;

use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::{ErrorKind, NoDeltas, RetryPolicy, Retrying};

async fn error(model: &EndpointModel) -> LlmError {
    model.chat(&hello(), &NoDeltas).await.unwrap_err()
}

const HALF: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\n";
const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

/// A name, whether streaming is requested, what the server does, and the expected kind and message
/// of the error.
type Case = (&'static str, bool, Vec<Step>, ErrorKind, &'static str);

fn head() -> Step {
    send(STREAM_HEAD)
}

fn cuts() -> Vec<Case> {
    let cut = |what, script, message| (what, true, script, ErrorKind::CutOff, message);
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nff\r\n";
    let short = vec![send(WHOLE), send("content-length: 100\r\n\r\n{")];
    let ended = "the answer ended before its end";
    let not_http = vec![send("SSH-2.0-x\r\n\r\n")];
    let lost = ErrorKind::Connection;
    vec![
        cut("before the end", vec![head(), send(HALF)], ended),
        cut("in an event", vec![head(), send(&HALF[..20])], ended),
        cut("in a chunk", vec![send(chunked), send(HALF)], "body"),
        (
            "short of its length",
            false,
            short,
            ErrorKind::CutOff,
            "body",
        ),
        ("closed without a word", true, vec![], lost, "connection"),
        ("not HTTP", true, not_http, lost, "invalid HTTP"),
    ]
}

fn silences() -> Vec<Case> {
    let late = |what, stream, script, message| (what, stream, script, ErrorKind::Timeout, message);
    let pause = || Step::Wait(Duration::from_secs(3));
    let drip = (0..40).flat_map(|_| [send(": drip\n\n"), Step::Wait(Duration::from_millis(100))]);
    let drip = std::iter::once(head()).chain(drip).collect();
    let midst = vec![head(), send(HALF), pause()];
    let none = "no answer within 400ms";
    vec![
        late("silent", true, vec![pause()], none),
        late("silent after the head", true, vec![head(), pause()], none),
        late(
            "silent in the midst",
            true,
            midst,
            "nothing more of the answer within 300ms",
        ),
        late(
            "drips for ever",
            true,
            drip,
            "the answer did not end within 1.5s",
        ),
        late(
            "whole and silent",
            false,
            vec![pause()],
            "no answer within 1.5s",
        ),
    ]
}

fn nonsense() -> Vec<Case> {
    let whole = |what, text: &str, message| {
        let body = format!("content-length: {}\r\n\r\n{text}", text.len());
        let script = vec![send(WHOLE), send(&body)];
        (what, false, script, ErrorKind::BadReply, message)
    };
    let stream = |what, bytes: &[u8], message| {
        let script = vec![head(), Step::Send(bytes.to_vec())];
        (what, true, script, ErrorKind::BadReply, message)
    };
    let upstream = b"data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n".to_vec();
    let broke_off = vec![head(), send(HALF), Step::Send(upstream)];
    let not_json =
        "the answer is not what the protocol says (key must be a string at line 1 column 2): {oops";
    vec![
        whole("not JSON", "{oops", not_json),
        whole("empty", "", "the answer is empty"),
        whole(
            "no choices",
            "{\"choices\":[]}",
            "the answer has no choices",
        ),
        stream("broken event", b"data: {oops\n\n", not_json),
        stream(
            "not UTF-8",
            b"data: \xff\xfe\n\n",
            "the answer is not UTF-8",
        ),
        stream(
            "nothing but the end",
            b"data: [DONE]\n\n",
            "the answer has no choices",
        ),
        (
            "an error in the midst",
            true,
            broke_off,
            ErrorKind::Provider,
            "the provider reported an error: upstream",
        ),
    ]
}

#[tokio::test]
async fn what_happens_on_the_wire_has_a_kind() {
    for (what, stream, script, kind, message) in [cuts(), silences(), nonsense()].concat() {
        let url = raw(vec![script]).await;
        let error = error(&model(Dialect::OpenAi, url.as_str(), stream)).await;
        assert_eq!(error.kind, kind, "{what}: {error}");
        assert!(error.message.contains(message), "{what}: {error}");
    }
}

#[tokio::test]
async fn anthropic_s_streams_have_an_end_and_errors_inside() {
    let start = json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } });
    let ending = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let too_long = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "prompt is too long: 3 tokens > 2 maximum" } });
    let cases = [
        (
            vec![start.clone(), ending],
            ErrorKind::CutOff,
            "the answer ended before its end",
        ),
        (
            vec![start.clone(), overloaded],
            ErrorKind::Provider,
            "the provider reported an error: Overloaded",
        ),
        (
            vec![start, too_long],
            ErrorKind::ContextLength,
            "the provider reported an error: prompt is too long: 3 tokens > 2 maximum",
        ),
    ];
    for (of, kind, message) in cases {
        let url = raw(vec![vec![send(STREAM_HEAD), send(&events(&of))]]).await;
        let error = error(&model(Dialect::Anthropic, url.as_str(), true)).await;
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
    }
}

#[tokio::test]
async fn nobody_at_home() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = error(&model(Dialect::OpenAi, &url, true)).await;
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.message.contains("refused"), "{error}");
    assert!(!error.message.contains("127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_for_ever() {
    let line = "x".repeat(1 << 20);
    let mut script = vec![send(STREAM_HEAD), send("data: ")];
    script.extend((0..3).map(|_| send(&line)));
    let url = raw(vec![script]).await;
    let mut config = config(Dialect::OpenAi, url.as_str(), true);
    config.timeouts = Timeouts::default();
    let limits = ModelLimits {
        window: 1,
        max_output: 1,
    };
    let model = Endpoint::new(&config).unwrap();
    let error = error(&model.model(Target::new("a", "b"), limits)).await;
    assert_eq!(error.kind, ErrorKind::BadReply);
    assert_eq!(error.message, "a line of the answer is longer than 2 MiB");
}

#[tokio::test]
async fn an_error_says_what_the_provider_said_and_when_to_come_back() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(429)
        .insert_header("retry-after", "3")
        .insert_header("x-request-id", "req_9")
        .set_body_json(
            json!({ "error": { "message": "Slow\ndown", "code": "rate_limit_exceeded" } }),
        );
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let error = error(&model(Dialect::OpenAi, &server.uri(), true)).await;
    assert_eq!(error.kind, ErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
    assert_eq!(
        error.to_string(),
        "test/model-1: HTTP 429: Slow down (request req_9)"
    );
}

#[tokio::test]
async fn a_key_does_not_follow_a_redirect() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(307).insert_header("location", "http://127.0.0.1:9/steal");
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let error = error(&model(Dialect::Anthropic, &server.uri(), true)).await;
    assert_eq!(error.kind, ErrorKind::BadRequest);
    assert_eq!(
        error.message,
        "HTTP 307: the server points elsewhere; redirects are not followed"
    );
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    let answer = |status: &str, more: &str, body: &str| {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n");
        vec![send(&format!("{head}{more}\r\n{body}"))]
    };
    let json = "content-type: application/json\r\n";
    let good = answer(
        "200 OK",
        json,
        "{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}",
    );
    let failed = || answer("500 Internal Server Error", "", "");
    let limited = answer("429 Too Many Requests", "retry-after-ms: 200\r\n", "");
    let cases = [
        (vec![limited], 200),
        (vec![failed(), failed()], 0),
        (vec![answer("200 OK", json, "{oops")], 0),
        (vec![vec![head(), send(HALF)], vec![]], 0),
        (vec![vec![Step::Wait(Duration::from_secs(2))]], 400),
    ];
    for (mut scripts, at_least) in cases {
        let what = format!("{scripts:?}");
        scripts.push(good.clone());
        let model = model(Dialect::OpenAi, raw(scripts).await.as_str(), true);
        let policy = RetryPolicy {
            first: Duration::from_millis(5),
            ..RetryPolicy::default()
        };
        let start = Instant::now();
        let reply = Retrying::new(model, policy).chat(&hello(), &NoDeltas).await;
        assert_eq!(reply.unwrap().text, "hi", "{what}");
        assert!(start.elapsed() >= Duration::from_millis(at_least), "{what}");
    }
}

/// Returns all the ways in which a server can repeat a key.
fn echoes() -> Vec<ResponseTemplate> {
    let said = format!("your key {KEY} and {TOKEN} are wrong");
    let event = |value: serde_json::Value| format!("data: {value}\n\n");
    let stream = |text: String| ResponseTemplate::new(200).set_body_raw(text, "text/event-stream");
    vec![
        ResponseTemplate::new(401).set_body_json(json!({ "error": { "message": said } })),
        ResponseTemplate::new(401).set_body_string(said.clone()),
        ResponseTemplate::new(400).set_body_json(json!({ "detail": [{ "msg": said }] })),
        ResponseTemplate::new(500)
            .insert_header("x-request-id", KEY)
            .set_body_string(format!("{}{KEY}", " ".repeat(60_000))),
        ResponseTemplate::new(400).set_body_string(format!("{}{KEY}", "x".repeat(490))),
        ResponseTemplate::new(200).set_body_raw(format!("{{{said}"), "application/json"),
        stream(event(json!({ "error": { "message": said } }))),
        stream(format!("data: {{{said}\n\n")),
        stream(event(
            json!({ "choices": [{ "delta": { "content": "x" }, "finish_reason": KEY }] }),
        )),
    ]
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_key_is_in_any_error_log_or_debug_output() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let mut shown = String::new();
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        for answer in echoes() {
            let server = MockServer::start().await;
            Mock::given(any()).respond_with(answer).mount(&server).await;
            let config = config(dialect, &server.uri(), true);
            let model = model(dialect, &server.uri(), true);
            match model.chat(&hello(), &NoDeltas).await {
                Ok(reply) => writeln!(shown, "{reply:?}"),
                Err(error) => {
                    assert!(error.message.chars().count() <= 500, "{error}");
                    writeln!(shown, "{error} {error:?}")
                }
            }
            .unwrap();
            writeln!(shown, "{config:?} {:?} {model:?}", model.endpoint).unwrap();
        }
    }
    let log = String::from_utf8(log.0.lock().clone()).unwrap();
    assert!(log.contains("a request to a model failed"), "{log}");
    assert!(shown.contains("[key]"), "{shown}");
    for secret in [KEY, TOKEN, &KEY[..12], &TOKEN[..8]] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}
