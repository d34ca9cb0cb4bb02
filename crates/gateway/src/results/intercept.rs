//! Replaces an oversized result on its way to the client.
//!
//! A result that fits passes unchanged. An oversized result is stored completely, as the bytes that
//! the server sent. Its text is replaced by a preview in `content`. The preview also replaces
//! `structuredContent`, because some clients show this part to the model instead (Claude Code and
//! Codex do). Binary blocks above their limits become links. All other blocks stay in their places.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use spillgate_artifact::{ByteSource, Handle, Origin, Reason, TextPart};
use spillgate_mcp::{ByteEdits, span_in};
use spillgate_offload::{
    Choice, History, JsonResult, Limits, Offloader, Outcome, PendingResult, StoredSecrets, Unstored,
};
use spillgate_retrieval::RETRIEVAL_MARK;
use spillgate_store::{Draft, Receipt, SpooledBytes, StoreError};
use spillgate_transport::StandIn;

use crate::results::client_view::ShownPart;
use crate::results::content_block::Form;
use crate::results::holes;
use crate::results::place::Place;
use crate::results::replacement::{self, Stored};
use crate::results::{Found, asking};
use crate::rewrite::output_schema;

/// The member of our `structuredContent` that contains the preview. The module `output_schema`
/// changes each `outputSchema` so that it also allows an object with only this member.
pub(crate) const ENVELOPE_KEY: &str = "spillgate";

/// Maximum size, in bytes, of a result with the retrieval mark, from another Spillgate behind this
/// one, that passes unchanged. A larger one is treated like any other result.
const MOST_RETRIEVED: u64 = 64 << 10;

/// The kind of a result, its client and its limits.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The kind of result.
    pub(crate) form: Form,
    /// Whether the client supports `resource_link` blocks (MCP 2025-06-18 and later).
    pub(crate) links: bool,
    /// The part of the result that the client shows to its model.
    pub(crate) shown_part: ShownPart,
    /// The call or request that produced the result.
    pub(crate) origin: Origin,
    /// The limits for the result.
    pub(crate) limits: Limits,
    /// What was already shown in the client's session; `None` for stateless clients.
    pub(crate) history: Option<Arc<History>>,
}

impl Case {
    /// Returns the part of the result that the client shows. For a failed result this is unknown,
    /// because it was not measured, so either part may be shown.
    pub(crate) fn shown_part_of(&self, found: &Found<'_>) -> ShownPart {
        match found.is_error() {
            true => ShownPart::Either,
            false => self.shown_part,
        }
    }
}

/// A result in a frame.
pub(crate) struct Incoming<'a> {
    /// The frame. For a message that is too large for memory, the reduced frame.
    pub(crate) frame: &'a Bytes,
    /// The result in the frame.
    pub(crate) json: &'a str,
    /// The large value, if it is not in memory.
    pub(crate) large: Option<(&'a StandIn, SpooledBytes)>,
}

/// What happened to the large parts of a result.
#[derive(Debug)]
pub(crate) enum Left {
    /// The large parts are unchanged; `None` if there are none.
    Untouched(Option<SpooledBytes>),
    /// The result fits, so the large parts are still in the draft.
    Draft(Box<dyn Draft>),
    /// The result is stored.
    Stored(Handle),
    /// The large parts are lost, because storing failed.
    Lost,
}

impl Left {
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self, Self::Stored(_))
    }
}

