//! `POST /v1/compress`: replaces oversized results of tools in the messages of a conversation.
//!
//! The call is the one that the guardrails for headroom make (docs/http-api.md). What replaces a
//! result follows from the store, the sender and the bytes alone, so a message that was sent to a
//! model once is sent again in the same form, and caches of prompts stay valid.

use std::io::Cursor;

use axum::body::Body;
use axum::http::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_artifact::{Handle, Origin};
use spillgate_mcp::{ByteEdits, span_in};
use spillgate_offload::{
    Audience, Choice, Offloader, Outcome, Purpose, Quoting, RetrieveError, Unstored, Way,
};
use spillgate_retrieval::NAMES;
use spillgate_store::{ContentName, Gone, Receipt, StoreError};

use crate::answer::with_type;
use crate::call::Call;
use crate::conversation::{ResultText, results};
use crate::offload::UNNAMED;
use crate::parameters::NoParameters;
use crate::problem::Problem;
use crate::retrieve::RETRIEVE;
use crate::{Api, Caller, body};

/// How a message that replaces a result begins.
const MARK: &str = "[spillgate] ";

/// What precedes the hash in a message.
const HASH: &str = "hash=";

/// A conversation. Members that are not listed are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CompressBody {
    /// The messages, in the form of OpenAI or of Anthropic.
    #[serde(rename = "messages")]
    _messages: Vec<Value>,
    /// The model, which is ignored.
    #[serde(rename = "model")]
    _model: Option<String>,
}

/// The conversation with messages in place of its oversized results.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompressAnswer {
    /// The messages, as many as were sent. What was not replaced is as it was sent.
    #[schemars(with = "Vec<Value>")]
    messages: Box<RawValue>,
    /// Tokens of the texts of the messages, as they were sent.
    tokens_before: u64,
    /// Tokens of the texts of the messages, as they are returned.
    tokens_after: u64,
    /// The difference.
    tokens_saved: u64,
    /// `tokens_after` divided by `tokens_before`; 1 if nothing was replaced.
    compression_ratio: f64,
    /// How each result was replaced, in order.
    transforms_applied: Vec<String>,
    /// The hashes in the new texts, by which `/v1/retrieve` finds the results.
    ccr_hashes: Vec<String>,
}

/// The members of a body that are read.
#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
}

/// A text for a result, in place of it.
struct Replacement {
    text: String,
    tokens: u64,
    /// Tokens of the result.
    instead_of: u64,
    name: Option<ContentName>,
    how: String,
}

pub(crate) async fn compress(call: Call) -> Result<Response<Body>, Problem> {
    let NoParameters {} = call.parameters()?;
    let Call {
        api, caller, body, ..
    } = call;
    let body = body::whole(body, &api.limits).await?;
    let work = api.work(move |api, _| {
        let answer = compressed(api, &caller, &body)?;
        let answer = serde_json::to_vec(&answer);
        answer.map_err(|error| Problem::ours("internal", error.to_string()))
    });
    Ok(with_type("application/json", work.await?))
}

fn compressed(api: &Api, caller: &Caller, body: &[u8]) -> Result<CompressAnswer, Problem> {
    let no_conversation = |why: String| {
        Problem::bad(format!("the body is no conversation in JSON: {why}"))
            .hint("send {\"messages\": [{\"role\": \"tool\", \"content\": \"…\"}]}")
    };
    let wrong = |error: serde_json::Error| no_conversation(error.to_string());
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(no_conversation("it is no object".to_owned()));
    }
    let Sent { messages } = serde_json::from_slice(body).map_err(wrong)?;
    let all: Vec<&RawValue> = serde_json::from_str(messages.get()).map_err(wrong)?;
    let (results, others) = results(&all);
    let count = |text: &str| api.tools.offloader.counter().count(text);
    let others: u64 = others.iter().map(|text| count(text)).sum();
    let (mut before, mut after) = (others, others);
    let (mut edits, mut hashes, mut how) = (ByteEdits::default(), Vec::new(), Vec::new());
    for result in results {
        let tool = result.tool.as_deref().unwrap_or(UNNAMED);
        for text in result.texts() {
            let new = match is_lookup(tool) {
                true => None,
                false => api
                    .replacement(caller, &text, tool, result.is_error)
                    .unwrap_or_else(|error| stays(&error)),
            };
            let Some(new) = new else {
                let tokens = count(&text.text);
                (before, after) = (before + tokens, after + tokens);
                continue;
            };
            (before, after) = (before + new.instead_of, after + new.tokens);
            let place = span_in(messages.get().as_bytes(), text.place.get());
            edits.replace(place, text.replaced(&new.text));
            how.push(new.how);
            let hash = new.name.map(|name| name.to_string());
            hashes.extend(hash.filter(|hash| !hashes.contains(hash)));
        }
    }
    let edited = edits.apply(messages.get().as_bytes());
    let edited = String::from_utf8(edited).unwrap_or_default();
    Ok(CompressAnswer {
        messages: RawValue::from_string(edited).map_err(wrong)?,
        tokens_before: before,
        tokens_after: after,
        tokens_saved: before.saturating_sub(after),
        compression_ratio: match before {
            0 => 1.0,
            before => after as f64 / before as f64,
        },
        transforms_applied: how,
        ccr_hashes: hashes,
    })
}

/// Whether a tool is one that reads stored results. Its pages are what the model asked for.
fn is_lookup(tool: &str) -> bool {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    name == RETRIEVE || NAMES.contains(&name)
}

