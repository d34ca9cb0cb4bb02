//! Tests with hostile input: a bridge must not panic or grow, and must keep ids and results.

#![allow(
    clippy::unwrap_used,
    clippy::tests_outside_test_module,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::*;
use spillgate_bridge::{Bridge, Caller, ClientFrame, Step};
use spillgate_mcp::RequestId;
use spillgate_transport::{Frame, Item, ServerEvent};

use common::{META, config};

fn text(step: &Step) -> Option<String> {
    let Step::ToClient { event, .. } = step else {
        return None;
    };
    let Item::Message(Frame::Memory(frame)) = &event.item else {
        return None;
    };
    Some(String::from_utf8_lossy(frame).into_owned())
}

/// Generates ids in the various forms that clients use.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|id| id.to_string()),
        "[a-z \u{e9}]{0,8}".prop_map(|id| format!("\"{id}\"")),
        Just(r#""\u0061\n""#.to_owned()),
        Just("1.50".to_owned()),
    ]
}

/// Generates JSON values that would change if they were parsed and printed again.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1.0".to_owned()),
        Just("1e2".to_owned()),
        Just(r#""\u0061\/""#.to_owned()),
        Just("null".to_owned()),
        Just("12345678901234567890123".to_owned()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|all| format!("[ {} ]", all.join(" , "))),
            prop::collection::vec(("[a-z]{1,3}", inner), 0..4).prop_map(|all| {
                let members: Vec<String> = all
                    .into_iter()
                    .map(|(key, value)| format!("\"{key}\" :{value}"))
                    .collect();
                format!("{{ {}}}", members.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An answer has the client's id in its exact text. All other bytes of the server's frame are
    /// kept in order.
    #[test]
    fn ids_come_back_and_results_stay(id in id(), value in value(), legacy in any::<bool>()) {
        let now = Instant::now();
        let heard = |frame: &Bytes, bridge: &mut Bridge| {
            let heard = ClientFrame { from: Caller(3), frame, headers: &[], now };
            bridge.from_client(heard)
        };
        let (mut bridge, params, number) = if legacy {
            (Bridge::legacy_client_modern_server(config()), "{}".to_owned(), 1)
        } else {
            (Bridge::modern_client_legacy_server(config()), format!("{{{META}}}"), 2)
        };
        let call = Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/call","params":{params}}}"#));
        let _ = heard(&call, &mut bridge);
        if !legacy {
            let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
            let _ = bridge.from_server(ServerEvent::message(opened), now);
        }
        let (start, end) = (r#"{"jsonrpc" :"2.0","id": "#, format!(r#" ,"result":{{"v":{value}}}}}"#));
        let steps = bridge.from_server(ServerEvent::message(format!("{start}{number}{end}")), now);
        prop_assert_eq!(steps.len(), 1);
        let added = if legacy { "" } else { r#""resultType":"complete","# };
        let end = end.replacen(r#"{"v""#, &format!(r#"{{{added}"v""#), 1);
        prop_assert_eq!(text(&steps[0]).unwrap(), format!("{start}{id}{end}"));
    }

    /// The bridge does not panic, whatever messages arrive from either side and in whatever order.
    #[test]
    fn nothing_panics(said in prop::collection::vec((any::<bool>(), message(), 0_u64..6), 1..40), legacy in any::<bool>()) {
        let mut bridge = if legacy {
            Bridge::legacy_client_modern_server(config())
        } else {
            Bridge::modern_client_legacy_server(config())
        };
        let mut now = Instant::now();
        for (from_client, frame, number) in said {
            let frame = Bytes::from(frame);
            now += Duration::from_secs(number * 40);
            let steps = if from_client {
                let heard = ClientFrame { from: Caller(number % 2), frame: &frame, headers: &[], now };
                bridge.from_client(heard)
            } else {
                bridge.from_server(ServerEvent::message(frame).of(Some(RequestId::number(number))), now)
            };
            // Everything that the bridge sends is valid JSON.
            for said in steps.iter().filter_map(text) {
                prop_assert!(serde_json::from_str::<&serde_json::value::RawValue>(&said).is_ok(), "{}", said);
            }
            let _ = bridge.tick(now);
            let _ = bridge.abandoned(Caller(0), &RequestId::number(number));
        }
        let _ = bridge.client_disconnected(Caller(0));
        let _ = bridge.from_server(ServerEvent { of: None, event: None, item: Item::Gone("x".to_owned()) }, now);
        prop_assert_eq!(bridge.deadline(), None);
    }
}

const METHODS: &[&str] = &[
    "initialize",
    "server/discover",
    "tools/call",
    "resources/read",
    "subscriptions/listen",
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
    "ping",
    "tasks/get",
    "elicitation/create",
    "roots/list",
    "sampling/createMessage",
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
    "notifications/message",
    "notifications/subscriptions/acknowledged",
    "notifications/resources/updated",
    "x",
];

const PARAMS: &[&str] = &[
    "",
    r#","params":null"#,
    r#","params":[]"#,
    r#","params":7"#,
    r#","params":{}"#,
    r#","params":{META}"#,
    r#","params":{"_meta":7}"#,
    r#","params":{"_meta":{"_meta":{}},"_meta":{}}"#,
    r#","params":{"inputResponses":{"1":{}},"requestState":"state-1",META}"#,
    r#","params":{"requestId":2,"uri":"a","level":"debug","progressToken":2,META}"#,
    r#","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a","b"]},META}"#,
    r#","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"notifications":{"resourceSubscriptions":["a"]}}"#,
];

const ANSWERS: &[&str] = &[
    r#""result":{}"#,
    r#""result":null"#,
    r#""result":[1]"#,
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}}"#,
    r#""result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}"#,
    r#""result":{"resultType":"input_required"}"#,
    r#""result":{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"},"1":7}}"#,
    r#""error":{"code":-32042,"message":"","data":{"elicitations":[{},7]}}"#,
    r#""error":{"code":-32002}"#,
    r#""error":7"#,
];

const IDS: &[&str] = &[
    "1",
    "2",
    "3",
    "4",
    r#""a""#,
    "null",
    "{}",
    r#""\ud800""#,
    "1e999",
];

/// Generates messages that a bridge at least partly understands.
fn message() -> impl Strategy<Value = String> {
    let method = prop::sample::select(METHODS);
    let params = prop::sample::select(PARAMS);
    let answer = prop::sample::select(ANSWERS);
    let id = prop::sample::select(IDS);
    prop_oneof![
        (id.clone(), method.clone(), params.clone()).prop_map(|(id, method, params)| format!(
            r#"{{"id":{id},"method":"{method}"{params}}}"#
        )),
        (method, params).prop_map(|(method, params)| format!(r#"{{"method":"{method}"{params}}}"#)),
        (id, answer).prop_map(|(id, answer)| format!(r#"{{"id":{id},{answer}}}"#)),
        "\\PC{0,20}",
        Just("[".repeat(10_000)),
        Just(format!(
            r#"{{"id":1,"method":"x","params":{{"a":{}{}}}}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        )),
    ]
    .prop_map(|frame| frame.replace("META", META))
}
