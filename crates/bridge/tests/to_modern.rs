//! Conversations of a legacy client with a modern server, one for each row of docs/generations.md.

#![allow(
    clippy::unwrap_used,
    clippy::tests_outside_test_module,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::time::Duration;

use common::{Talk, config};
use spillgate_bridge::{Config, Limits};
use spillgate_transport::{ConnectionError, Item};

#[test]
fn initialize_is_answered_from_discover() {
    let mut talk = Talk::to_modern(config());
    talk.client(r#"{"jsonrpc":"2.0","id":"\u0069","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}"#)
        .server(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"x":{"y":1.0}},"instructions":"Be \u0062rief.","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"notifications":{"toolsListChanged":true}}}"#)
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .client(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        .server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete", "tools":[],"ttlMs":1,"cacheScope":"public"}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"\u0069","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}
        -> server {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}}}}}
    S {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"x":{"y":1.0}},"instructions":"Be \u0062rief.","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}}
        -> client 0 on "i" {"jsonrpc":"2.0","id":"\u0069","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"x":{"y":1.0}},"serverInfo":{"name":"s","version":"2"},"instructions":"Be \u0062rief."}}
    C {"jsonrpc":"2.0","method":"notifications/initialized"}
        -> server {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}}},"notifications":{"toolsListChanged":true}}}
    S {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"notifications":{"toolsListChanged":true}}}
    C {"jsonrpc":"2.0","id":1,"method":"ping"}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{}}
    C {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        -> server {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}}}}}
    S {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete", "tools":[],"ttlMs":1,"cacheScope":"public"}}
        -> client 0 on 2 {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete", "tools":[],"ttlMs":1,"cacheScope":"public"}}
    "#);
}

#[test]
fn a_server_that_cannot_be_used() {
    let mut talk = Talk::to_modern(config());
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}"#;
    talk.client(hello)
        .server(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version"}}"#)
        .client(hello)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"supportedVersions":["2027-01-01"]}}"#)
        .client(hello)
        .item(Some(3), Item::Failed(ConnectionError::Unreachable("connection refused".to_owned())))
        .client(hello)
        .item(None, Item::Gone("exited with status 1".to_owned()))
        .client(hello)
        .server(r#"{"jsonrpc":"2.0","id":5,"result":{"supportedVersions":["2026-07-28"]}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}
        -> server {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"spillgate","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}
    S {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` could not be opened: it refused `server/discover`: Unsupported protocol version"}}
    C {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}
        -> server {"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"spillgate","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}
    S {"jsonrpc":"2.0","id":2,"result":{"supportedVersions":["2027-01-01"]}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` could not be opened: it speaks \"2027-01-01\", and not 2026-07-28"}}
    C {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}
        -> server {"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"spillgate","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}
    S Failed(Unreachable("connection refused"))
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` could not be opened: could not be reached: connection refused"}}
    C {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}
        -> server {"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"spillgate","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}
    S Gone("exited with status 1")
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` exited with status 1 before it answered"}}
    C {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}
        -> server {"jsonrpc":"2.0","id":5,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"spillgate","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}
    S {"jsonrpc":"2.0","id":5,"result":{"supportedVersions":["2026-07-28"]}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"files","version":"unknown"}}}
    "#);
}

#[test]
fn a_request_gets_what_a_modern_one_must_say() {
    let mut talk = Talk::to_modern(config());
    talk.initialized("{}", "{}")
        .client(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{ "name":"t","arguments":{"n": 1.0},"_meta":{"progressToken":"p"}}}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.50,"progressToken":"p"}}"#)
        .server_on(Some(2), r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#)
        .server(r#"{"jsonrpc":"2.0","result":{"content":[ ],"resultType":"complete","x":1e2},"id":2}"#)
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}"#)
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}"#)
        .client(r#"{"jsonrpc":"2.0","id":2,"method":"x/unknown"}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{ "name":"t","arguments":{"n": 1.0},"_meta":{"progressToken":"p"}}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{ "name":"t","arguments":{"n": 1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}}}
    S {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.50,"progressToken":"p"}}
        -> client 0 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.50,"progressToken":"p"}}
    S on 2 {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
        -> client 0 on "a" {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
    S {"jsonrpc":"2.0","result":{"content":[ ],"resultType":"complete","x":1e2},"id":2}
        -> client 0 on "a" {"jsonrpc":"2.0","result":{"content":[ ],"resultType":"complete","x":1e2},"id":"a"}
    C {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"data":{"fault":"client","hint":"use debug, info, notice, warning, error, critical, alert or emergency"},"message":"`level` is none of the log levels"}}
    C {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{}}
    C {"jsonrpc":"2.0","id":2,"method":"x/unknown"}
        -> server {"jsonrpc":"2.0","id":3,"method":"x/unknown","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"error"}}}
    C {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
    C {"jsonrpc":"2.0","method":"notifications/x"}
        -> server {"jsonrpc":"2.0","method":"notifications/x"}
    "#);
}

#[test]
fn a_missing_resource_has_the_code_of_its_time() {
    let mut talk = Talk::to_modern(config());
    talk.initialized("{}", "{}");
    let cases = [
        (
            "resources/read",
            r#"{"code": -32602,"message":"none","data":{"uri":"a:1"}}"#,
        ),
        ("resources/read", r#"{"code":-32602,"message":"wrong"}"#),
        (
            "tools/call",
            r#"{"code":-32602,"message":"wrong","data":{"uri":"a:1"}}"#,
        ),
    ];
    for (at, (method, error)) in cases.iter().enumerate() {
        talk.client(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"uri":"a:1"}}}}"#
        ));
        talk.server(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#,
            at + 2
        ));
    }
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:1"}}
        -> server (a:1) {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"uri":"a:1"}}
    S {"jsonrpc":"2.0","id":2,"error":{"code": -32602,"message":"none","data":{"uri":"a:1"}}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code": -32002,"message":"none","data":{"uri":"a:1"}}}
    C {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:1"}}
        -> server (a:1) {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"uri":"a:1"}}
    S {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"wrong"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"wrong"}}
    C {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"uri":"a:1"}}
        -> server {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"uri":"a:1"}}
    S {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"wrong","data":{"uri":"a:1"}}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"wrong","data":{"uri":"a:1"}}}
    "#);
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}"#;

