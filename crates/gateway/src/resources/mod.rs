//! The resources that the gateway itself serves.
//!
//! These resources are the blocks that the gateway has replaced by links. A `resources/read` of a
//! [`Uri`] returns the bytes as the server sent them. The resources are not listed, because only
//! clients that received a link need them. For a server without resources, the gateway returns
//! empty lists, so that clients do not get errors.

pub(crate) mod uri;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_artifact::{Handle, TokenBudget};
use spillgate_lookup::{Artifact, ReadQuery, Span};
use spillgate_mcp::{Generation, ObjectView, error_code, object};
use spillgate_offload::{Offloader, Redaction, RetrieveError};
use spillgate_store::StoreError;

use crate::resources::uri::{SCHEME, Uri};
use crate::results::found::{Block, Form, Found, Kind, Place};
use crate::rewrite::capabilities::Greeting;
use crate::session::in_place;
use spillgate_retrieval::{READ, RETRIEVAL_MARK};

/// Maximum size, in bytes, of a stored result from which a block is served. The whole result is
/// held in memory for this.
const MOST_SERVED: u64 = 64 << 20;

/// Maximum size, in bytes, of a non-binary block that is served. A larger block is text, and our
/// tools return it in pages.
const MOST_TEXT: usize = 10_000;

/// What the response to `initialize` or `server/discover` shows about the server's resources and
/// about the block types that the client supports.
#[derive(Debug)]
pub(crate) struct Known {
    lists: AtomicBool,
    links: AtomicBool,
}

impl Default for Known {
    /// Before the greeting, the gateway does not answer lists in place of the server.
    fn default() -> Self {
        Self {
            lists: AtomicBool::new(false),
            links: AtomicBool::new(true),
        }
    }
}

impl Known {
    /// Records what a greeting shows.
    pub(crate) fn note(&self, greeting: &Greeting) {
        self.lists.store(greeting.lists, Ordering::Relaxed);
        self.links.store(greeting.links, Ordering::Relaxed);
    }

    /// Whether the client supports `resource_link` blocks.
    pub(crate) fn links(&self) -> bool {
        self.links.load(Ordering::Relaxed)
    }

    /// Returns the empty list for a server without resources; `None` if the server must be asked.
    pub(crate) fn listed(&self, method: &str, params: Option<&RawValue>) -> Option<String> {
        let answers = self.lists.load(Ordering::Relaxed);
        answers.then(|| empty_list(method, || Generation::of(params)))?
    }
}

#[derive(Deserialize)]
struct ReadParams {
    uri: String,
}

/// Returns the URI that a `resources/read` requests.
pub(crate) fn asked(params: Option<&RawValue>) -> Option<String> {
    let params: ReadParams = params.and_then(object)?;
    Some(params.uri)
}

/// Whether the requested resource is never stored. This applies to pages of MCP Apps, which client
/// programs show and no model reads, and to resources that another Spillgate behind this one has
/// stored.
pub(crate) fn passes_whole(params: Option<&RawValue>) -> bool {
    let whole = ["ui://", SCHEME];
    asked(params).is_some_and(|uri| whole.iter().any(|scheme| uri.starts_with(scheme)))
}

/// Whether the gateway serves this resource. If `server_is_one` is true, the server is also a
/// Spillgate, and the one that stores the result answers.
pub(crate) fn is_ours(offloader: &Offloader, uri: &str, server_is_one: bool) -> bool {
    let is_stored = |uri: Uri| in_place(|| offloader.store().manifest(uri.handle).is_ok());
    let has = || Uri::parse(uri).is_some_and(is_stored);
    uri.starts_with(SCHEME) && (!server_is_one || has())
}

/// Returns the empty list in place of a server without resources; `None` for all other methods.
fn empty_list(method: &str, generation: impl FnOnce() -> Generation) -> Option<String> {
    let name = match method {
        "resources/list" => "resources",
        "resources/templates/list" => "resourceTemplates",
        _ => return None,
    };
    Some(generation().cached(json!({name: []}), 0).to_string())
}

