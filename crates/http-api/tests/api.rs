//! The API over its router, with a store on disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_artifact::TokenBudget;
use spillgate_http_api::{Api, ApiLimits, Caller};
use spillgate_offload::{NoLedger, Offloader, Policy, Rule};
use spillgate_query::{Child, Engine};
use spillgate_retrieval::{RetrievalTools, audience};
use spillgate_store::{FileStore, Lifetime};
use spillgate_testkit::{StoppedClock, log, records};
use spillgate_text::Tokenizer;
use tempfile::TempDir;
use tower::ServiceExt;

/// The API for one caller.
struct Door {
    router: Router,
    caller: &'static str,
}

/// An answer: its status, its head and its body.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("-", |value| value.to_str().unwrap())
    }
}

impl Door {
    fn at(base: &Path, caller: &'static str) -> Self {
        Self::with(base, caller, Rule::default())
    }

    fn with(base: &Path, caller: &'static str, rule: Rule) -> Self {
        Self::within(base, caller, rule, |limits| limits)
    }

    /// Opens the API with other limits.
    fn within(
        base: &Path,
        caller: &'static str,
        rule: Rule,
        change: impl FnOnce(ApiLimits) -> ApiLimits,
    ) -> Self {
        Self::to(Self::api(base, rule, change), caller)
    }

    fn to(api: Api, caller: &'static str) -> Self {
        let router = Router::new().nest_service("/v1", Arc::new(api).router());
        Self { router, caller }
    }

    fn api(base: &Path, rule: Rule, change: impl FnOnce(ApiLimits) -> ApiLimits) -> Api {
        let clock = Arc::new(StoppedClock::default());
        let store = Arc::new(FileStore::new(base, Lifetime::Durable, clock.clone()));
        let names = store.names().unwrap();
        let offloader = Offloader::new(
            store,
            Policy::new(rule, BTreeMap::new(), []).unwrap(),
            Tokenizer::Heuristic.counter(),
            audience::usual_tools(),
            clock,
            Arc::new(NoLedger),
        );
        let tools = RetrievalTools {
            offloader,
            page: TokenBudget::new(2500),
            engine: Engine::new(Child {
                program: "/nowhere/spillgate".into(),
                arguments: Vec::new(),
            }),
            extractor: None,
            session: None,
        };
        let limits = change(ApiLimits {
            body_bytes: 1 << 20,
            upload_bytes: Some(4 << 20),
            part_time: Duration::from_millis(200),
            upload_time: Duration::from_secs(60),
            uploads: 8,
        });
        Api::new(tools, names, limits, 2)
    }

    fn new() -> (TempDir, Self) {
        let base = tempfile::tempdir().unwrap();
        let door = Self::at(base.path(), "ann");
        (base, door)
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let mut request = request;
        let caller = Caller(self.caller.to_owned());
        request.extensions_mut().insert(caller);
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        Answer {
            status: head.status,
            headers: head.headers,
            body: to_bytes(body, usize::MAX).await.unwrap().to_vec(),
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap())
            .await
    }

    async fn post(&self, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(path).header("content-type", kind);
        self.send(request.body(body.into()).unwrap()).await
    }

    /// Stores a text and returns its handle.
    async fn stored(&self, text: &str) -> String {
        let answer = self.post("/v1/offload?tool=cat", "text/plain", text.to_owned());
        let answer = answer.await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
        answer.json()["handle"].as_str().unwrap().to_owned()
    }