#[test]
fn questions_become_requests_and_the_call_is_made_again() {
    let mut talk = Talk::to_modern(config());
    talk.initialized(r#"{"elicitation":{"form":{},"url":{}},"roots":{}}"#, "{}")
        .client(CALL)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","n":1.0}},"r\u0022":{"method":"roots/list"}},"requestState":"o\u0070aque"}}"#)
        .client(r#"{"jsonrpc":"2.0","id":4,"result":{"roots":[ ]}}"#)
        .client(r#"{"jsonrpc":"2.0","id":3,"result":{"action":"accept","content":{"n":1.0}}}"#)
        .server(r#"{"jsonrpc":"2.0","id":5,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"mode":"url","url":"https://x.example","message":"Log in"}}}}}"#)
        .client(r#"{"jsonrpc":"2.0","id":6,"result":{"action":"accept"}}"#)
        .server(r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[]}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","n":1.0}},"r\u0022":{"method":"roots/list"}},"requestState":"o\u0070aque"}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"message":"Who?","n":1.0}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":4,"method":"roots/list"}
    C {"jsonrpc":"2.0","id":4,"result":{"roots":[ ]}}
    C {"jsonrpc":"2.0","id":3,"result":{"action":"accept","content":{"n":1.0}}}
        -> server (t) {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"inputResponses":{"r\"":{"roots":[ ]},"who":{"action":"accept","content":{"n":1.0}}},"requestState":"o\u0070aque","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":5,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"mode":"url","url":"https://x.example","message":"Log in"}}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":6,"method":"elicitation/create","params":{"elicitationId":"6","mode":"url","url":"https://x.example","message":"Log in"}}
    C {"jsonrpc":"2.0","id":6,"result":{"action":"accept"}}
        -> server (t) {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"inputResponses":{"1":{"action":"accept"}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[]}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","content":[]}}
    "#);
}

#[test]
fn a_server_that_only_wants_the_call_again() {
    let mut talk = Talk::to_modern(config());
    talk.initialized("{}", "{}")
        .client(CALL)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"s"}}"#)
        .later(Duration::from_millis(49))
        .later(Duration::from_millis(1))
        .server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"s"}}"#)
        .later(Duration::from_millis(100));
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"t"}}
    S {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"s"}}
    49ms pass, due in Some(50ms)
    1ms pass, due in Some(1ms)
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"requestState":"s","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"t"}}
    S {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"s"}}
    100ms pass, due in Some(100ms)
        -> server (t) {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"requestState":"s","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"t"}}
    "#);
}

/// Returns a result that asks these questions.
fn ask(id: u8, questions: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{{questions}}}}}}}"#
    )
}

const FORM: &str = r#""1":{"method":"elicitation/create","params":{}}"#;

