//! Fuzz targets for what models write: tool calls, jq filters, search words, and replies with a
//! slot.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_artifact::{Interrupt, TokenBudget};
use spillgate_conversation::{Nonce, Slot};
use spillgate_llm::Stop;
use spillgate_offload::{History, Profile};
use spillgate_query::{Child, Engine, unconfined};
use spillgate_retrieval::{NAMES, RetrievalTools};
use spillgate_search::{SearchQuery, inner_texts};
use spillgate_text::Tokenizer;

use crate::{first_line, stored};

/// Calls our tools. The first line is the name of a tool, the second its arguments (`HANDLE` stands
/// for the stored text's handle), and the rest is the text to store. Every call must return a
/// result.
pub fn arguments(bytes: &[u8]) {
    let (name, rest) = first_line(bytes);
    let (arguments, data) = first_line(rest);
    let offloader = stored::offloader(Profile::Preview);
    let handle = stored::keep(&offloader, data);
    let session = History::default();
    if let Ok(manifest) = offloader.store().manifest(handle) {
        session.note(&manifest, true);
    }
    let tools = RetrievalTools {
        offloader,
        page: TokenBudget::new(500),
        engine: Engine::new(Child {
            program: "/nowhere".into(),
            arguments: Vec::new(),
        }),
        extractor: None,
        session: Some(Arc::new(session)),
    };
    let arguments = String::from_utf8_lossy(arguments).replace("HANDLE", &handle.to_string());
    let arguments = RawValue::from_string(arguments).ok();
    let name = String::from_utf8_lossy(name);
    for tool in NAMES.iter().copied().chain([&*name]) {
        if tool != name && !tool.ends_with(&*name) {
            continue;
        }
        let result: Value =
            serde_json::from_str(&tools.call(tool, arguments.as_deref(), &Interrupt::default()))
                .unwrap();
        assert!(result["content"][0]["text"].is_string(), "{result}");
    }
}

/// Parses a jq filter. Any filter must be parsed or refused. The filter gets no document, so it
/// does not run.
pub fn filter(bytes: &[u8]) {
    if bytes.len() <= 1000
        && let Ok(filter) = std::str::from_utf8(bytes)
    {
        run(filter, &json!("Json"), b"");
    }
}

/// Applies a path, which is the first line, to a document of any format. The output must be JSON,
/// one message per line.
pub fn query(bytes: &[u8]) {
    let (path, data) = first_line(bytes);
    let Some(path) = std::str::from_utf8(path).ok().filter(|path| is_path(path)) else {
        return;
    };
    for format in [
        json!("Json"),
        json!("Ndjson"),
        json!({"Table": {"delimiter": b','}}),
        json!({"Lines": {"layout": "as_is"}}),
    ] {
        run(path, &format, data);
    }
}

/// Returns whether a filter consists only of path steps. Such a filter always terminates, because
/// it calls no functions.
fn is_path(filter: &str) -> bool {
    let steps =
        |c: char| matches!(c, '.' | '[' | ']' | '?' | '|' | ' ' | '"' | '-') || c.is_ascii_digit();
    let mut before = ' ';
    filter.len() <= 100
        && filter.chars().all(|c| {
            let is_key = before == '.' || before == '"' || before.is_alphabetic() || before == '_';
            let is_step = steps(c) || ((c.is_ascii_alphabetic() || c == '_') && is_key);
            before = c;
            is_step
        })
        && !filter.contains("..")
}

fn run(filter: &str, format: &Value, data: &[u8]) -> Vec<u8> {
    let request = json!({
        "filter": filter, "raw": false, "slurp": false, "start": 0, "byte": 0, "window": 4096,
        "counted": 1000, "format": format, "from": 0, "length": data.len(), "memory": 0, "cpu": 0,
        "depth": 64,
    });
    let mut out = Vec::new();
    unconfined(&request.to_string(), &data.to_vec(), &mut out).unwrap();
    for line in out
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        serde_json::from_slice::<Value>(line).unwrap();
    }
    out
}

/// Searches a text for the words on the first line. The passages must occur in the text and be
/// within the budget.
pub fn search(bytes: &[u8]) {
    let (words, data) = first_line(bytes);
    let artifact = stored::artifact(data);
    let counter = Tokenizer::Heuristic.counter();
    let words = String::from_utf8_lossy(words);
    for budget in [TokenBudget::LEAST, 400] {
        let query = SearchQuery::new(&words, TokenBudget::new(budget));
        let Ok(page) = spillgate_search::search(&artifact, &query, &*counter) else {
            continue;
        };
        let view = artifact.view().source().bytes(0, u64::MAX).unwrap();
        let rendered = page.render();
        assert_eq!(counter.count(&rendered), page.tokens);
        assert!(
            page.tokens <= budget,
            "{} of {budget}: {rendered}",
            page.tokens
        );
        let texts = inner_texts(&artifact).unwrap();
        for passage in &page.passages {
            if passage.is_inside {
                let mut texts = texts.iter();
                assert!(texts.any(|one| {
                    let inner = one.text.view().source().bytes(0, u64::MAX).unwrap();
                    memchr::memmem::find(&inner, passage.text.as_bytes()).is_some()
                }));
                continue;
            }
            assert!(passage.lines.last <= artifact.view().lines());
            let is_there = memchr::memmem::find(&view, passage.text.as_bytes()).is_some();
            assert!(is_there, "{passage:?}");
        }
    }
}

/// Extracts the answer from a reply with a slot, in which `NONCE` stands for the nonce. The answer
/// must be a part of the reply, without the slot's tags.
pub fn slot(bytes: &[u8]) {
    let nonce = Nonce::of([7; 16]);
    let reply = String::from_utf8_lossy(bytes).replace("NONCE", &nonce.to_string());
    let slot = Slot::new(nonce);
    for stop in [Stop::End, Stop::Length, Stop::ToolCalls] {
        let Ok(answer) = slot.answer(&reply, &stop) else {
            continue;
        };
        assert!(reply.contains(&answer));
        assert!(!answer.trim().is_empty());
        assert_eq!(answer.trim(), answer);
        assert!(!answer.contains(&slot.closing()), "{answer}");
    }
}
