//! Property tests: for any tool results and replies of the model, the window is never exceeded, and
//! every handle in the conversation can be read.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_agent::{
    BATCH, CacheLimits, CacheRules, Caching, DirectoryCache, FINAL_REPORT, Format,
    GET_CONTINUATION, TOOL_OUTPUT,
};
use spillgate_artifact::Handle;
use spillgate_conversation::{Nonce, Slot};
use spillgate_llm::{Message, Reply, Request, Scripted};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

use crate::stage::{By, Row, calls, found, give, scripted};

/// A call that a model might make.
fn call() -> impl Strategy<Value = (&'static str, Value)> {
    let at = 0_usize..3;
    prop_oneof![
        4 => (0_u64..9000, prop::bool::weighted(0.1)).prop_map(|(bytes, fails)| {
            // Few sizes are used, so that some calls repeat and can be answered from the cache.
            ("give", json!({"bytes": bytes / 1500 * 1500, "fails": fails}))
        }),
        2 => at.prop_map(|at| {
            let handle = format!("HANDLE-{at}");
            (TOOL_OUTPUT, json!({"handle": handle, "extract": "line 3", "mode": "truncate"}))
        }),
        2 => (0_u32..3, 0_u64..3000).prop_map(|(at, offset)| {
            (GET_CONTINUATION, json!({"tool_call_id": at.to_string(), "offset": offset}))
        }),
    ]
}

/// What a model might say: calls, individually or in a batch; other text; a report, in the wrapper
/// or as a call, that does not match its schema; calls of unknown tools.
fn reply() -> impl Strategy<Value = Reply> {
    let some = || prop::collection::vec(call(), 1..4);
    let many = prop::collection::vec(0_u64..200, 1..30);
    let bytes = 0_usize..9000;
    prop_oneof![
        4 => some().prop_map(|some: Vec<_>| calls(&some)),
        4 => some().prop_map(|some| batch(&some)),
        2 => many.prop_map(|many| batch(&many.into_iter().map(give).collect::<Vec<_>>())),
        1 => bytes.clone().prop_map(|bytes| Scripted::says("a word ".repeat(bytes / 7))),
        2 => (bytes, any::<bool>()).prop_map(|(bytes, written)| {
            let wrong = json!({"n": "\"wrong\"".repeat(bytes / 7)});
            let slot = Slot::new(Nonce::of([1; 16])).of_format("json");
            match written {
                true => Scripted::says(format!("{}{wrong}{}", slot.opening(), slot.closing())),
                false => calls(&[(FINAL_REPORT, json!({"content_json": wrong}))]),
            }
        }),
        1 => (1_usize..40).prop_map(|count| {
            calls(&vec![("a_tool_that_nobody_has_ever_heard_of", json!({"a": "word"})); count])
        }),
    ]
}

fn batch(some: &[(&str, Value)]) -> Reply {
    let inner = |(tool, arguments): &(&str, Value)| json!({"tool": tool, "parameters": arguments});
    let inner: Vec<Value> = some.iter().map(inner).collect();
    calls(&[(BATCH, json!({"calls": inner}))])
}

/// The format of the report: text, which accepts anything, or JSON with a schema.
fn format(of_json: bool) -> Format {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    match of_json {
        true => Format::Json(Some(schema)),
        false => Format::Text,
    }
}

/// Returns the tokens of everything that is sent.
fn sent(request: &Request) -> u64 {
    let counter = Tokenizer::Heuristic.counter();
    let count = |text: &str| counter.count(text);
    let said = request.messages.iter().map(|message| match message {
        Message::User(text) => count(text),
        Message::Assistant { text, calls } => {
            let calls = calls.iter();
            count(text)
                + calls
                    .map(|call| count(&call.name) + count(&call.arguments))
                    .sum::<u64>()
        }
        Message::Tools(replies) => replies.iter().map(|reply| count(&reply.text)).sum(),
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| count(&tool.name) + count(&tool.description) + count(&tool.schema.to_string()));
    count(&request.system) + said.sum::<u64>() + tools.sum::<u64>()
}

/// Plays the row and checks every request.
async fn checked(row: Row) {
    let model = scripted(row.says.clone(), Arc::default());
    let stage = row.stage(&model, None);
    let limit = stage.settings.window.limit();
    stage.run(&model, row.until.clone()).await;
    let mut handles = Vec::new();
    for request in model.seen() {
        let tokens = sent(&request);
        assert!(tokens <= limit, "{tokens} of {limit}");
        found(&request, &mut handles);
        for pair in request.messages.windows(2) {
            if let [Message::Assistant { calls, .. }, Message::Tools(replies)] = pair {
                assert_eq!(calls.len(), replies.len(), "a reply for each call");
            }
        }
    }
    for handle in handles {
        let stored: Handle = handle.parse().unwrap();
        assert!(row.store.open(stored).is_ok(), "{handle} is dead");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_window_is_never_exceeded_and_no_handle_is_dead(
        says in prop::collection::vec(reply(), 1..12),
        calls_per_turn in 1_u32..30,
        of_json in prop::bool::weighted(0.8),
        window in 1500_u64..6000,
        cap in prop_oneof![Just(0_u64), 200_u64..4000],
        by in 0..3,
        has_cache in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let cache = DirectoryCache::new(
            directory.path().to_owned(),
            CacheLimits::default(),
            Arc::new(StoppedClock::default()),
        );
        let rules = CacheRules::new(Some(Duration::from_secs(60)), []).unwrap();
        let caching = Caching::new(Arc::new(cache), rules, "");
        let row = Row {
            cap,
            window,
            max_turns: 10,
            calls_per_turn,
            format: format(of_json),
            by: match by {
                0 => By::ToolOutput,
                1 => By::Pages { short_ids: true },
                _ => By::Nothing,
            },
            caching: has_cache.then_some(caching),
            ..Row::new(says)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(checked(row));
    }
}