#[test]
fn what_a_client_cannot_be_asked() {
    let mut talk = Talk::to_modern(config());
    talk.initialized(r#"{"elicitation":{}}"#, "{}")
        .client(CALL)
        .server(&ask(
            2,
            r#""1":{"method":"sampling/createMessage","params":{}}"#,
        ))
        .client(CALL)
        .server(&ask(3, r#""1":{"method":"tools/call"}"#))
        .client(CALL)
        .server(&ask(4, FORM))
        .client(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"the user is away"}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"sampling/createMessage","params":{}}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32021,"data":{"fault":"client","hint":"use a client that can do this, or call without what needs it","requiredCapabilities":{"sampling":{}}},"message":"the server `files` wants `sampling/createMessage` of the client for this, which the client does not declare"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"tools/call"}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"tell those who run the server"},"message":"the server `files` asks for \"tools/call\", which no client knows"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{}}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{}}
    C {"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"the user is away"}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"client","hint":"answer the server's request, or call without what needs it"},"message":"the client refused what the server asked of it for this call: the user is away"}}
    "#);
}

#[test]
fn questions_have_bounds() {
    let limits = Limits {
        rounds: 1,
        questions: 1,
        ..Limits::default()
    };
    let mut talk = Talk::to_modern(Config { limits, ..config() });
    talk.initialized(r#"{"elicitation":{}}"#, "{}")
        .client(CALL)
        .server(&ask(2, &format!(r#"{FORM},"2":7"#)))
        .client(CALL)
        .server(&ask(3, FORM))
        .client(r#"{"jsonrpc":"2.0","id":4,"result":{"action":"decline"}}"#)
        .server(&ask(5, FORM));
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{}},"2":7}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"call again, or tell those who run the server"},"message":"the server `files` asked for more than 1 inputs or in more than 1 rounds"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{}}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{}}
    C {"jsonrpc":"2.0","id":4,"result":{"action":"decline"}}
        -> server (t) {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"inputResponses":{"1":{"action":"decline"}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":5,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{}}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"call again, or tell those who run the server"},"message":"the server `files` asked for more than 1 inputs or in more than 1 rounds"}}
    "#);
}

#[test]
fn one_stream_covers_all_subscriptions() {
    let mut talk = Talk::to_modern(config());
    let taken = |id: u8, uris: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{{"resourceSubscriptions":[{uris}]}}}}}}"#
        )
    };
    let updated = |id: u8| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"uri":"a:1"}}}}"#
        )
    };
    let subscribe = |id: u8, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
        )
    };
    talk.initialized("{}", r#"{"resources":{"subscribe":true}}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .client(&subscribe(1, "a:1"))
        .client(&subscribe(2, "a:2"))
        .server(&updated(2))
        .server(&taken(2, r#""a:1""#))
        .server(&updated(2))
        .server(&taken(3, r#""a:1""#))
        .server(&updated(2))
        .client(
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"a:1"}}"#,
        );
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","method":"notifications/initialized"}
    C {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}
        -> server {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"resourceSubscriptions":["a:1"]}}}
    C {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:2"}}
    S {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"uri":"a:1"}}
    S {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"notifications":{"resourceSubscriptions":["a:1"]}}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{}}
        -> server {"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"resourceSubscriptions":["a:1","a:2"]}}}
    S {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"uri":"a:1"}}
        -> client 0 {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"uri":"a:1"}}
    S {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"notifications":{"resourceSubscriptions":["a:1"]}}}
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"another stream takes its place"}}
        -> client 0 on 2 {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"data":{"fault":"client","hint":"read the resource again when it is needed"},"message":"the server `files` does not tell of changes of this resource"}}
    S {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"uri":"a:1"}}
    C {"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"a:1"}}
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"nothing is subscribed to any more"}}
        -> client 0 on 3 {"jsonrpc":"2.0","id":3,"result":{}}
    "#);
}

#[test]
fn streams_that_break_or_are_refused() {
    let mut talk = Talk::to_modern(Config {
        streams: true,
        ..config()
    });
    let subscribe =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}"#;
    talk.initialized("{}", r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .server_on(Some(2), r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}}"#)
        .client(subscribe)
        .server_on(Some(3), r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"full"}}"#)
        .server_on(Some(2), r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .item(Some(2), Item::Ended)
        .client(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","method":"notifications/initialized"}
        -> server {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}
    S on 2 {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}}
    C {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}
        -> server {"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"resourceSubscriptions":["a:1"],"toolsListChanged":true}}}
    S on 3 {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"full"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{"fault":"upstream","hint":"try again later"},"message":"the server `files` refused the subscription: full"}}
    S on 2 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        -> client 0 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
    S Ended
    C {"jsonrpc":"2.0","id":2,"method":"ping"}
        -> server {"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}
        -> client 0 on 2 {"jsonrpc":"2.0","id":2,"result":{}}
    "#);
}

#[test]
fn without_subscriptions_at_the_server() {
    let mut talk = Talk::to_modern(config());
    talk.initialized("{}", r#"{"tools":{}}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}"#)
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{}}"#)
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"tasks/list"}"#)
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}"#)
        .server(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","method":"notifications/initialized"}
    C {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"data":{"fault":"client","hint":"read the resource again when it is needed"},"message":"the server `files` does not tell of changed resources"}}
    C {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"data":{"fault":"client","hint":"name the resource"},"message":"`uri` must be a text"}}
    C {"jsonrpc":"2.0","id":1,"method":"tasks/list"}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"data":{"fault":"gateway","hint":"call the tool without a task"},"message":"`tasks/list` cannot be bridged: the client and the server speak different generations of MCP, whose tasks differ"}}
    C {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"data":{"fault":"gateway","hint":"call the tool without a task"},"message":"`params.task` cannot be bridged: the client and the server speak different generations of MCP, whose tasks differ"}}
    S {"jsonrpc":"2.0","id":5,"method":"roots/list"}
        -> server {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"data":{"fault":"upstream","hint":"answer with `input_required`"},"message":"`roots/list`: a server that speaks MCP 2026-07-28 sends no requests"}}
    "#);
}