/// Returns the edits that replace an oversized result in a frame. There are no edits if the result
/// fits. Fails if the large parts of the result cannot be read.
pub(crate) fn intercept(
    offloader: &Offloader,
    case: Case,
    incoming: Incoming<'_>,
) -> Result<(ByteEdits, Left), StoreError> {
    let Incoming { frame, json, large } = incoming;
    let (place, spooled) = match large {
        Some((stand_in, value)) => (Place::large(stand_in), Some(value)),
        None => (Place::memory(json.as_bytes()), None),
    };
    let untouched = |spooled| Ok((ByteEdits::default(), Left::Untouched(spooled)));
    let Some(mut found) = Found::parse(case.form, json, place) else {
        return untouched(spooled);
    };
    if found.asks() {
        let edits = asking::marked(offloader, &case.limits, frame, json)?;
        return Ok((edits, Left::Untouched(spooled)));
    }
    if let Some(spooled) = &spooled {
        holes::complete(&mut found, spooled.source()?.as_ref())?;
    }
    let (shown_part, limits) = (case.shown_part_of(&found), case.limits);
    let bulky = found.bulky(&limits);
    let bytes = found.wire_bytes(shown_part);
    let is_ours = is_retrieval(&found, bytes) && !limits.redaction.covers_small();
    if bulky.is_empty() && (limits.admit_any(bytes) || is_ours) {
        let server = case.origin.server.as_deref();
        offloader.ledger().inline_of(server, bytes);
        return untouched(spooled);
    }
    let _store = tracing::info_span!("store", bytes).entered();
    let in_memory = || JsonResult::from(frame.slice_ref(json.as_bytes()));
    let raw = spooled.map_or_else(in_memory, JsonResult::Spooled);
    let tool = case.origin.tool.clone();
    // What goes beside the text of such a result is stored even if the text fits.
    let is_scanned = limits.redaction.covers_small()
        || !bulky.is_empty() && limits.stored_secrets == StoredSecrets::Refused;
    let (pending, choice) = submit(
        offloader,
        case.origin,
        &found,
        (shown_part, is_scanned),
        &limits,
        raw,
    )?;
    let pending = pending.shown_in(case.history);
    let (stored, preview) = match pending.settle(choice) {
        Outcome::Inline(fits) if bulky.is_empty() => {
            let left = fits.into_draft().map_or(Left::Untouched(None), Left::Draft);
            return Ok((ByteEdits::default(), left));
        }
        Outcome::Inline(fits) => (fits.store(), None),
        Outcome::Offloaded(stored) => (Ok(stored.receipt), Some(stored.shown)),
        Outcome::NotStored(lost) => (Err(lost.error), Some(lost.shown)),
    };
    log(&stored);
    let handle = stored.as_ref().ok().map(Receipt::handle);
    if handle.is_none() {
        found.place = place.lost();
    }
    let shown = Stored {
        tool: &tool,
        handle,
        preview: preview.as_ref(),
        bulky: &bulky,
        links: case.links,
        redactor: limits.hides_secrets().then(|| &**offloader.redactor()),
    };
    let splice = match place.is_hole(json) {
        true => instead(frame, json, &found, &shown),
        false => changes(frame, json, &found, &shown, &limits),
    };
    Ok((splice, handle.map_or(Left::Lost, Left::Stored)))
}

/// Passes a result to the pipeline, and returns the information that decides whether it is
/// replaced.
fn submit(
    offloader: &Offloader,
    origin: Origin,
    found: &Found<'_>,
    (shown_part, is_scanned): (ShownPart, bool),
    limits: &Limits,
    raw: JsonResult,
) -> Result<(PendingResult, Choice), StoreError> {
    let source = raw.source()?;
    let parts = found.parts(source.as_ref()).map_err(|e| damaged(&e))?;
    let is_over = is_over(offloader, limits, &raw, parts.shown(shown_part))?;
    let scanned = source.as_deref().filter(|_| is_scanned);
    let choice = match has_secrets(offloader, scanned)? {
        true => Choice::Store(Reason::Secrets),
        false => Choice::Limits { is_over },
    };
    let captured = offloader.capture_json(origin, found.is_error(), raw, parts.stored());
    let pending = offloader.submit(captured, limits.clone());
    let room = replacement::preview_room(found);
    Ok((pending.shown_within(room), choice))
}

/// Returns whether any part of a result that is to be scanned has a secret: also a blob or a member
/// that is no text.
fn has_secrets(offloader: &Offloader, raw: Option<&dyn ByteSource>) -> Result<bool, StoreError> {
    let Some(raw) = raw else {
        return Ok(false);
    };
    let found = offloader.redactor().find(raw).map_err(|e| damaged(&e))?;
    Ok(!found.is_empty())
}

/// Whether one of the texts that a client may show exceeds the limits. `None` if there is only one
/// text or if the bytes are lost.
fn is_over(
    offloader: &Offloader,
    limits: &Limits,
    raw: &JsonResult,
    texts: Option<Vec<Vec<TextPart>>>,
) -> Result<Option<bool>, StoreError> {
    for parts in texts.iter().flatten() {
        match raw.text(parts)? {
            Some(text) if offloader.admits(limits, &*text) => {}
            Some(_) => return Ok(Some(true)),
            None => return Ok(None),
        }
    }
    Ok(texts.map(|_| false))
}

