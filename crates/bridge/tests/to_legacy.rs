//! Conversations of a modern client with a legacy server, one for each row of docs/generations.md.

#![allow(
    clippy::unwrap_used,
    clippy::tests_outside_test_module,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::time::Duration;

use common::{Talk, config};
use spillgate_bridge::{Config, DeclaredCapabilities, Limits};
use spillgate_transport::{ConnectionError, Item};

#[test]
fn the_session_is_opened_before_the_first_request() {
    let mut talk = Talk::to_legacy(config());
    talk.client(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{META}}"#)
        .client(r#"{"jsonrpc":"2.0","id":"b","method":"server/discover","params":{META}}"#)
        .server(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"Be \u0062rief."}}"#)
        .server(r#"{"jsonrpc":"2.0", "result": {"tools":[ {"name":"t","x":1.0} ]} ,"id":2}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
    C {"jsonrpc":"2.0","id":"b","method":"server/discover","params":{META}}
    S {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"Be \u0062rief."}}
        -> server {"jsonrpc":"2.0","method":"notifications/initialized"}
        -> server: open the stream
        -> server {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{}}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Be \u0062rief.","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}}
    S {"jsonrpc":"2.0", "result": {"tools":[ {"name":"t","x":1.0} ]} ,"id":2}
        -> client 0 on "a" {"jsonrpc":"2.0", "result": {"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[ {"name":"t","x":1.0} ]} ,"id":"a"}
    "#);
}

#[test]
fn an_answer_with_a_status_is_an_answer() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}")
        .client(
            r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{META,"uri":"a:1"}}"#,
        )
        .refused(
            2,
            400,
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"no"}}"#,
        );
    let last = talk.said.lines().last().unwrap();
    let answer =
        r#"-> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"no"}}"#;
    assert!(last.ends_with(answer), "{last}");
}