/// A result that the store cannot replace stays: the conversation must go on, and nothing is lost,
/// because its owner has the text.
fn stays(error: &RetrieveError) -> Option<Replacement> {
    tracing::warn!(%error, "a result could not be replaced, so it stays in the conversation");
    None
}

impl Api {
    /// Returns what replaces a result's text; `None` if it stays as it is: because it fits, because
    /// it is one of our messages, or because it could not be stored. Errors are those of the store.
    fn replacement(
        &self,
        caller: &Caller,
        text: &ResultText<'_>,
        tool: &str,
        is_error: bool,
    ) -> Result<Option<Replacement>, RetrieveError> {
        let (offloader, bytes) = (&self.tools.offloader, text.text.as_bytes());
        let limits = offloader.limits(&Origin::tool(tool));
        let fits = || offloader.admits(&limits, &bytes::Bytes::copy_from_slice(bytes));
        if !limits.redaction.covers_small() && fits() || self.is_ours(caller, &text.text)? {
            return Ok(None);
        }
        let name = self.names.of(&caller.0, bytes);
        if let Some(handle) = self.names.find(&caller.0, name)?
            && let Ok(shown) = self.shown(handle, name)
        {
            return Ok(Some(shown));
        }
        let origin = Origin::tool(tool);
        let read = offloader.submit_stream(origin, is_error, &mut Cursor::new(bytes), &mut |_| {});
        let pending = read.expect("invariant: a text in memory can be read");
        match pending.settle(Choice::Limits { is_over: None }) {
            Outcome::Inline(_) => Ok(None),
            Outcome::Offloaded(stored) => Ok(Some(self.named(caller, name, &stored.receipt)?)),
            Outcome::NotStored(lost) => match lost.error {
                Unstored::Failed(error) => Err(error.into()),
                Unstored::Secrets { .. } => Ok(Some(Replacement {
                    text: lost.shown.text().to_owned(),
                    tokens: lost.shown.tokens(),
                    instead_of: lost.stats.tokens.count,
                    name: None,
                    how: "spillgate:refused".to_owned(),
                })),
            },
        }
    }

    /// Names a result that was just stored, and renders the message for it. An earlier copy that
    /// can be shown keeps the name, and the new one is removed.
    fn named(
        &self,
        caller: &Caller,
        name: ContentName,
        receipt: &Receipt,
    ) -> Result<Replacement, RetrieveError> {
        let own = receipt.handle();
        let remove_own = || {
            let offloader = &self.tools.offloader;
            let now = offloader.clock().now();
            if let Err(error) = offloader.store().remove(own, Gone::Removed, now) {
                tracing::warn!(%error, "a copy of a result that has no name could not be removed");
            }
        };
        let is_there = |handle| self.shown(handle, name).is_ok();
        let named = self.names.put(&caller.0, name, own, is_there);
        // Without a name nobody would find the copy, and the next request would store another one.
        let handle = named.inspect_err(|_| remove_own())?;
        if handle != own {
            // Another request stored the same bytes at the same time.
            remove_own();
        }
        self.shown(handle, name)
    }

    /// Renders the message for a stored result. It names the result by its hash.
    fn shown(&self, handle: Handle, name: ContentName) -> Result<Replacement, RetrieveError> {
        let offloader: Offloader = self.tools.offloader.for_audience(audience(name));
        let shown = offloader.present_stored(handle)?;
        let facts = offloader.store().manifest(handle)?.facts;
        let profile = offloader.limits(&facts.origin).profile;
        Ok(Replacement {
            text: shown.text().to_owned(),
            tokens: shown.tokens(),
            instead_of: facts.stats.tokens.count,
            name: Some(name),
            how: format!("spillgate:{}", profile.name()),
        })
    }

    /// Whether a text is, byte for byte, the message with which this store replaced a result of the
    /// caller. A text that only begins like one is the result of a tool.
    fn is_ours(&self, caller: &Caller, text: &str) -> Result<bool, RetrieveError> {
        let head = text.lines().next().unwrap_or_default();
        let hash = head.split(HASH).nth(1).and_then(|rest| rest.get(..24));
        let name = hash.filter(|_| text.starts_with(MARK));
        let Some(name) = name.and_then(|hash| hash.parse().ok()) else {
            return Ok(false);
        };
        let Some(handle) = self.names.find(&caller.0, name)? else {
            return Ok(false);
        };
        match self.shown(handle, name) {
            Err(RetrieveError::Store(StoreError::Absent { .. })) => Ok(false),
            shown => Ok(shown?.text == text),
        }
    }
}

/// Returns the calls of the reader of a message: of the tool that a guardrail adds.
fn audience(name: ContentName) -> Audience {
    let call = |query: &str| format!("{RETRIEVE}(hash=\"{name}\", query={query})");
    let way = |purpose, prefix: &'static str, argument: &str| Way {
        purpose,
        call: call(&format!("\"{prefix}{argument}\"")),
        filled: call("{argument}"),
        short: format!("query=\"{prefix}{argument}\""),
        prefix,
    };
    Audience {
        ways: vec![
            way(Purpose::Query, "jq: ", "FILTER"),
            way(Purpose::Search, "", "WORDS"),
            way(Purpose::Grep, "grep: ", "REGEX"),
            Way {
                filled: call("\"lines: {start}+{lines}\""),
                ..way(Purpose::Read, "lines: ", "FIRST+COUNT")
            },
        ],
        others: "with the same hash: ",
        quoting: Quoting::Json,
        alias: Some(format!("{HASH}{name}")),
    }
}