    async fn compress(&self, messages: &Value) -> Value {
        let body = json!({"messages": messages, "model": "m"}).to_string();
        let answer = self.post("/v1/compress", "application/json", body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        answer.json()
    }
}

#[tokio::test]
async fn what_fits_comes_back_and_what_does_not_is_stored() {
    let (_base, door) = Door::new();
    let small = door
        .post(
            "/v1/offload?tool=cat&name=a.txt",
            "text/plain",
            "all of it\n",
        )
        .await;
    assert_eq!(small.status, StatusCode::OK);
    assert_snapshot!(small.text(), @r#"{"offloaded":false,"handle":null,"bytes":10,"lines":2,"tokens":3,"tokens_exact":true,"kind":"text","sha256":"6b6185e63cff648293fe9acac21f322476477a0fe9c66f48a487d84d8414ef2d","reason":null,"text":"all of it\n"}"#);
    let whole = log(600);
    let large = door
        .post("/v1/offload?tool=cat", "text/plain", whole.clone())
        .await;
    assert_eq!(large.status, StatusCode::CREATED);
    let answer = large.json();
    let handle = answer["handle"].as_str().unwrap();
    assert_eq!(large.header("location"), format!("/v1/artifacts/{handle}"));
    assert_eq!(answer["bytes"], whole.len());
    assert!(answer["text"].as_str().unwrap().contains(handle));
    let raw = door.get(&format!("/v1/artifacts/{handle}/raw")).await;
    assert_eq!(raw.text(), whole);
    assert_eq!(
        raw.header("etag"),
        format!("\"{}\"", answer["sha256"].as_str().unwrap())
    );
}

/// Limits of 0 let everything pass, but an answer in JSON is built in memory.
#[tokio::test]
async fn what_fits_but_is_too_large_for_an_answer_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let rule = Rule {
        max_tokens: Some(0),
        max_bytes: Some(0),
        ..Rule::default()
    };
    let door = Door::with(base.path(), "ann", rule);
    for (bytes, status) in [(1 << 20, 200), ((1 << 20) + 1, 413), (3 << 20, 413)] {
        let body = "x".repeat(bytes);
        let answer = door.post("/v1/offload?tool=cat", "text/plain", body.clone());
        let answer = answer.await;
        assert_eq!(answer.status.as_u16(), status, "{bytes}");
        let json = answer.json();
        match status {
            200 => assert_eq!(json["text"], body),
            _ => assert_eq!(json["kind"], "answer_too_large"),
        }
    }
    assert_eq!(files(base.path()).len(), 1, "only the key of names is left");
}

#[tokio::test]
async fn a_result_in_json_has_the_same_bytes() {
    let (_base, door) = Door::new();
    let whole = log(600);
    let list = records(400);
    for (body, want) in [
        (json!({"content": whole, "tool": "cat"}), whole.clone()),
        (json!({"result": whole}), whole.clone()),
        (
            json!({"result": {"content": [{"type": "text", "text": whole}, {"type": "text", "text": "end"}]}}),
            format!("{whole}\nend"),
        ),
        (json!({"result": [{"type": "text", "text": whole}]}), whole),
    ] {
        let answer = door
            .post("/v1/offload", "application/json", body.to_string())
            .await;
        let handle = answer.json()["handle"].as_str().unwrap().to_owned();
        let raw = door.get(&format!("/v1/artifacts/{handle}/raw")).await;
        assert_eq!(raw.text(), want);
    }
    // A JSON document of its own: spelled as it was sent, in the body or as a value.
    let spelled = format!("{{ \"b\": 1.50, \"a\":  {list} }}");
    let body =
        format!("{{\"result\": {spelled}, \"tool\": \"api\", \"arguments\": {{\"page\": 1}}}}");
    let inside = door.post("/v1/offload", "application/json", body).await;
    let alone = door
        .post("/v1/offload?tool=api", "application/json", spelled.clone())
        .await;
    for answer in [inside, alone] {
        let handle = answer.json()["handle"].as_str().unwrap().to_owned();
        let raw = door.get(&format!("/v1/artifacts/{handle}/raw")).await;
        assert_eq!(raw.text(), spelled);
        assert_eq!(raw.header("content-type"), "application/json");
    }
}

/// Formats the problems with which requests were answered.
fn told(all: &[(String, Answer)]) -> String {
    let told = all.iter().map(|(asked, answer)| {
        let problem = answer.json();
        let hint = problem["hint"].as_str().unwrap_or("-");
        let [kind, fault, detail] =
            ["kind", "fault", "detail"].map(|key| problem[key].as_str().unwrap());
        let status = answer.status.as_u16();
        format!("{asked}\n  {status} {kind}, {fault}: {detail} | {hint}")
    });
    told.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn mistakes_are_named() {
    let (_base, door) = Door::new();
    let handle = door.stored(&log(600)).await;
    let gone = door.stored(&log(601)).await;
    let removed = Request::delete(format!("/v1/artifacts/{gone}"));
    let removed = door.send(removed.body(Body::empty()).unwrap()).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
    let mut all = Vec::new();
    for path in [
        "/v1/nothing".to_owned(),
        "/v1/artifacts/xyz/read".to_owned(),
        "/v1/artifacts/abcdefghijklmn".to_owned(),
        format!("/v1/artifacts/{gone}/read"),
        format!("/v1/artifacts/{handle}/read?strat=3"),
        format!("/v1/artifacts/{handle}/read?start=x"),
        format!("/v1/artifacts/{handle}/read?start=9999"),
        format!("/v1/artifacts/{handle}/grep"),
        format!("/v1/artifacts/{handle}/grep?pattern=("),
        format!("/v1/artifacts/{handle}/query?filter=.a"),
        format!("/v1/artifacts/{handle}/search?words=%3F"),
        "/v1/artifacts?before=abcdefghijklmn".to_owned(),
        "/v1/retrieve/0123".to_owned(),
        "/v1/retrieve/0123456789abcdef01234567".to_owned(),
    ] {
        let answer = door.get(&path).await;
        assert_eq!(answer.header("content-type"), "application/problem+json");
        all.push((path, answer));
    }
    let told = told(&all).replace(&handle, "HANDLE").replace(&gone, "GONE");
    assert_snapshot!(told, @r#"
    /v1/nothing
      404 no_route, caller: there is nothing at /v1/nothing | GET /v1/openapi.json lists all paths
    /v1/artifacts/xyz/read
      400 bad_request, caller: `xyz` is not a handle; a handle is a word of 14 lowercase letters, or looks like session-<uuid>/<uuid> | -
    /v1/artifacts/abcdefghijklmn
      404 not_found, caller: no stored artifact abcdefghijklmn: It was never stored here. | GET /v1/artifacts lists what is stored
    /v1/artifacts/GONE/read
      410 not_found, caller: No stored tool output found for handle GONE. It was removed on 2027-01-15T08:00:00Z; call cat again to recreate it. | GET /v1/artifacts lists what is stored
    /v1/artifacts/HANDLE/read?strat=3
      400 bad_request, caller: there is no parameter `strat` | there are `bytes`, `lines`, `max_tokens`, `path`, `start`, `tail`
    /v1/artifacts/HANDLE/read?start=x
      400 bad_request, caller: `start` must be a whole number from 0 on, not `x` | -
    /v1/artifacts/HANDLE/read?start=9999
      416 past_end, caller: line 9999 is past the end: there are 600 lines | ask for a position before the end
    /v1/artifacts/HANDLE/grep
      400 bad_request, caller: `pattern` is missing | -
    /v1/artifacts/HANDLE/grep?pattern=(
      400 bad_pattern, caller: the pattern is not a valid regular expression: regex parse error:
        (
        ^
    error: unclosed group | escape characters that are meant literally, as in \( or \.
    /v1/artifacts/HANDLE/query?filter=.a
      500 query_process, us: the process that runs filters could not be started: No such file or directory (os error 2) | see whether the program may start processes
    /v1/artifacts/HANDLE/search?words=%3F
      400 empty_question, caller: the question has no word to look for | -
    /v1/artifacts?before=abcdefghijklmn
      410 not_found, caller: the result abcdefghijklmn, where the page begins, is gone | begin again without `before`
    /v1/retrieve/0123
      400 bad_request, caller: a hash has 24 hexadecimal digits | -
    /v1/retrieve/0123456789abcdef01234567
      404 not_found, caller: no result has the hash 0123456789abcdef01234567 | a hash is known only to the sender of the conversation, and as long as the result is stored
    "#);
}

#[tokio::test]
async fn mistakes_in_bodies_are_named() {
    let (_base, door) = Door::new();
    let mut all = Vec::new();
    for (path, body) in [
        ("/v1/offload", "{"),
        ("/v1/offload", "{\"text\": \"x\"}"),
        ("/v1/offload", "{\"content\": \"x\", \"result\": 1}"),
        ("/v1/offload?tol=cat", "x"),
        ("/v1/compress", "[]"),
        ("/v1/compress", "{\"messages\": 7}"),
        ("/v1/artifacts", "{}"),
    ] {
        let answer = door.post(path, "application/json", body).await;
        all.push((format!("POST {path} {body}"), answer));
    }
    let large = door
        .post("/v1/compress", "application/json", vec![b' '; 2 << 20])
        .await;
    all.push(("POST 2 MiB of JSON".to_owned(), large));
    let large = door
        .post("/v1/offload?tool=cat", "text/plain", vec![b' '; 5 << 20])
        .await;
    all.push(("POST 5 MiB".to_owned(), large));
    assert_snapshot!(told(&all), @r#"
    POST /v1/offload {
      400 bad_request, caller: the body is no result in JSON: EOF while parsing an object at line 1 column 1 | send {"content": "…", "tool": "…"}; to store a JSON document itself, name the tool in the URL: ?tool=NAME
    POST /v1/offload {"text": "x"}
      400 bad_request, caller: the body is no result in JSON: unknown field `text`, expected one of `content`, `result`, `tool`, `server`, `arguments`, `call_id`, `is_error` at line 1 column 7 | send {"content": "…", "tool": "…"}; to store a JSON document itself, name the tool in the URL: ?tool=NAME
    POST /v1/offload {"content": "x", "result": 1}
      400 bad_request, caller: the body needs `content` or `result`, and not both | -
    POST /v1/offload?tol=cat x
      400 bad_request, caller: there is no parameter `tol` | there are `call_id`, `is_error`, `name`, `server`, `tool`
    POST /v1/compress []
      400 bad_request, caller: the body is no conversation in JSON: it is no object | send {"messages": [{"role": "tool", "content": "…"}]}
    POST /v1/compress {"messages": 7}
      400 bad_request, caller: the body is no conversation in JSON: invalid type: integer `7`, expected a sequence at line 1 column 1 | send {"messages": [{"role": "tool", "content": "…"}]}
    POST /v1/artifacts {}
      405 method_not_allowed, caller: this path has GET | -
    POST 2 MiB of JSON
      413 body_too_large, caller: the body may have 1048576 bytes at most | send a large result as raw bytes, with ?tool=NAME; `max_body_bytes` in [http] sets the limit
    POST 5 MiB
      413 body_too_large, caller: the body may have 4194304 bytes at most | `max_upload` in [serve] sets the limit
    "#);
}

#[tokio::test]
async fn a_body_that_breaks_off_leaves_nothing() {
    let (_base, door) = Door::new();
    let part = |text: String| Ok::<_, std::io::Error>(text);
    let broken = futures_util::stream::iter([
        part(log(20_000)),
        Err(std::io::ErrorKind::ConnectionReset.into()),
    ]);
    let broken = door
        .post(
            "/v1/offload?tool=cat",
            "text/plain",
            Body::from_stream(broken),
        )
        .await;
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    let late = futures_util::stream::once(async move { part(log(20_000)) });
    let late = futures_util::StreamExt::chain(late, futures_util::stream::pending());
    let late = door
        .post(
            "/v1/offload?tool=cat",
            "text/plain",
            Body::from_stream(late),
        )
        .await;
    assert_eq!(late.status, StatusCode::REQUEST_TIMEOUT);
    assert_eq!(
        door.get("/v1/artifacts").await.json()["artifacts"],
        json!([])
    );
}

/// A body that gets a part every 50 ms and does not end.
fn endless() -> Body {
    Body::from_stream(futures_util::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Some((Ok::<_, std::io::Error>("a line\n"), ()))
    }))
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let door = Door::within(base.path(), "ann", Rule::default(), |limits| ApiLimits {
        part_time: Duration::from_secs(30),
        upload_time: Duration::from_millis(300),
        ..limits
    });
    let raw = door.post("/v1/offload?tool=cat", "text/plain", endless());
    let json = door.post("/v1/offload", "application/json", endless());
    let (raw, json) = tokio::join!(raw, json);
    let base = tempfile::tempdir().unwrap();
    let door = Door::at(base.path(), "ann");
    let silent = Body::from_stream(futures_util::stream::pending::<std::io::Result<String>>());
    let silent = door
        .post("/v1/offload?tool=cat", "text/plain", silent)
        .await;
    let all = [
        ("raw".to_owned(), raw),
        ("JSON".to_owned(), json),
        ("silent".to_owned(), silent),
    ];
    assert_snapshot!(told(&all), @r#"
    raw
      408 upload_late, caller: the whole body did not come within 0.3 s | `upload_seconds` in [serve] sets the limit
    JSON
      408 upload_late, caller: the whole body did not come within 0.3 s | `upload_seconds` in [serve] sets the limit
    silent
      408 body_late, caller: the next part of the body did not come within 0.2 s | `read_seconds` in [http] sets the limit
    "#);
}

#[tokio::test]
async fn results_wait_for_those_that_are_being_received() {
    let base = tempfile::tempdir().unwrap();
    let slow = |upload_time| {
        move |limits: ApiLimits| ApiLimits {
            part_time: Duration::from_secs(30),
            upload_time,
            uploads: 1,
            ..limits
        }
    };
    let within = |time| Door::within(base.path(), "ann", Rule::default(), slow(time));
    let stored = |door: Door, body: Body| async move {
        let path = "/v1/offload?tool=cat";
        door.post(path, "text/plain", body).await
    };
    // The second one waits until the first one is late.
    let router = within(Duration::from_secs(2)).router;
    let door = || Door {
        router: router.clone(),
        caller: "ann",
    };
    let (first, second) = tokio::join!(stored(door(), endless()), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stored(door(), Body::from(log(600))).await
    });
    assert_eq!(first.status, StatusCode::REQUEST_TIMEOUT);
    assert_eq!(second.status, StatusCode::CREATED, "{}", second.text());
    // It does not wait forever. The other requests do not wait.
    let router = within(Duration::from_millis(400)).router;
    let door = || Door {
        router: router.clone(),
        caller: "ann",
    };
    let (_, second, list) = tokio::join!(
        stored(door(), endless()),
        async {
            // The two wait for the same time, so the first one must be sent again.
            tokio::join!(
                stored(door(), endless()),
                stored(door(), Body::from(log(600)))
            )
            .1
        },
        async { door().get("/v1/artifacts").await }
    );
    assert_eq!(list.status, StatusCode::OK);
    assert_eq!(second.header("retry-after"), "1");
    assert_snapshot!(told(&[("third".to_owned(), second)]), @r#"
    third
      503 busy, caller: at most 1 results are received at the same time, and none ended within 0.4 s | send the result again later
    "#);
}

#[tokio::test]
async fn several_apis_can_share_a_limit() {
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let api = |base: &TempDir| {
        Door::api(base.path(), Rule::default(), |limits| ApiLimits {
            part_time: Duration::from_secs(30),
            upload_time: Duration::from_millis(600),
            uploads: 1,
            ..limits
        })
    };
    let first = api(&one);
    let second = Door::to(api(&two).sharing(first.turns()), "bob");
    let first = Door::to(first, "ann");
    let path = "/v1/offload?tool=cat";
    let (_, waiting) = tokio::join!(first.post(path, "text/plain", endless()), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::join!(
            // It takes the place that becomes free.
            first.post(path, "text/plain", endless()),
            async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                second.post(path, "text/plain", Body::from(log(600))).await
            }
        )
        .1
    });
    assert_eq!(waiting.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn raw_bytes_in_ranges() {
    let (_base, door) = Door::new();
    let whole = log(600);
    let handle = door.stored(&whole).await;
    let path = format!("/v1/artifacts/{handle}/raw");
    let head = door.get(&path).await;
    let tag = head.header("etag").to_owned();
    let mut all = Vec::new();
    for (method, name, value) in [
        ("GET", "range", "bytes=0-9"),
        ("GET", "range", "bytes=-5"),
        ("GET", "range", "bytes=999999-"),
        ("HEAD", "range", "bytes=0-9"),
        ("HEAD", "accept", "*/*"),
        ("GET", "if-none-match", &tag),
        ("GET", "if-none-match", "\"other\""),
    ] {
        let request = Request::builder().method(method).uri(&path);
        let request = request.header(name, value).body(Body::empty()).unwrap();
        let answer = door.send(request).await;
        let [length, range] = ["content-length", "content-range"].map(|name| answer.header(name));
        let bytes = answer.body.len();
        let status = answer.status.as_u16();
        all.push(format!(
            "{method} {name}: {length} {range} {status} {bytes}"
        ));
    }
    assert_snapshot!(all.join("\n"), @"
    GET range: 10 bytes 0-9/37992 206 10
    GET range: 5 bytes 37987-37991/37992 206 5
    GET range: 146 bytes */37992 416 146
    HEAD range: 10 bytes 0-9/37992 206 0
    HEAD accept: 37992 - 200 0
    GET if-none-match: 0 - 304 0
    GET if-none-match: 37992 - 200 37992
    ");
    let request = Request::get(&path).header("range", "bytes=2-11");
    let request = request.header("if-range", "\"other\"");
    let answer = door.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.text(), whole);
    let request = Request::get(&path).header("range", "bytes=2-11");
    let answer = door.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.text(), whole[2..12]);
}

#[tokio::test]
async fn raw_bytes_with_secrets_are_for_the_owner() {
    let (_base, door) = Door::new();
    let secret = "AKIAQ3EGXZ7LKTPNWB5M";
    let handle = door.stored(&format!("{}key {secret}\n", log(600))).await;
    let raw = door.get(&format!("/v1/artifacts/{handle}/raw")).await;
    assert_eq!(raw.status, StatusCode::FORBIDDEN);
    let read = door
        .get(&format!("/v1/artifacts/{handle}/grep?pattern=^key"))
        .await;
    assert!(read.text().contains("[redacted: "), "{}", read.text());
    assert!(!read.text().contains(secret));
}

#[tokio::test]
async fn look_ups_say_what_the_tools_say() {
    let (_base, door) = Door::new();
    let handle = door.stored(&log(600)).await;
    let mut all = Vec::new();
    for rest in [
        "read?start=501&lines=1",
        "read?max_tokens=100",
        "grep?pattern=disk&before=0&after=0",
        "search?words=disk+quota&max_tokens=60",
        "outline?max_tokens=100",
    ] {
        let path = format!("/v1/artifacts/{handle}/{rest}");
        all.push(door.get(&path).await.text().replace(&handle, "HANDLE"));
    }
    let request = Request::get(format!("/v1/artifacts/{handle}/read?start=501&lines=1"));
    let request = request.header("accept", "text/plain").body(Body::empty());
    all.push(door.send(request.unwrap()).await.text());
    assert_snapshot!(all.join("\n"), @r#"
    {"handle":"HANDLE","text":"[lines 501-501 of 600]\n2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7\n","tokens":26}
    {"handle":"HANDLE","text":"[lines 1-3 of 600]\n2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok\n2026-11-21T10:00:01Z INFO worker-1 processed batch id=7919 ok\n2026-11-21T10:00:02Z INFO worker-2 processed batch id=15838 ok\nnext: spillgate_read(handle=\"HANDLE\", start=4, max_tokens=100)","tokens":69}
    {"handle":"HANDLE","text":"[1 of 1 matching lines]\n501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7\n","tokens":28}
    {"handle":"HANDLE","text":"[1 of 1 passage]\n501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7\n","tokens":26}
    {"handle":"HANDLE","kind":"log","lines":["  501: ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7","  levels: ERROR 1, INFO 599","  from 2026-11-21T10:00:00Z to 2026-11-21T10:09:59Z","  599× (line 1) <*> INFO worker-<*> processed batch id=<*> ok","  1× (line 501) <*> ERROR worker-<*> code=<*> disk quota exceeded on /data/<*>"]}
    [lines 501-501 of 600]
    2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    "#);
}

#[tokio::test]
async fn the_list_is_paged_from_the_newest_on() {
    let (_base, door) = Door::new();
    let mut handles = Vec::new();
    for n in 0..5 {
        handles.push(door.stored(&log(600 + n)).await);
    }
    handles.reverse();
    let mut path = Some("/v1/artifacts?limit=2&tool=ca".to_owned());
    let mut listed = Vec::new();
    while let Some(next) = path {
        let page = door.get(&next).await.json();
        let page_handles = page["artifacts"].as_array().unwrap().iter();
        listed.extend(page_handles.map(|one| one["handle"].as_str().unwrap().to_owned()));
        path = page["next"].as_str().map(str::to_owned);
    }
    assert_eq!(listed, handles);
    let none = door.get("/v1/artifacts?tool=other").await.json();
    assert_eq!(none, json!({"artifacts": []}));
}

/// A conversation in the form of OpenAI, whose second message is a result.
fn conversation(result: &str) -> Value {
    json!([
        {"role": "user", "content": "Why did it fail?"},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ])
}

#[tokio::test]
async fn the_same_result_is_replaced_by_the_same_text() {
    let (base, door) = Door::new();
    let whole = log(600);
    let first = door.compress(&conversation(&whole)).await;
    let text = first["messages"][1]["content"].as_str().unwrap().to_owned();
    let hash = first["ccr_hashes"][0].as_str().unwrap().to_owned();
    assert_snapshot!(text.replace(&hash, "HASH"), @r#"
    [spillgate] tool returned 37992 bytes, 601 lines, 9498 tokens (log); stored whole as hash=HASH
    failure:
      501: ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    shape:
      levels: ERROR 1, INFO 599
      from 2026-11-21T10:00:00Z to 2026-11-21T10:09:59Z
      599× (line 1) <*> INFO worker-<*> processed batch id=<*> ok
    next: headroom_retrieve(hash="HASH", query="why did it fail?")
    next: headroom_retrieve(hash="HASH", query="lines: 491+60")
    also, with the same hash: query="grep: REGEX"
    "#);
    assert!(text.contains(&format!("hash={hash}")));
    assert_eq!(first["messages"][0]["content"], "Why did it fail?");
    let saved = first["tokens_before"].as_u64().unwrap() - first["tokens_after"].as_u64().unwrap();
    assert_eq!(first["tokens_saved"], saved);
    assert_eq!(first["transforms_applied"], json!(["spillgate:preview"]));
    // The same by another process on the same store, and after the result was removed.
    let again = Door::at(base.path(), "ann");
    assert_eq!(again.compress(&conversation(&whole)).await, first);
    let listed = door.get("/v1/artifacts").await.json();
    assert_eq!(listed["artifacts"].as_array().unwrap().len(), 1);
    let handle = listed["artifacts"][0]["handle"].as_str().unwrap();
    let removed = Request::delete(format!("/v1/artifacts/{handle}"));
    door.send(removed.body(Body::empty()).unwrap()).await;
    assert_eq!(door.get(&format!("/v1/retrieve/{hash}")).await.status, 410);
    assert_eq!(door.compress(&conversation(&whole)).await, first);
    assert_eq!(door.get(&format!("/v1/retrieve/{hash}")).await.status, 200);
    // What was replaced stays.
    let replaced = door.compress(&first["messages"]).await;
    assert_eq!(replaced["messages"], first["messages"]);
    // The hash is the sender's.
    let other = Door::at(base.path(), "bob");
    assert_eq!(other.get(&format!("/v1/retrieve/{hash}")).await.status, 404);
    let others = other.compress(&conversation(&whole)).await;
    assert_ne!(others["ccr_hashes"], first["ccr_hashes"]);
}

#[tokio::test]
async fn a_message_that_exceeds_the_limit_itself_is_not_replaced() {
    let base = tempfile::tempdir().unwrap();
    let rule = Rule {
        max_tokens: Some(200),
        preview_tokens: Some(2000),
        ..Rule::default()
    };
    let door = Door::with(base.path(), "ann", rule);
    let lines = (0..600).map(|n| format!("{n} {}\n", "word ".repeat(50)));
    let whole: String = lines.collect();
    let first = door.compress(&conversation(&whole)).await;
    let tokens = first["tokens_after"].as_u64().unwrap();
    assert!(tokens > 600, "{tokens}");
    let second = door.compress(&first["messages"]).await;
    assert_eq!(second["messages"], first["messages"]);
}

/// Returns all files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    below.collect()
}

#[tokio::test]
async fn a_damaged_copy_is_replaced_by_a_good_one() {
    // The view is stored beside the bytes if it differs from them.
    let whole = format!("\u{1b}[31m{}", log(600));
    for part in ["raw", "", "lines"] {
        let (base, door) = Door::new();
        let first = door.compress(&conversation(&whole)).await;
        let hash = first["ccr_hashes"][0].as_str().unwrap();
        let mut stored = files(base.path());
        let names = base.path().join("names");
        stored.retain(|path| {
            path.extension().unwrap_or_default() == part && !path.starts_with(&names)
        });
        assert_eq!(stored.len(), 1, "{part}");
        std::fs::remove_file(&stored[0]).unwrap();
        let again = door.compress(&conversation(&whole)).await;
        assert_eq!(again, first, "{part}");
        let page = door.get(&format!("/v1/retrieve/{hash}")).await;
        assert_eq!(page.status, StatusCode::OK, "{part}: {}", page.text());
    }
}

#[tokio::test]
async fn a_conversation_goes_on_if_the_store_fails() {
    let whole = log(600);
    let small = json!({"role": "tool", "content": "fits"});
    // The names cannot be read, or not be written.
    for is_known in [true, false] {
        let (base, door) = Door::new();
        let names = base.path().join("names");
        let mut messages = conversation(&whole);
        if is_known {
            let known = door.compress(&messages).await;
            messages
                .as_array_mut()
                .unwrap()
                .push(known["messages"][1].clone());
            for file in files(&names).iter().filter(|file| !file.ends_with("key")) {
                std::fs::remove_file(file).unwrap();
                std::fs::create_dir(file).unwrap();
            }
        } else {
            std::fs::remove_dir_all(&names).unwrap();
            std::fs::write(&names, "no directory").unwrap();
        }
        messages.as_array_mut().unwrap().push(small.clone());
        let answer = door.compress(&messages).await;
        assert_eq!(answer["messages"], messages);
        assert_eq!(answer["tokens_saved"], 0);
        assert_eq!(answer["ccr_hashes"], json!([]));
    }
}

#[tokio::test]
async fn no_text_or_name_of_others_passes_as_ours() {
    let (_base, door) = Door::new();
    let first = door.compress(&conversation(&log(600))).await;
    let ours = first["messages"][1]["content"].as_str().unwrap();
    let forged = format!("{ours}\n{}", log(700));
    let answer = door.compress(&conversation(&forged)).await;
    assert_ne!(answer["messages"][1]["content"], forged);
    for (tool, stays) in [
        ("spillgate_read", true),
        ("mcp__x__spillgate_search", true),
        ("get_continuation", true),
        ("tool_output", true),
        ("headroom_retrieve", true),
        ("spillgate_dump", false),
        ("spillgate_read_file", false),
        ("x_spillgate_read", false),
    ] {
        let result = json!({"role": "tool", "name": tool, "content": log(600)});
        let answer = door.compress(&json!([result])).await;
        assert_eq!(answer["messages"][0] == result, stays, "{tool}");
    }
}

#[tokio::test]
async fn everything_but_the_result_keeps_its_bytes() {
    let (_base, door) = Door::new();
    let before = r#"{"role" : "user", "content": "a\u00e9\/", "n": 1.50 },"#;
    let after = r#" {"content":"x","role":"tool" , "z":1e2}"#;
    let whole = json!(log(600)).to_string();
    let body = format!(
        r#"{{"model":"m","messages":[{before}{{"role":"tool","content":{whole}}},{after}],"config":{{"protect_recent":4}}}}"#
    );
    let answer = door.post("/v1/compress", "application/json", body).await;
    let text = answer.text();
    assert!(
        text.starts_with(&format!(
            r#"{{"messages":[{before}{{"role":"tool","content":""#
        )),
        "{text}"
    );
    assert!(
        text.contains(&format!(r#""}},{after}],"tokens_before":"#)),
        "{text}"
    );
}

#[tokio::test]
async fn results_in_all_forms_are_replaced() {
    let (_base, door) = Door::new();
    let whole = log(600);
    let half = log(300);
    let part = |text: &str| json!({"type": "text", "text": text});
    let messages = json!([
        {"role": "user", "content": whole},
        {"role": "tool", "content": [part(&half), part(&half)]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": whole},
            {"type": "tool_result", "tool_use_id": "b", "content": [part(&whole), {"type": "image", "source": {}}]},
            {"type": "text", "text": whole}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "mcp__x__headroom_retrieve", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": whole},
        {"role": "tool", "content": "short"},
    ]);
    let answer = door.compress(&messages).await;
    let new = &answer["messages"];
    assert_eq!(answer["transforms_applied"].as_array().unwrap().len(), 3);
    assert_eq!(answer["ccr_hashes"].as_array().unwrap().len(), 2);
    for same in [0, 3, 4, 5] {
        assert_eq!(new[same], messages[same]);
    }
    let is_ours = |text: &Value| text.as_str().unwrap().starts_with("[spillgate] ");
    let joined = new[1]["content"].as_array().unwrap();
    assert!(joined.len() == 1 && is_ours(&joined[0]["text"]));
    let blocks = &new[2]["content"];
    assert!(is_ours(&blocks[0]["content"]));
    assert!(is_ours(&blocks[1]["content"][0]["text"]));
    assert_eq!(
        blocks[1]["content"][1],
        messages[2]["content"][1]["content"][1]
    );
    assert_eq!(blocks[2], messages[2]["content"][2]);
}

/// What Portkey shows of an answer is in it, and the newest result is replaced although its guardrail
/// would protect it: a message must not change when others follow.
#[tokio::test]
async fn the_call_of_portkey_is_answered() {
    let (_base, door) = Door::new();
    let call = include_str!("calls/portkey.json");
    let result = json!(log(600)).to_string();
    let call = call.replace("\"RESULT\"", &result);
    let answer = door.post("/v1/compress", "application/json", call.clone());
    let mut answer = answer.await.json();
    let messages = answer["messages"].take();
    let sent: Value = serde_json::from_str(&call).unwrap();
    for same in 0..3 {
        assert_eq!(messages[same], sent["messages"][same]);
    }
    let text = messages[3]["content"].as_str().unwrap();
    assert!(text.starts_with("[spillgate] logs returned "), "{text}");
    let hash = answer["ccr_hashes"][0].as_str().unwrap().to_owned();
    assert_snapshot!(answer.to_string().replace(&hash, "HASH"), @r#"{"ccr_hashes":["HASH"],"compression_ratio":0.015772870662460567,"messages":null,"tokens_after":150,"tokens_before":9510,"tokens_saved":9360,"transforms_applied":["spillgate:preview"]}"#);
}

#[tokio::test]
async fn a_replaced_result_can_be_read() {
    let (_base, door) = Door::new();
    let answer = door.compress(&conversation(&log(600))).await;
    let hash = answer["ccr_hashes"][0].as_str().unwrap();
    let mut all = Vec::new();
    for query in [
        "",
        "query=lines:+501%2B1",
        "query=grep:+disk",
        "query=disk+quota",
        "query=jq:+.a",
        "max_tokens=50",
    ] {
        let answer = door.get(&format!("/v1/retrieve/{hash}?{query}")).await;
        let json = answer.json();
        let text = json["original_content"]
            .as_str()
            .or(json["detail"].as_str())
            .unwrap();
        let (head, tail) = (text.lines().next(), text.lines().last());
        let said = format!("{query}: {}\n  {}", head.unwrap(), tail.unwrap());
        all.push(said.replace(hash, "HASH"));
    }
    assert_snapshot!(all.join("\n"), @r#"
    : [lines 1-150 of 600]
      next: headroom_retrieve(hash="HASH", query="lines: 151")
    query=lines:+501%2B1: [lines 501-501 of 600]
      2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    query=grep:+disk: [1 of 1 matching lines]
      501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    query=disk+quota: [1 of 1 passage]
      501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    query=jq:+.a: the process that runs filters could not be started: No such file or directory (os error 2)
      the process that runs filters could not be started: No such file or directory (os error 2)
    max_tokens=50: [lines 1-1 of 600]
      next: headroom_retrieve(hash="HASH", query="lines: 2")
    "#);
}

#[tokio::test]
async fn the_document_describes_the_routes() {
    let (_base, door) = Door::new();
    let document = door.get("/v1/openapi.json").await.json();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let names = parameters.map(|one| {
                let mark = if one["required"] == true { "!" } else { "" };
                format!("{}{mark}", one["name"].as_str().unwrap())
            });
            let names = names.collect::<Vec<_>>().join(" ");
            let id = operation["operationId"].as_str().unwrap();
            operations.push(format!("{method} {path} {id}({names})"));
            // The path is there: no route would be another problem.
            let path = path.replace("{handle}", "abcdefghijklmn");
            let path = path.replace("{hash}", "0123456789abcdef01234567");
            let request = Request::builder().method(&*method.to_uppercase()).uri(path);
            let answer = door.send(request.body(Body::empty()).unwrap()).await;
            let is_problem = answer.header("content-type") == "application/problem+json";
            assert!(
                !is_problem || answer.json()["kind"] != "no_route",
                "{method}"
            );
        }
    }
    assert_snapshot!(operations.join("\n"), @"
    get /v1/artifacts list(before limit tool)
    delete /v1/artifacts/{handle} remove(handle!)
    get /v1/artifacts/{handle} manifest(handle!)
    get /v1/artifacts/{handle}/grep spillgate_grep(handle! after before ignore_case max_matches max_tokens path pattern! start)
    get /v1/artifacts/{handle}/outline outline(handle! max_tokens)
    get /v1/artifacts/{handle}/query spillgate_query(handle! byte filter! max_tokens raw start)
    get /v1/artifacts/{handle}/raw raw(handle!)
    get /v1/artifacts/{handle}/read spillgate_read(handle! bytes lines max_tokens path start tail)
    get /v1/artifacts/{handle}/search spillgate_search(handle! max_tokens path words!)
    post /v1/compress compress()
    post /v1/offload offload(call_id is_error name server tool)
    get /v1/openapi.json openapi()
    get /v1/retrieve/{hash} retrieve(hash! max_tokens query)
    ");
    // What is answered is valid by the schema of its answer.
    let handle = door.stored(&log(600)).await;
    for path in [
        format!("/v1/artifacts/{handle}/read"),
        format!("/v1/artifacts/{handle}/outline"),
        "/v1/artifacts".to_owned(),
    ] {
        let named = path.replace(&handle, "{handle}");
        let mut schema = document["paths"][&named]["get"]["responses"]["200"]["content"]["application/json"]["schema"].clone();
        schema["components"] = document["components"].clone();
        let answer = door.get(&path).await.json();
        jsonschema::validate(&schema, &answer).unwrap();
    }
}