#[test]
fn what_is_cancelled_is_cancelled_in_the_transports_way() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"x"}}"#;
    let mut said = String::new();
    for streams in [false, true] {
        let mut talk = Talk::to_modern(Config {
            streams,
            ..config()
        });
        talk.initialized(r#"{"roots":{}}"#, "{}")
            .client(CALL)
            .client(cancel)
            .client(CALL)
            .server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}}}}"#)
            .client(cancel)
            .client(r#"{"jsonrpc":"2.0","id":4,"result":{"roots":[]}}"#);
        said.push_str(&talk.said);
    }
    insta::assert_snapshot!(said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    C {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"x"}}
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"x"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":4,"method":"roots/list"}
    C {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"x"}}
        -> client 0 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"the call was cancelled"}}
    C {"jsonrpc":"2.0","id":4,"result":{"roots":[]}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    C {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"x"}}
        -> server: close the response to 2
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":4,"method":"roots/list"}
    C {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"x"}}
        -> client 0 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"the call was cancelled"}}
    C {"jsonrpc":"2.0","id":4,"result":{"roots":[]}}
    "#);
}

#[test]
fn a_server_that_is_gone() {
    let mut talk = Talk::to_modern(config());
    talk.initialized(r#"{"roots":{}}"#, r#"{"resources":{"subscribe":true}}"#)
        .client(CALL)
        .client(&CALL.replace("\"a\"", "\"b\""))
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}"#)
        .server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}}}}"#)
        .item(None, Item::Gone("exited with status 1".to_owned()))
        .client(CALL);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    C {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}
        -> server {"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"notifications":{"resourceSubscriptions":["a:1"]}}}
    S {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}}}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":5,"method":"roots/list"}
    S Gone("exited with status 1")
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` exited with status 1 before it answered"}}
        -> client 0 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"the server is gone"}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` exited with status 1 before it answered"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` exited with status 1 before it answered"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    "#);
}

/// Over HTTP, a modern server sends a certain status with each error code.
#[test]
fn an_answer_with_a_status_is_an_answer() {
    let mut talk = Talk::to_modern(config());
    talk.initialized("{}", "{}")
        .client(r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"a:1"}}"#)
        .refused(2, 400, r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602, "message":"no","data":{"uri":"a:1"}}}"#)
        .client(CALL)
        .refused(3, 404, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#);
    for answer in [
        r#"on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32002, "message":"no","data":{"uri":"a:1"}}}"#,
        r#"on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no"}}"#,
    ] {
        assert!(talk.said.contains(answer), "{}", talk.said);
    }
    // A refusal that contains no answer is reported as a refusal.
    talk.client(CALL).refused(4, 502, "no gateway");
    let last = talk.said.lines().last().unwrap();
    assert!(last.contains(r#"-> client 0 on "a" Refused("#), "{last}");
}

#[test]
fn a_batch_is_taken_apart() {
    let mut talk = Talk::to_modern(config());
    talk.initialized("{}", "{}")
        .client(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","id":2,"method":"tools/list"},7]"#);
    insta::assert_snapshot!(talk.said, @r#"
    C [{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","id":2,"method":"tools/list"},7]
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{}}
        -> server {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}
        -> client 0 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"data":{"fault":"client","hint":"send one JSON object for each message"},"message":"this is no JSON-RPC message"}}
    "#);
}

#[test]
fn a_client_that_leaves() {
    let mut talk = Talk::to_modern(config());
    talk.initialized(r#"{"roots":{}}"#, r#"{"tools":{"listChanged":true}}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .client(CALL)
        .client(CALL)
        .server(&ask(4, r#""1":{"method":"roots/list"}"#))
        .client_disconnected()
        .server(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","method":"notifications/initialized"}
        -> server {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"notifications":{"toolsListChanged":true}}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
        -> server (t) {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}
    S {"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":5,"method":"roots/list"}
    C leaves
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"the client is gone"}}
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"the client is gone"}}
    S {"jsonrpc":"2.0","id":3,"result":{}}
    "#);
}