#[test]
fn a_server_that_cannot_be_opened() {
    let mut talk = Talk::to_legacy(config());
    let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{META}}"#;
    talk.client(call)
        .server(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no licence"}}"#)
        .client(call)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2026-07-28","capabilities":{}}}"#)
        .client(call)
        .item(Some(3), Item::Failed(ConnectionError::Unreachable("connection refused".to_owned())));
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
    S {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no licence"}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` could not be opened: it refused `initialize`: no licence"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
    S {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2026-07-28","capabilities":{}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` could not be opened: it chose the protocol version \"2026-07-28\", which is not one with `initialize`"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
    S Failed(Unreachable("connection refused"))
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` could not be opened: could not be reached: connection refused"}}
    "#);
}

#[test]
fn what_the_other_generation_does_not_know_is_refused() {
    let mut talk = Talk::to_legacy(config());
    for frame in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{META}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{META}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{META}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{META}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"tools/list","params":{META}}"#,
        "not json",
        "[]",
    ] {
        talk.client(frame);
    }
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"data":{"fault":"client","hint":"use one of `supported`","requested":"2025-11-25","supported":["2026-07-28"]},"message":"Unsupported protocol version"}}
    C {"jsonrpc":"2.0","id":1,"method":"ping","params":{META}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"data":{"fault":"client","hint":"any other request shows whether the server is there"},"message":"`ping` is not part of MCP 2026-07-28"}}
    C {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{META}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"data":{"fault":"client","hint":"set `io.modelcontextprotocol/logLevel` in the `_meta` of a request"},"message":"`logging/setLevel` is not part of MCP 2026-07-28"}}
    C {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{META}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"data":{"fault":"client","hint":"use `subscriptions/listen`"},"message":"`resources/subscribe` is not part of MCP 2026-07-28"}}
    C {"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{META}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"data":{"fault":"gateway","hint":"call the tool without a task"},"message":"`tasks/get` cannot be bridged: the client and the server speak different generations of MCP, whose tasks differ"}}
    C {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"data":{"fault":"client","hint":"a client of MCP 2025-11-25 or older begins with `initialize`"},"message":"`params._meta` must have `io.modelcontextprotocol/protocolVersion` and `io.modelcontextprotocol/clientCapabilities`"}}
    C {"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"data":{"fault":"client","hint":"name the parameters"},"message":"`params` must be an object"}}
    C {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"data":{"fault":"client","hint":"use one of `supported`","requested":"2027-01-01","supported":["2026-07-28"]},"message":"Unsupported protocol version"}}
    C {"jsonrpc":"2.0","id":[1],"method":"tools/list","params":{META}}
        -> client 0 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"data":{"fault":"client","hint":"send the request again with such an id"},"message":"the id of a request must be a text or a number"}}
    C not json
        -> client 0 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"data":{"fault":"client","hint":"send one JSON object for each message"},"message":"this is no JSON-RPC message"}}
    C []
        -> client 0 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"data":{"fault":"client","hint":"send one JSON object for each message"},"message":"this is no JSON-RPC message"}}
    "#);
}

#[test]
fn a_call_changes_as_little_as_it_can() {
    let mut talk = Talk::to_legacy(config());
    talk.opened(r#"{"tools":{}}"#)
        .client(r#"{"jsonrpc":"2.0","id":"\u0061","method":"tools/call","params":{"name":"t","arguments":{"n": 1.0},"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-1"}}}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.50,"progressToken":2}}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":9}}"#)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"x-unknown":1e2}}"#)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"content":["twice"]}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"\u0061","method":"tools/call","params":{"name":"t","arguments":{"n": 1.0},"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-1"}}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"n": 1.0},"_meta":{"progressToken":2,"traceparent":"00-1"}}}
    S {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.50,"progressToken":2}}
        -> client 0 on "a" {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.50,"progressToken":"p"}}
    S {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":9}}
    S {"jsonrpc":"2.0","id":2,"result":{"content":[],"x-unknown":1e2}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"\u0061","result":{"resultType":"complete","content":[],"x-unknown":1e2}}
    S {"jsonrpc":"2.0","id":2,"result":{"content":["twice"]}}
    "#);
}

#[test]
fn results_have_what_modern_ones_must() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}");
    let cases = [
        ("resources/read", r#""result": { }"#),
        (
            "resources/read",
            r#""error":{"code": -32002,"message":"none"}"#,
        ),
        (
            "tools/call",
            r#""error":{"code":-32002,"message":"our own"}"#,
        ),
        ("prompts/list", r#""result":{"prompts":[],"ttlMs":5}"#),
        ("prompts/get", r#""result":{"resultType":"input_required"}"#),
        ("x/unknown", r#""result":{"resultType":"complete"}"#),
        ("x/unknown", r#""result":[1]"#),
    ];
    for (at, (method, answer)) in cases.iter().enumerate() {
        talk.client(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{META}}}}"#
        ));
        talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, at + 2));
    }
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{META}}
        -> server {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"_meta":{}}}
    S {"jsonrpc":"2.0","id":2,"result": { }}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result": {"resultType":"complete","ttlMs":0,"cacheScope":"private" }}
    C {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{META}}
        -> server {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"_meta":{}}}
    S {"jsonrpc":"2.0","id":3,"error":{"code": -32002,"message":"none"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code": -32602,"message":"none"}}
    C {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{META}}
        -> server {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{}}}
    S {"jsonrpc":"2.0","id":4,"error":{"code":-32002,"message":"our own"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"our own"}}
    C {"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":5,"method":"prompts/list","params":{"_meta":{}}}
    S {"jsonrpc":"2.0","id":5,"result":{"prompts":[],"ttlMs":5}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","cacheScope":"private","prompts":[],"ttlMs":5}}
    C {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{META}}
        -> server {"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"_meta":{}}}
    S {"jsonrpc":"2.0","id":6,"result":{"resultType":"input_required"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}
    C {"jsonrpc":"2.0","id":1,"method":"x/unknown","params":{META}}
        -> server {"jsonrpc":"2.0","id":7,"method":"x/unknown","params":{"_meta":{}}}
    S {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete"}}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}
    C {"jsonrpc":"2.0","id":1,"method":"x/unknown","params":{META}}
        -> server {"jsonrpc":"2.0","id":8,"method":"x/unknown","params":{"_meta":{}}}
    S {"jsonrpc":"2.0","id":8,"result":[1]}
        -> client 0 on 1 {"jsonrpc":"2.0","id":1,"result":[1]}
    "#);
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}"#;
const ASK: &str = r#"{"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}"#;

#[test]
fn a_question_of_the_server_ends_one_request_and_is_answered_by_the_next() {
    let mut talk = Talk::to_legacy(config());
    talk.opened(r#"{"tools":{}}"#)
        .client(CALL)
        .server(ASK)
        .server(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#)
        .client(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept","content":{"n":1.0}}},"requestState":"state-1",META}}"#)
        .client(r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"roots":[]}},"requestState":"state-2",META}}"#)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"state-1"}}
    S {"jsonrpc":"2.0","id":"r","method":"roots/list"}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept","content":{"n":1.0}}},"requestState":"state-1",META}}
        -> server {"jsonrpc":"2.0","id":77,"result":{"action":"accept","content":{"n":1.0}}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}},"requestState":"state-2"}}
    C {"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"roots":[]}},"requestState":"state-2",META}}
        -> server {"jsonrpc":"2.0","id":"r","result":{"roots":[]}}
    S {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
        -> client 0 on "c" {"jsonrpc":"2.0","id":"c","result":{"resultType":"complete","content":[]}}
    "#);
}

#[test]
fn a_state_is_good_once_and_for_its_own_request() {
    let mut talk = Talk::to_legacy(config());
    let back = |name: &str, state: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{{"name":"{name}","inputResponses":{{"1":{{"action":"decline"}}}},"requestState":"{state}",META}}}}"#
        )
    };
    talk.opened(r#"{"tools":{}}"#).client(CALL).server(ASK);
    talk.said.clear();
    talk.client(&back("t", "guessed"))
        .client(&back("other", "state-1"))
        .of(9)
        .client(&back("t", "state-1"))
        .client(&back("t", "state-1"))
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"decline"}},"requestState":"guessed",META}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","error":{"code":-32602,"data":{"fault":"client","hint":"make the request anew, without `requestState` and `inputResponses`"},"message":"this `requestState` is unknown, used, expired or of another request"}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"other","inputResponses":{"1":{"action":"decline"}},"requestState":"state-1",META}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","error":{"code":-32602,"data":{"fault":"client","hint":"make the request anew, without `requestState` and `inputResponses`"},"message":"this `requestState` is unknown, used, expired or of another request"}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"decline"}},"requestState":"state-1",META}}
        -> server {"jsonrpc":"2.0","id":77,"result":{"action":"decline"}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"decline"}},"requestState":"state-1",META}}
        -> client 9 on "b" {"jsonrpc":"2.0","id":"b","error":{"code":-32602,"data":{"fault":"client","hint":"make the request anew, without `requestState` and `inputResponses`"},"message":"this `requestState` is unknown, used, expired or of another request"}}
    S {"jsonrpc":"2.0","id":2,"result":{}}
        -> client 9 on "b" {"jsonrpc":"2.0","id":"b","result":{"resultType":"complete"}}
    "#);
}

#[test]
fn an_answer_that_was_not_given_is_asked_for_again() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}").client(CALL).server(ASK);
    talk.said.clear();
    talk.client(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":7},"requestState":"state-1",META}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":7},"requestState":"state-1",META}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"state-2"}}
    "#);
}

#[test]
fn a_server_that_goes_on_without_an_answer() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}")
        .client(CALL)
        .server(ASK)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{"content":["late"]}}"#)
        .client(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"state-1"}}
    S {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}
    S {"jsonrpc":"2.0","id":2,"result":{"content":["late"]}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","result":{"resultType":"complete","content":["late"]}}
    "#);
}

#[test]
fn a_client_that_does_not_come_back() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}").client(CALL).server(ASK);
    talk.said.clear();
    talk.later(Duration::from_secs(599))
        .later(Duration::from_secs(1))
        .client(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    599s pass, due in Some(600s)
    1s pass, due in Some(1s)
        -> server {"jsonrpc":"2.0","id":77,"result":{"action":"cancel"}}
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"the client did not come back with its input"}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","error":{"code":-32602,"data":{"fault":"client","hint":"make the request anew, without `requestState` and `inputResponses`"},"message":"this `requestState` is unknown, used, expired or of another request"}}
    "#);
}

#[test]
fn what_a_server_may_not_ask() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}")
        .client(CALL)
        .server(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .server(r#"{"jsonrpc":"2.0","id":2,"method":"tasks/get"}"#)
        .server(r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"mode":"url"}}"#)
        .server(
            r#"{"jsonrpc":"2.0","id":4,"method":"sampling/createMessage","params":{"tools":[]}}"#,
        )
        .of(1)
        .client(CALL)
        .server(ASK)
        .server_on(Some(2), ASK);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","id":1,"method":"ping"}
        -> server {"jsonrpc":"2.0","id":1,"result":{}}
    S {"jsonrpc":"2.0","id":2,"method":"tasks/get"}
        -> server {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"data":{"fault":"client","hint":"go on without it, or end the call with an error"},"message":"`tasks/get` cannot be asked of an MCP client through spillgate"}}
    S {"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"mode":"url"}}
        -> server {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"data":{"fault":"client","hint":"go on without it, or end the call with an error"},"message":"`elicitation/create` is not among the capabilities that the client declares"}}
    S {"jsonrpc":"2.0","id":4,"method":"sampling/createMessage","params":{"tools":[]}}
        -> server {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"data":{"fault":"client","hint":"go on without it, or end the call with an error"},"message":"`sampling/createMessage` is not among the capabilities that the client declares"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> server {"jsonrpc":"2.0","id":77,"error":{"code":-32601,"data":{"fault":"client","hint":"go on without it, or end the call with an error"},"message":"`elicitation/create` cannot be asked now: calls of several clients are under way, and nothing says whose it is"}}
    S on 2 {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"state-1"}}
    "#);
}

#[test]
fn a_question_between_calls_waits_for_one() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}")
        .server(r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#)
        .client(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{META}}"#)
        .client(CALL)
        .client(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"roots":[]}},"requestState":"state-1",META}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    S {"jsonrpc":"2.0","id":0,"method":"roots/list"}
    C {"jsonrpc":"2.0","id":"l","method":"tools/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{}}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"}},"requestState":"state-1"}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"roots":[]}},"requestState":"state-1",META}}
        -> server {"jsonrpc":"2.0","id":0,"result":{"roots":[]}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{}}}
    "#);
}

#[test]
fn a_page_to_visit_first_becomes_a_question() {
    let mut talk = Talk::to_legacy(config());
    let call = |id: &str, more: &str, can: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"t",{more}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{can}}}}}}}"#
        )
    };
    let error = |id: u8| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32042,"message":"log in","data":{{"elicitations":[{{"mode":"url","elicitationId":"e","url":"https://x.example","message":"Log in"}}]}}}}}}"#
        )
    };
    let can = r#"{"elicitation":{"url":{}}}"#;
    talk.opened("{}")
        .client(&call("a", "", can))
        .server(&error(2))
        .client(&call(
            "b",
            r#""inputResponses":{"1":{"action":"accept"}},"requestState":"state-1","#,
            can,
        ))
        .client(&call("c", "", "{}"))
        .server(&error(4));
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"log in","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.example","message":"Log in"}]}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x.example","message":"Log in"}}},"requestState":"state-1"}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{}}}
    C {"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
        -> server (t) {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","id":4,"error":{"code":-32042,"message":"log in","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.example","message":"Log in"}]}}}
        -> client 0 on "c" {"jsonrpc":"2.0","id":"c","error":{"code":-32021,"data":{"fault":"client","hint":"declare the capability, or call without what needs it","requiredCapabilities":{"elicitation":{"url":{}}}},"message":"the server `files` asks for something that the client does not declare"}}
    "#);
}

#[test]
fn changes_go_to_whoever_listens() {
    let mut talk = Talk::to_legacy(config());
    talk.opened(r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#)
        .client(r#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:1","a:2"]},META}}"#)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .server(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1","_meta":{"k":1.0}}}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:2"}}"#)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}"#)
        .server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:1","a:2"]},META}}
        -> server {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:1"}}
        -> server {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:2"}}
    S {"jsonrpc":"2.0","id":2,"result":{}}
    S {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
    S {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}
        -> client 0 on "l" {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"notifications":{"resourceSubscriptions":["a:1"],"toolsListChanged":true}}}
    S {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        -> client 0 on "l" {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
    S {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}
    S {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1","_meta":{"k":1.0}}}
        -> client 0 on "l" {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1","_meta":{"io.modelcontextprotocol/subscriptionId":"l","k":1.0}}}
    S {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:2"}}
    C {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}
        -> server {"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"a:1"}}
    S {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
    "#);
}

#[test]
fn logs_go_to_requests_that_want_them() {
    let mut talk = Talk::to_legacy(config());
    let wants = |id: u8, level: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{level}}}}}}}"#
        )
    };
    let log = |level: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":1.0}}}}"#
        )
    };
    talk.opened(r#"{"logging":{}}"#)
        .client(&wants(1, ""))
        .server(&log("error"))
        .client(&wants(
            2,
            r#","io.modelcontextprotocol/logLevel":"warning""#,
        ))
        .server(&log("error"))
        .server(&log("info"))
        .server_on(Some(2), &log("error"))
        .client(&wants(3, r#","io.modelcontextprotocol/logLevel":"error""#));
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1.0}}
    C {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"warning"}}}
        -> server {"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"warning"}}
        -> server (t) {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1.0}}
        -> client 0 on 2 {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1.0}}
    S {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}
    S on 2 {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1.0}}
    C {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"error"}}}
        -> server (t) {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","_meta":{}}}
    "#);
}

#[test]
fn what_is_cancelled_is_cancelled_at_the_server() {
    let mut talk = Talk::to_legacy(config());
    talk.opened("{}")
        .client(CALL)
        .of(1)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#)
        .of(0)
        .client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"x","requestId":"a"}}"#)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)
        .client(r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{META}}"#)
        .abandoned(5)
        .client(r#"{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{META}}"#)
        .client_disconnected();
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    C {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}
    C {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"x","requestId":"a"}}
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"x","requestId":2}}
    S {"jsonrpc":"2.0","id":2,"result":{}}
    C {"jsonrpc":"2.0","id":5,"method":"tools/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{}}}
    C closes 5
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"the client closed the response"}}
    C {"jsonrpc":"2.0","id":6,"method":"tools/list","params":{META}}
        -> server {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{}}}
    C leaves
        -> server {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"the client closed the response"}}
    "#);
}

#[test]
fn a_server_that_is_gone() {
    let mut talk = Talk::to_legacy(config());
    talk.opened(r#"{"tools":{"listChanged":true}}"#)
        .client(CALL)
        .client(r#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}"#)
        .item(Some(2), Item::Failed(ConnectionError::Unreachable("reset".to_owned())))
        .client(CALL)
        .item(None, Item::Gone("exited with status 1".to_owned()))
        .client(CALL);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    C {"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
        -> client 0 on "l" {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"notifications":{"toolsListChanged":true}}}
    S Failed(Unreachable("reset"))
        -> client 0 on "a" Failed(Unreachable("reset"))
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S Gone("exited with status 1")
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` exited with status 1 before it answered"}}
        -> client 0 on "l" {"jsonrpc":"2.0","id":"l","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` exited with status 1 before it answered"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server {"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
    "#);
}

#[test]
fn bounds() {
    let limits = Limits {
        calls: 1,
        states: 1,
        questions: 1,
        listens: 0,
        resources: 1,
        held_bytes: 8,
        ..Limits::default()
    };
    let mut talk = Talk::to_legacy(Config {
        limits,
        declare: DeclaredCapabilities::Everything,
        ..config()
    });
    talk.client(CALL)
        .client(CALL)
        .server(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#)
        .client(CALL)
        .server(ASK)
        .server(ASK)
        .server(ASK)
        .server(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)
        .client(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}"#)
        .client(r#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{META}}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"c","version":"1"}}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"client","hint":"wait for answers before sending more"},"message":"more than 1 requests at once"}}
    S {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}
        -> server {"jsonrpc":"2.0","method":"notifications/initialized"}
        -> server: open the stream
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"client","hint":"wait for answers before sending more"},"message":"more than 1 requests at once"}}
    S {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> client 0 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"state-1"}}
    S {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
    S {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> server {"jsonrpc":"2.0","id":77,"error":{"code":-32601,"data":{"fault":"client","hint":"go on without it, or end the call with an error"},"message":"`elicitation/create` is one question too many for this call"}}
    S {"jsonrpc":"2.0","id":2,"result":{}}
    C {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}
        -> server {"jsonrpc":"2.0","id":77,"result":{"action":"accept"}}
        -> client 0 on "b" {"jsonrpc":"2.0","id":"b","error":{"code":-32000,"data":{"fault":"gateway","hint":"call again, and come back with the input sooner"},"message":"a result of 36 bytes arrived before the client's input and could not be kept"}}
    C {"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{META}}
        -> client 0 on "l" {"jsonrpc":"2.0","id":"l","error":{"code":-32000,"data":{"fault":"client","hint":"wait for answers before sending more"},"message":"more than 0 streams of changes at once"}}
    "#);
}

#[test]
fn clients_that_share_a_session() {
    let mut talk = Talk::to_legacy(Config {
        declare: DeclaredCapabilities::Everything,
        streams: true,
        ..config()
    });
    let back = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}"#;
    talk.opened("{}")
        .of(1)
        .client(CALL)
        .server(ASK)
        .of(2)
        .client(CALL)
        .server_on(Some(2), ASK)
        .server_on(
            Some(3),
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":["of 2"]}}"#,
        )
        .of(5)
        .client(back)
        .server_on(
            Some(2),
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":["of 1"]}}"#,
        )
        .server(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    insta::assert_snapshot!(talk.said, @r#"
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> server {"jsonrpc":"2.0","id":77,"error":{"code":-32601,"data":{"fault":"client","hint":"go on without it, or end the call with an error"},"message":"`elicitation/create` belongs to no call of a client"}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t",META}}
        -> server (t) {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{}}}
    S on 2 {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}
        -> client 1 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"state-1"}}
    S on 3 {"jsonrpc":"2.0","id":3,"result":{"content":["of 2"]}}
        -> client 2 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","content":["of 2"]}}
    C {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"state-1",META}}
        -> server {"jsonrpc":"2.0","id":77,"result":{"action":"accept"}}
    S on 2 {"jsonrpc":"2.0","id":2,"result":{"content":["of 1"]}}
        -> client 5 on "a" {"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","content":["of 1"]}}
    S {"jsonrpc":"2.0","method":"notifications/x"}
    "#);
}