/// Returns the empty list for a stateless request, in place of a server's error that it has no
/// resources. The client was told that there are some, perhaps by another process, so the greeting of
/// the server may be unknown here. `None` if the server's answer is passed on.
pub(crate) fn listed_instead(method: &str, error: &[u8]) -> Option<String> {
    let list = empty_list(method, || Generation::Modern)?;
    let answer = ObjectView::of_bytes(error)?;
    let code = ObjectView::of(answer.get("error")?)?.get("code")?;
    (code.get() == error_code::METHOD_NOT_FOUND.to_string()).then_some(list)
}

/// Reads one of our URIs. Returns the last member of the JSON-RPC response to `resources/read`:
/// `"result":…` or `"error":…`.
pub(crate) fn read(
    offloader: &Offloader,
    page: TokenBudget,
    uri: &str,
    generation: Generation,
) -> String {
    let contents = match Uri::parse(uri) {
        None => Err(Refused::Unknown(
            "it is no name that spillgate gave".to_owned(),
        )),
        Some(Uri {
            handle,
            block: None,
        }) => text(offloader, page, uri, handle),
        Some(Uri {
            handle,
            block: Some((form, at)),
        }) => block(offloader, uri, handle, form, at),
    };
    match contents {
        Ok(contents) => {
            // How long clients may cache stored content, in milliseconds. The content does not
            // change, but it may be removed.
            const FRESH_MS: u64 = 60_000;
            let rest = generation.cached(json!({"_meta": {RETRIEVAL_MARK: true}}), FRESH_MS);
            let rest = rest.to_string();
            format!("\"result\":{{\"contents\":[{contents}],{}", &rest[1..])
        }
        Err(refused) => format!("\"error\":{}", refused.error(offloader, uri, generation)),
    }
}

/// Why a resource is not served.
enum Refused {
    /// The resource does not exist, or no longer exists.
    Unknown(String),
    /// The resource could not be read.
    Failed(String),
}

impl Refused {
    /// Returns the error of the response, with marks in place of secrets.
    fn error(&self, offloader: &Offloader, uri: &str, generation: Generation) -> Value {
        const NONE: &str = "no such resource";
        let (code, fault, what, why) = match self {
            Self::Unknown(why) => match generation {
                Generation::Legacy => (error_code::RESOURCE_NOT_FOUND, "client", NONE, why),
                Generation::Modern => (error_code::INVALID_PARAMS, "client", NONE, why),
            },
            Self::Failed(why) => (
                error_code::INTERNAL_ERROR,
                "gateway",
                "the resource was not read",
                why,
            ),
        };
        let (why, uri) = (offloader.redacted(why), offloader.redacted(uri));
        let uri: String = uri.chars().take(200).collect();
        json!({
            "code": code,
            "message": format!("{what}: {why}"),
            "data": {"uri": uri, "why": why, "fault": fault},
        })
    }
}