/// Returns the edits that replace a result of which nothing is known except that it is an object.
fn instead(frame: &[u8], json: &str, found: &Found<'_>, shown: &Stored<'_>) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let (list, blocks) = (found.form.list(), replacement::blocks(found, shown));
    let first = found.place.first();
    let comma = if first.is_empty() { "" } else { "," };
    let made = format!("{{{first}{comma}\"{list}\":{blocks}}}");
    splice.replace(span_in(frame, json), made);
    splice
}

/// Returns the error for a draft that could not be read.
pub(crate) fn damaged(error: &io::Error) -> StoreError {
    StoreError::Damaged {
        path: "the draft".into(),
        what: error.to_string(),
    }
}

/// Logs in the same words as the program ai-agent, for tools that read the logs of ai-agent.
fn log(stored: &Result<Receipt, Unstored>) {
    let receipt = match stored {
        Ok(receipt) => receipt,
        Err(error) => {
            tracing::warn!(%error, "an oversized result could not be stored");
            return;
        }
    };
    let facts = &receipt.manifest().facts;
    let tool = facts.origin.tool.escape_debug();
    let (reason, bytes) = (json!(facts.reason), facts.raw_bytes);
    let reason = reason.as_str().unwrap_or_default();
    let handle = receipt.handle();
    tracing::info!(%handle, "Tool '{tool}' output stored for tool_output ({reason}, {bytes} bytes).");
}

/// Returns the edits to the list of blocks and to `structuredContent`. For a result that is
/// refused, also returns the edit to `isError`.
fn changes(
    frame: &[u8],
    result: &str,
    found: &Found<'_>,
    stored: &Stored<'_>,
    limits: &Limits,
) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let mut members = String::new();
    let blocks = replacement::blocks(found, stored);
    match found.list {
        Some(list) => splice.replace(span_in(frame, list.get()), blocks),
        // There is no `content`. Add it for clients that show only this part.
        None => members.push_str(&format!("\"{}\":{blocks},", found.form.list())),
    }
    if let (Some(structured), Some(preview)) = (found.structured, stored.preview) {
        let instead = output_schema::instead(preview.text(), found.meta);
        splice.replace(span_in(frame, structured.get()), instead);
    }
    let is_refused = limits.profile.is_refusal() && stored.preview.is_some();
    if is_refused && found.form == Form::Call && !found.is_error() {
        // A refusal is an error, so that the model does not take a part of the result for the
        // whole.
        match found.is_error {
            Some(flag) => splice.replace(span_in(frame, flag.get()), "true"),
            None => members.push_str("\"isError\":true,"),
        }
    }
    insert_members(&mut splice, frame, result, members);
    splice
}

/// Inserts members, each followed by a comma, at the start of an object.
pub(crate) fn insert_members(
    splice: &mut ByteEdits,
    frame: &[u8],
    object: &str,
    mut members: String,
) {
    let Some(brace) = object.find('{').filter(|_| !members.is_empty()) else {
        return;
    };
    if object[brace + 1..].trim_ascii_start().starts_with('}') {
        members.pop(); // the object is empty, so no comma is needed
    }
    let at = span_in(frame, object).start + brace + 1;
    splice.replace(at..at, members);
}

fn is_retrieval(found: &Found<'_>, bytes: u64) -> bool {
    let marked = found
        .meta
        .is_some_and(|meta| meta.get().contains(RETRIEVAL_MARK));
    marked && bytes <= MOST_RETRIEVED
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_artifact::ContentKind;
    use spillgate_offload::Rule;
    use spillgate_testkit::{log, records};

    use super::*;
    use crate::fixture::{offloader, offloader_with, replaced, without_handles, without_previews};
    use spillgate_mcp::messages;

    /// Returns the frame that the client receives, and the artifact that the frame names.
    fn passed_on(frame: &str) -> (String, Option<String>) {
        let offloader = offloader();
        let mut splice = ByteEdits::default();
        for envelope in messages(frame.as_bytes()) {
            let Some(result) = envelope.result else {
                continue;
            };
            let case = Case {
                form: Form::Call,
                links: true,
                shown_part: ShownPart::default(),
                limits: offloader.limits(&Origin::tool("dump")),
                origin: Origin::tool("dump"),
                history: None,
            };
            splice.merge(replaced(&offloader, case, frame.as_bytes(), result.get()).0);
        }
        let stored = offloader.store().list().unwrap();
        let raw = stored.first().map(|listed| {
            let artifact = offloader.artifact(listed.manifest.handle).unwrap();
            let raw = artifact.raw().bytes(0, u64::MAX).unwrap();
            String::from_utf8(raw).unwrap()
        });
        (
            String::from_utf8(splice.apply(frame.as_bytes())).unwrap(),
            raw,
        )
    }

    /// Returns what a result becomes, with its previews masked. Checks that the result was either
    /// stored unchanged or not changed at all.
    fn becomes(result: &str) -> String {
        let frame = format!(r#"{{"id":1,"result":{result},"x":1.0}}"#);
        let (left, raw) = passed_on(&frame);
        match raw {
            Some(raw) => assert_eq!(raw, result),
            None => assert_eq!(left, frame),
        }
        without_previews(&left)
    }

    fn quoted(text: &str) -> String {
        json!(text).to_string()
    }

    fn block(text: &str) -> String {
        format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
    }

    #[test]
    fn a_large_text_becomes_a_preview() {
        let result = format!(r#"{{"content":[{}]}}"#, block(&log(600)));
        let (left, raw) = passed_on(&format!(r#"{{"id":1,"result":{result}}}"#));
        assert_eq!(raw.as_deref(), Some(&*result));
        let message: serde_json::Value = serde_json::from_str(&left).unwrap();
        let text = message["result"]["content"][0]["text"].as_str().unwrap();
        assert_snapshot!(without_handles(text), @r#"
        [spillgate] dump returned 37992 bytes, 601 lines, 9498 tokens (log); stored whole as HANDLE
        failure:
          501: ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
        shape:
          levels: ERROR 1, INFO 599
          from 2026-11-21T10:00:00Z to 2026-11-21T10:09:59Z
          599× (line 1) <*> INFO worker-<*> processed batch id=<*> ok
          1× (line 501) <*> ERROR worker-<*> code=<*> disk quota exceeded on /data/<*>
        next: spillgate_search(handle="HANDLE", words="why did it fail?")
        next: spillgate_read(handle="HANDLE", start=491, lines=60)
        also, with the same handle: spillgate_grep(pattern=REGEX)
        "#);
    }

    #[test]
    fn a_small_result_is_not_touched() {
        for result in [
            "{}",
            "[1]",
            "null",
            r#"{"content":[]}"#,
            r#"{"content":"odd"}"#,
            r#"{"content":[{"type":"text"}],"structuredContent":null}"#,
            r#"{"content":[{"type":"text","text":"small"}]}"#,
        ] {
            assert_eq!(
                becomes(result),
                format!(r#"{{"id":1,"result":{result},"x":1.0}}"#)
            );
        }
    }

    #[test]
    fn text_and_structured_content_become_the_same() {
        let (log, records) = (log(600), records(400));
        let twin = format!(
            r#"{{"content":[{}],"structuredContent":{{"content":{}}}}}"#,
            block(&log),
            quoted(&log)
        );
        assert_snapshot!(becomes(&twin), @r#"{"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"structuredContent":{"spillgate":PREVIEW}},"x":1.0}"#);
        let same = format!(
            r#"{{"structuredContent":{records},"content":[{}]}}"#,
            block(&records)
        );
        assert_snapshot!(becomes(&same), @r#"{"id":1,"result":{"structuredContent":{"spillgate":PREVIEW},"content":[{"type":"text","text":PREVIEW}]},"x":1.0}"#);
        let only = format!(r#"{{"structuredContent":{records}}}"#);
        assert_snapshot!(becomes(&only), @r#"{"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}],"structuredContent":{"spillgate":PREVIEW}},"x":1.0}"#);
        let empty = format!(r#"{{"content":[], "structuredContent" : {records} }}"#);
        assert_snapshot!(becomes(&empty), @r#"{"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}], "structuredContent" : {"spillgate":PREVIEW} },"x":1.0}"#);
        let wrapped = format!(
            r#"{{"structuredContent":{{"result":{records}}},"_meta":{{"fastmcp":{{"wrap_result":true}}}},"content":[]}}"#
        );
        assert_snapshot!(becomes(&wrapped), @r#"{"id":1,"result":{"structuredContent":{"result":{"spillgate":PREVIEW}},"_meta":{"fastmcp":{"wrap_result":true}},"content":[{"text":PREVIEW,"type":"text"}]},"x":1.0}"#);
        let no_list = format!(r#"{{"content":null,"structuredContent":{records}}}"#);
        assert_snapshot!(becomes(&no_list), @r#"{"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}],"structuredContent":{"spillgate":PREVIEW}},"x":1.0}"#);
    }

    #[test]
    fn what_is_said_twice_is_counted_once() {
        let lines: Vec<String> = log(200).lines().map(str::to_owned).collect();
        let text = lines.join("\n");
        let value = json!({"lines": lines, "n": 1});
        let blocks: Vec<String> = lines.iter().map(|line| block(line)).collect();
        let told = |result: String| {
            let offloader = offloader();
            let case = Case {
                form: Form::Call,
                links: true,
                shown_part: ShownPart::default(),
                limits: offloader.limits(&Origin::tool("dump")),
                origin: Origin::tool("dump"),
                history: None,
            };
            assert!(replaced(&offloader, case, result.as_bytes(), &result).1);
            offloader.store().list().unwrap()[0]
                .manifest
                .facts
                .stats
                .bytes
        };
        let once = text.len() as u64;
        for result in [
            format!(
                r#"{{"content":[{}],"structuredContent":{{"result":{}}}}}"#,
                block(&text),
                quoted(&text)
            ),
            format!(
                r#"{{"content":[{}],"structuredContent":{value}}}"#,
                block(&serde_json::to_string_pretty(&value).unwrap())
            ),
            format!(
                r#"{{"content":[{}],"structuredContent":{value}}}"#,
                blocks.join(",")
            ),
        ] {
            assert!(
                (once..once * 3 / 2).contains(&told(result.clone())),
                "{result}"
            );
        }
        let another = format!(
            r#"{{"content":[{}],"structuredContent":{{"result":{}}}}}"#,
            block(&text),
            quoted(&text.replace("batch", "bunch"))
        );
        assert!(told(another) > 2 * once);
    }

    /// Returns rows in the form of `FastMCP`, in the form of the Python SDK 1.30, and as JSON.
    fn rows(n: usize) -> (String, String, String) {
        let row = |id: usize| json!({"id": id, "state": "idle", "note": "Käse"});
        let rows: Vec<_> = (0..n).map(row).collect();
        let value = json!(rows).to_string();
        let pretty = rows
            .iter()
            .map(|row| block(&serde_json::to_string_pretty(row).unwrap()));
        let pretty: Vec<String> = pretty.collect();
        let (one, each) = (block(&json!(rows).to_string()), pretty.join(","));
        let result = |blocks: &str| {
            format!(
                r#"{{"content":[{blocks}],"structuredContent":{{"result":{value}}},"isError":false}}"#
            )
        };
        (result(&one), result(&each), value)
    }

    #[test]
    fn one_value_in_two_forms_is_one_value_at_every_size() {
        for n in [100, 600, 1200, 5000] {
            let (one, each, value) = rows(n);
            for result in [one, each] {
                let offloader = offloader_with(Rule {
                    max_tokens: Some(700),
                    ..Rule::default()
                });
                let frame = format!(r#"{{"id":1,"result":{result}}}"#);
                let case = Case {
                    form: Form::Call,
                    links: true,
                    shown_part: ShownPart::default(),
                    limits: offloader.limits(&Origin::tool("dump")),
                    origin: Origin::tool("dump"),
                    history: None,
                };
                let (splice, is_stored) = replaced(
                    &offloader,
                    case,
                    frame.as_bytes(),
                    &frame[17..frame.len() - 1],
                );
                // The rows are counted only once: 100 rows count 4.3 KB instead of 8.6 KB.
                let told = format!("dump returned {} bytes", value.len());
                let shown = String::from_utf8(splice.apply(frame.as_bytes())).unwrap();
                assert!(is_stored && shown.contains(&told), "{shown}");
                let stored = &offloader.store().list().unwrap()[0].manifest;
                let stats = &stored.facts.stats;
                assert_eq!(
                    (stats.bytes, stats.kind),
                    (value.len() as u64, ContentKind::Json)
                );
                let artifact = offloader.artifact(stored.handle).unwrap();
                assert_eq!(
                    artifact.raw().bytes(0, u64::MAX).unwrap(),
                    result.as_bytes()
                );
            }
        }
    }

    #[test]
    fn the_limit_counts_what_the_client_shows() {
        // The limit is 2,500 tokens. One text has about 1,700 tokens, the other about 4,000.
        let (some, many) = (log(100), log(250));
        let shown = |shown_part, text: &str, value: &str, is_error: bool| {
            let frame = format!(
                r#"{{"id":1,"result":{{"content":[{}],"structuredContent":{{"told":{},"n":1}},"isError":{is_error}}}}}"#,
                block(text),
                quoted(value)
            );
            let offloader = offloader();
            let case = Case {
                form: Form::Call,
                links: true,
                shown_part,
                limits: offloader.limits(&Origin::tool("dump")),
                origin: Origin::tool("dump"),
                history: None,
            };
            !replaced(
                &offloader,
                case,
                frame.as_bytes(),
                &frame[17..frame.len() - 1],
            )
            .1
        };
        let bunch = some.replace("batch", "bunch");
        for (shown_part, text, value, is_error, fits) in [
            // Each text fits by itself, but not both together.
            (ShownPart::Either, &some, &bunch, false, true),
            (ShownPart::Either, &some, &many, false, false),
            (ShownPart::Either, &many, &some, false, false),
            (ShownPart::Structured, &some, &bunch, false, true),
            (ShownPart::Structured, &some, &many, false, false),
            (ShownPart::Structured, &many, &some, false, true),
            (ShownPart::Structured, &many, &some, true, false),
        ] {
            assert_eq!(
                shown(shown_part, text, value, is_error),
                fits,
                "{shown_part:?} {is_error}"
            );
        }
    }

    #[test]
    fn other_blocks_and_members_stay() {
        let log = log(600);
        let (text, half) = (block(&log), block(&log[..log.len() / 2]));
        let image = r#"{"data":"iVBORw0=","type":"image","mimeType":"image/png"}"#;
        let noted = format!(
            r#"{{"text":{}, "type":"text","annotations":{{"priority":1.0}}}}"#,
            quoted(&log)
        );
        assert_snapshot!(becomes(&format!(r#"{{"content":[{image},{text},{image}]}}"#)), @r#"{"id":1,"result":{"content":[{"data":"iVBORw0=","type":"image","mimeType":"image/png"},{"type":"text","text":PREVIEW},{"data":"iVBORw0=","type":"image","mimeType":"image/png"}]},"x":1.0}"#);
        assert_snapshot!(becomes(&format!(r#"{{"content":[{half}, {image},{half}]}}"#)), @r#"{"id":1,"result":{"content":[{"type":"text","text":PREVIEW},{"data":"iVBORw0=","type":"image","mimeType":"image/png"}]},"x":1.0}"#);
        let failed = format!(r#"{{"_meta":{{"x/y":1.0}},"content":[{noted}],"isError":true}}"#);
        assert_snapshot!(becomes(&failed), @r#"{"id":1,"result":{"_meta":{"x/y":1.0},"content":[{"text":PREVIEW, "type":"text","annotations":{"priority":1.0}}],"isError":true},"x":1.0}"#);
        let sloppy = format!(r#"{{"content":[{text}],"isError":"no"}}"#);
        assert_snapshot!(becomes(&sloppy), @r#"{"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"isError":"no"},"x":1.0}"#);
    }

    #[test]
    fn a_lone_surrogate_is_stored_as_it_came() {
        let result = format!(
            r#"{{"content":[{{"type":"text","text":"half \ud83d.\n{}"}}]}}"#,
            r"line with some words and a number 4711\n".repeat(600)
        );
        let (left, raw) = passed_on(&format!(r#"{{"result":{result},"id":"\u0061"}}"#));
        assert_eq!(raw.unwrap(), result);
        assert!(
            left.contains("half \u{fffd}.") && left.ends_with(r#","id":"\u0061"}"#),
            "{left}"
        );
    }

    #[test]
    fn each_result_of_a_batch_is_judged_by_itself() {
        let (large, small) = (block(&log(600)), block("small"));
        let frame = format!(
            r#"[{{"id":1,"result":{{"content":[{large}]}}}}, {{"id":2,"result":{{"content":[{small}]}}}}]"#
        );
        assert_snapshot!(without_previews(&passed_on(&frame).0), @r#"[{"id":1,"result":{"content":[{"type":"text","text":PREVIEW}]}}, {"id":2,"result":{"content":[{"type":"text","text":"small"}]}}]"#);
    }

    #[test]
    fn a_marked_retrieval_passes_up_to_a_size() {
        let marked = |lines: usize| {
            let text = block(&log(lines));
            becomes(&format!(
                r#"{{"content":[{text}],"_meta":{{"{RETRIEVAL_MARK}":true}}}}"#
            ))
        };
        assert!(!marked(600).contains("PREVIEW"));
        assert!(marked(2000).contains("PREVIEW"));
    }
}