impl From<RetrieveError> for Refused {
    fn from(error: RetrieveError) -> Self {
        match error {
            RetrieveError::Store(StoreError::Absent { why, .. }) => Self::Unknown(why.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Returns the first page of the stored text.
fn text(
    offloader: &Offloader,
    page: TokenBudget,
    uri: &str,
    handle: Handle,
) -> Result<String, Refused> {
    let query = ReadQuery {
        span: Span::Lines {
            start: 1,
            lines: None,
        },
        budget: page,
    };
    let next = |span: Span| match span {
        Span::Lines { start, .. } => format!("{READ}(handle=\"{handle}\", start={start})"),
        Span::Bytes(range) => format!("{READ}(handle=\"{handle}\", bytes=\"{range}\")"),
        Span::Tail { lines } => format!("{READ}(handle=\"{handle}\", tail=true, lines={lines})"),
    };
    let shown = offloader.present_read(handle, query, &next)?;
    Ok(json!({"uri": uri, "mimeType": "text/plain", "text": shown.text()}).to_string())
}

/// Returns one block exactly as the server sent it, but for marks in place of secrets.
fn block(
    offloader: &Offloader,
    uri: &str,
    handle: Handle,
    form: Form,
    at: usize,
) -> Result<String, Refused> {
    let artifact = offloader.artifact(handle)?;
    let result = whole(&artifact)?;
    let result: &RawValue = serde_json::from_slice(&result)
        .map_err(|_| Refused::Unknown("what is stored has no blocks".to_owned()))?;
    let place = Place::memory(result.get().as_bytes());
    let found = Found::parse(form, result.get(), place);
    let blocks = found.map(|found| found.blocks).unwrap_or_default();
    let Some(block) = blocks.get(at) else {
        let total = blocks.len();
        let why = format!(
            "there are {total} blocks in `{}`, counted from 0",
            form.list()
        );
        return Err(Refused::Unknown(why));
    };
    let raw = block.raw.get();
    let limits = offloader.limits(&artifact.manifest().facts.origin);
    if limits.redaction == Redaction::Off {
        return Ok(contents(uri, handle, block, raw));
    }
    let marked = offloader.redactor().text(raw);
    match &block.kind {
        // A mark cannot stand inside Base64.
        Kind::Binary(_) if marked != raw => Err(Refused::Failed(format!(
            "the block has secrets, so it is not shown; the user can read the result at a terminal \
                 with `spillgate cat --raw {handle}`"
        ))),
        _ => Ok(contents(uri, handle, block, &marked)),
    }
}

fn whole(artifact: &Artifact) -> Result<Vec<u8>, Refused> {
    let (bytes, handle) = (artifact.raw().len(), artifact.manifest().handle);
    if bytes > MOST_SERVED {
        return Err(Refused::Failed(format!(
            "the result has {bytes} bytes, of which no block is served; \
             `spillgate cat --raw {handle}` gives them all"
        )));
    }
    let read = artifact.raw().bytes(0, u64::MAX);
    read.map_err(|error| Refused::Failed(error.to_string()))
}

/// Returns the block as an element of `contents`. The Base64 data and the MIME type are the exact
/// JSON strings that the server sent. `raw` is the block's JSON as it may be shown.
fn contents(uri: &str, handle: Handle, block: &Block<'_>, raw: &str) -> String {
    let uri = json!(uri);
    match &block.kind {
        Kind::Binary(binary) => {
            let mime = binary.mime.as_deref();
            let mime = mime.map_or_else(String::new, |mime| format!("\"mimeType\":{mime},"));
            format!("{{\"uri\":{uri},{mime}\"blob\":{}}}", binary.data)
        }
        _ if raw.len() <= MOST_TEXT => {
            let text = json!(raw);
            format!("{{\"uri\":{uri},\"mimeType\":\"application/json\",\"text\":{text}}}")
        }
        _ => {
            let text = format!("[spillgate] this block is text: {READ}(handle=\"{handle}\")");
            json!({"uri": uri, "mimeType": "text/plain", "text": text}).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_artifact::{Clock, Origin, SystemClock};
    use spillgate_store::Gone;
    use spillgate_testkit::log;

    use super::*;
    use crate::fixture::{offloader, replaced, stored, without_handles};
    use crate::results::intercept::Case;
    use spillgate_mcp::messages;

    fn answer(offloader: &Offloader, uri: &str, generation: Generation) -> Value {
        let members = read(offloader, TokenBudget::new(300), uri, generation);
        serde_json::from_str(&format!("{{{members}}}")).unwrap()
    }

    /// Returns the result that the client receives.
    fn passed_on(offloader: &Offloader, form: Form, result: &str) -> Value {
        let frame = format!("{{\"id\":1,\"result\":{result}}}");
        let case = Case {
            form,
            links: true,
            shown_part: crate::results::client_view::ShownPart::default(),
            limits: offloader.limits(&Origin::tool("shoot")),
            origin: Origin::tool("shoot"),
            history: None,
        };
        let raw = messages(frame.as_bytes())[0].result.unwrap();
        let (splice, _) = replaced(offloader, case, frame.as_bytes(), raw.get());
        let frame = splice.apply(frame.as_bytes());
        serde_json::from_slice::<Value>(&frame).unwrap()["result"].clone()
    }

    #[test]
    fn errors_have_marks() {
        let uri = "spillgate://artifact/nothing/AKIAQ3EGXZ7LKTPNWB5M";
        let error = answer(&offloader(), uri, Generation::Legacy);
        let uri = error["error"]["data"]["uri"].as_str().unwrap();
        assert_eq!(
            uri,
            "spillgate://artifact/nothing/[redacted: aws-access-key]"
        );
    }

    #[test]
    fn what_was_linked_is_served_as_it_was() {
        let offloader = offloader();
        // Base64 as PHP escapes it, data that is not Base64, and a block without a MIME type.
        let blobs = [
            format!("\"{}\"", "iVBO\\/w0=".repeat(1000)),
            format!("\"{}\"", "no base64 at all! ".repeat(1000)),
            format!("\"{}\"", "AAAA".repeat(2000)),
        ];
        let mimes = [Some("\"audio\\/x\""), Some("\"a b\""), None];
        let blocks: Vec<String> = blobs
            .iter()
            .zip(mimes)
            .map(|(blob, mime)| {
                let mime = mime.map_or_else(String::new, |mime| format!(",\"mimeType\":{mime}"));
                format!("{{\"type\":\"audio\",\"data\":{blob}{mime}}}")
            })
            .collect();
        let result = format!("{{\"content\":[{}]}}", blocks.join(","));
        let shown = passed_on(&offloader, Form::Call, &result);
        for ((at, blob), mime) in blobs.iter().enumerate().zip(mimes) {
            let link = &shown["content"][at];
            assert_eq!(link["type"], "resource_link");
            let uri = link["uri"].as_str().unwrap();
            let served = read(&offloader, TokenBudget::new(300), uri, Generation::Legacy);
            // The JSON strings are served byte for byte.
            assert!(served.contains(&format!("\"blob\":{blob}}}")), "{at}");
            let says = mime.is_none_or(|mime| served.contains(&format!("\"mimeType\":{mime},")));
            assert!(says, "{at}");
        }
    }

    #[test]
    fn what_is_served() {
        let offloader = offloader();
        let handle = stored(&offloader, &log(600));
        let uri = format!("spillgate://artifact/{handle}");
        let page = answer(&offloader, &uri, Generation::Modern);
        let text = page["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("[lines 1-"), "{text}");
        assert!(text.contains(&format!("\nnext: {READ}(handle=\"{handle}\", start=")));
        let mut rest = page["result"].clone();
        rest.as_object_mut().unwrap().remove("contents");
        let lists = [
            "resources/list",
            "resources/templates/list",
            "resources/read",
        ];
        let lists = lists.map(|method| format!("{:?}", empty_list(method, || Generation::Modern)));
        assert_snapshot!(format!("{rest}\n{}", lists.join("\n")), @r#"
        {"_meta":{"spillgate/retrieval":true},"cacheScope":"private","resultType":"complete","ttlMs":60000}
        Some("{\"cacheScope\":\"private\",\"resources\":[],\"resultType\":\"complete\",\"ttlMs\":0}")
        Some("{\"cacheScope\":\"private\",\"resourceTemplates\":[],\"resultType\":\"complete\",\"ttlMs\":0}")
        None
        "#);
        assert_eq!(
            empty_list("resources/list", || Generation::Legacy).unwrap(),
            r#"{"resources":[]}"#
        );
    }

    #[test]
    fn a_block_with_a_secret_has_a_mark_or_is_refused() {
        let offloader = offloader();
        let key = "AKIAQ3EGXZ7LKTPNWB5M";
        let image = format!(
            r#"{{"type":"image","mimeType":"image/png","data":"{}"}}"#,
            "A".repeat(3 << 20)
        );
        let text = format!(r#"{{"type":"text","text":"upload with\n{key} failed"}}"#);
        let file = format!("aws_access_key_id = {key}\n").repeat(300);
        let file = data_encoding::BASE64.encode(file.as_bytes());
        let file = format!(r#"{{"type":"resource","resource":{{"uri":"a:b","blob":"{file}"}}}}"#);
        let result = format!(r#"{{"content":[{image},{text},{file}]}}"#);
        let shown = passed_on(&offloader, Form::Call, &result);
        let link = shown["content"][0]["uri"].as_str().unwrap().to_owned();
        let served = answer(
            &offloader,
            &link.replace("/content/0", "/content/1"),
            Generation::Modern,
        );
        assert_snapshot!(served["result"]["contents"][0]["text"].as_str().unwrap(), @r#"{"type":"text","text":"upload with\n[redacted: aws-access-key] failed"}"#);
        let refused = answer(
            &offloader,
            &link.replace("/content/0", "/content/2"),
            Generation::Modern,
        );
        let handle = link.split('/').nth(3).unwrap();
        let told = refused["error"]["message"].as_str().unwrap();
        assert_snapshot!(told.replace(handle, "HANDLE"), @"the resource was not read: the block has secrets, so it is not shown; the user can read the result at a terminal with `spillgate cat --raw HANDLE`");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let offloader = offloader();
        let text = stored(&offloader, &log(600));
        let gone = stored(&offloader, &log(700));
        let store = offloader.store();
        store
            .remove(gone, Gone::Evicted, SystemClock.now())
            .unwrap();
        let never = "neverstoredone";
        let image = "{\"content\":[{\"type\":\"image\",\"data\":\"";
        let result = format!("{image}{}\"}}]}}", "A".repeat(3 << 20));
        let shown = passed_on(&offloader, Form::Call, &result);
        let link = shown["content"][0]["uri"].as_str().unwrap().to_owned();
        let all = [
            format!("spillgate://artifact/{never}"),
            format!("spillgate://artifact/{gone}/content/0"),
            format!("spillgate://artifact/{text}/content/0"),
            link.replace("/content/0", "/content/1"),
            link.replace("/content/0", "/messages/0"),
            link.replace("/content/0", "#content/0"),
            "spillgate://artifact/../../etc/passwd".to_owned(),
            format!("spillgate://{}", "x".repeat(10_000)),
        ];
        let told = all.map(|uri| {
            let legacy = answer(&offloader, &uri, Generation::Legacy)["error"].clone();
            let modern = answer(&offloader, &uri, Generation::Modern)["error"].clone();
            assert_eq!(legacy["message"], modern["message"]);
            assert_eq!(
                (&legacy["code"], &modern["code"]),
                (&json!(-32002), &json!(-32602))
            );
            assert!(uri.starts_with(legacy["data"]["uri"].as_str().unwrap()));
            legacy["message"].as_str().unwrap().to_owned()
        });
        assert_snapshot!(without_handles(&told.join("\n")), @"
        no such resource: It was never stored here.
        no such resource: It was evicted to stay under the storage quota; call cat again to recreate it.
        no such resource: what is stored has no blocks
        no such resource: there are 1 blocks in `content`, counted from 0
        no such resource: there are 0 blocks in `messages`, counted from 0
        no such resource: it is no name that spillgate gave
        no such resource: it is no name that spillgate gave
        no such resource: it is no name that spillgate gave
        ");
    }

    #[test]
    fn of_two_gateways_the_one_that_has_it_answers() {
        let offloader = offloader();
        let handle = stored(&offloader, &log(600));
        let ours = format!("spillgate://artifact/{handle}");
        for (uri, behind_us, want) in [
            ("file:///x", false, false),
            (&*ours, false, true),
            (&*ours, true, true),
            ("spillgate://artifact/x", false, true),
            ("spillgate://artifact/x", true, false),
        ] {
            assert_eq!(is_ours(&offloader, uri, behind_us), want, "{uri}");
        }
    }

    #[test]
    fn a_request_says_its_era() {
        for (params, generation) in [
            (r#"{"uri":"x"}"#, Generation::Legacy),
            (r#"{"_meta":{}}"#, Generation::Legacy),
            (
                r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
                Generation::Modern,
            ),
            ("[]", Generation::Legacy),
        ] {
            let params: &RawValue = serde_json::from_str(params).unwrap();
            assert_eq!(Generation::of(Some(params)), generation, "{params}");
        }
        assert_eq!(Generation::of(None), Generation::Legacy);
    }
}
