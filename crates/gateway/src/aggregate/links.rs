//! Maps the resource URIs of several servers to the URIs that the client uses.
//!
//! If two servers use the same URI, the first server in the configuration keeps it. For the second
//! server, the client uses `SERVER+URI`, which is also a URI: `b+memo://insights`. Links in
//! results, subscriptions and their `updated` notifications are mapped in both directions.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use spillgate_mcp::{ByteEdits, Envelope, ObjectView, messages, span_in};

use super::{Kind, Question, lists};
use crate::aggregate::index::Catalogue;
use crate::session::Session;

/// Returns the URI with its server's name as a prefix.
pub(crate) fn with_server(server: &str, uri: &str) -> String {
    format!("{}+{uri}", scheme_of(server))
}

/// Turns a server's name into a valid start of a URI scheme: lower-case letters, digits, `.` and
/// `-`, beginning with a letter. If the name has to be changed, four hex digits of its hash are
/// appended, so that different names stay different.
fn scheme_of(server: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || c == '.' || c == '-' => c,
        _ => '-',
    };
    let mut scheme: String = server.chars().map(plain).collect();
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) {
        scheme.insert(0, 's');
    }
    if scheme != server {
        let hash = Sha256::digest(server.as_bytes());
        scheme = format!("{scheme}-{}", HEXLOWER.encode(&hash[..2]));
    }
    scheme
}

/// Returns the client's names for these URIs or templates. Each entry is a server and its own URI.
pub(super) fn names(entries: &[(&str, &str)]) -> Vec<String> {
    // Keyed by the client's name. If a server's own URI equals a name derived for another server,
    // the derived name is changed again.
    let mut owners: HashMap<String, (&str, &str)> = HashMap::new();
    let mut names = Vec::new();
    for &(server, uri) in entries {
        let mut name = uri.to_owned();
        while owners
            .get(&name)
            .is_some_and(|owner| *owner != (server, uri))
        {
            name = with_server(server, &name);
        }
        owners.insert(name.clone(), (server, uri));
        names.push(name);
    }
    names
}

/// Returns the server of a URI that a client uses, and the server's own URI, if a list contains it.
pub(super) fn owner(catalogue: &Catalogue, uri: &str) -> Option<(String, String)> {
    let listed = catalogue.find(Kind::Resources, uri);
    let listed = listed.or_else(|| catalogue.find(Kind::Templates, uri));
    let listed = listed.or_else(|| catalogue.find(Kind::Pages, uri));
    listed.or_else(|| {
        let (server, _) = catalogue.find_template(uri)?;
        let prefix = with_server(&server, "");
        let own = uri.strip_prefix(&prefix).unwrap_or(uri).to_owned();
        Some((server, own))
    })
}

/// Like [`owner`], but also accepts a URI with a server prefix that is no longer in any list.
pub(super) fn meant(session: &Session, uri: &str) -> Option<(String, String)> {
    let named = || {
        let (scheme, own) = uri.split_once('+')?;
        let all = session.upstreams.all();
        let server = all.iter().find(|one| scheme_of(one.name()) == scheme)?;
        Some((server.name().to_owned(), own.to_owned()))
    };
    owner(&session.hub().catalogue, uri).or_else(named)
}

/// Returns the URI under which the client sees a server's resource. Returns `None` if it is the
/// same, or if `uri` has no scheme and so is no URI: a placeholder can stand in for a large string.
pub(super) fn shown(catalogue: &Catalogue, server: &str, uri: &str) -> Option<String> {
    uri.find(':')?;
    let (owner, _) = owner(catalogue, uri)?;
    if owner == server {
        return None;
    }
    let listed = catalogue.shown(Kind::Resources, server, uri);
    Some(listed.unwrap_or_else(|| with_server(server, uri)))
}

/// Replaces the page URIs in tools by the URIs under which the client reads these pages. Servers
/// need not list such pages: a page belongs to the server whose tool refers to it.
pub(super) async fn name_pages(
    session: &Arc<Session>,
    owned: &[(&str, &str)],
    tools: Vec<String>,
    question: &Question,
) -> Vec<String> {
    let mut uris: Vec<(&str, String)> = Vec::new();
    for ((server, _), tool) in owned.iter().zip(&tools) {
        let pages = pages_of(tool).into_iter();
        let pages = pages.filter_map(|page| serde_json::from_str(page.get()).ok());
        uris.extend(pages.map(|uri: String| (*server, uri)));
    }
    let uris: Vec<(&str, &str)> = uris.iter().map(|(server, uri)| (*server, &**uri)).collect();
    let owners = uris.iter().zip(names(&uris));
    let owners = owners.map(|(&(server, uri), shown)| (shown, (server.into(), uri.into())));
    let catalogue = &session.hub().catalogue;
    catalogue.learn(Kind::Pages, owners);
    if uris.is_empty() {
        return tools;
    }
    for kind in [Kind::Resources, Kind::Templates] {
        if !catalogue.knows(kind) {
            Box::pin(lists::learn(session, kind, question)).await;
        }
    }
    let named = owned.iter().zip(&tools).map(|((server, _), tool)| {
        let mut splice = ByteEdits::default();
        for page in pages_of(tool) {
            replace(catalogue, server, tool.as_bytes(), Some(page), &mut splice);
        }
        String::from_utf8_lossy(&splice.apply(tool.as_bytes())).into_owned()
    });
    named.collect()
}

/// Returns the URIs of the pages (`ui://`, MCP Apps) in a tool's `_meta`: under the current key,
/// under its predecessor, and under the key that `ChatGPT`'s apps use.
fn pages_of(tool: &str) -> Vec<&RawValue> {
    let meta = ObjectView::of_text(tool).and_then(|tool| tool.get("_meta"));
    let Some(meta) = meta.and_then(ObjectView::of) else {
        return Vec::new();
    };
    let ui = meta.get("ui").and_then(ObjectView::of);
    let places = [
        ui.and_then(|ui| ui.get("resourceUri")),
        meta.get("ui/resourceUri"),
        meta.get("openai/outputTemplate"),
    ];
    places.into_iter().flatten().collect()
}

/// Returns the edits to a server's notification about a resource.
pub(crate) fn told(
    session: &Session,
    server: &str,
    frame: &[u8],
    envelope: &Envelope<'_>,
) -> ByteEdits {
    let mut splice = ByteEdits::default();
    if envelope.method.as_deref() == Some("notifications/resources/updated")
        && let Some(params) = envelope.params.and_then(ObjectView::of)
    {
        let place = params.get("uri");
        replace(&session.hub().catalogue, server, frame, place, &mut splice);
    }
    splice
}

/// Whether a result may contain URIs of resources.
pub(crate) fn may_have_any(frame: &[u8]) -> bool {
    memchr::memmem::find(frame, b"\"uri\"").is_some()
}

/// Returns the edits to the URIs in the results of a frame.
pub(crate) fn in_results(session: &Session, server: &str, frame: &[u8]) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let catalogue = &session.hub().catalogue;
    for envelope in messages(frame) {
        let Some(result) = envelope.result.and_then(ObjectView::of) else {
            continue;
        };
        for list in ["content", "contents"] {
            for block in items(result.get(list)) {
                in_block(catalogue, server, frame, block, &mut splice);
            }
        }
        for message in items(result.get("messages")) {
            let content = ObjectView::of(message).and_then(|message| message.get("content"));
            let is_list = content.is_some_and(|raw| raw.get().starts_with('['));
            let blocks = match is_list {
                true => items(content),
                false => content.into_iter().collect(),
            };
            for block in blocks {
                in_block(catalogue, server, frame, block, &mut splice);
            }
        }
    }
    splice
}

fn items(list: Option<&RawValue>) -> Vec<&RawValue> {
    let items = list.and_then(|list| serde_json::from_str(list.get()).ok());
    items.unwrap_or_default()
}

/// Edits a link, an embedded resource, or a resource itself.
fn in_block(
    catalogue: &Catalogue,
    server: &str,
    frame: &[u8],
    block: &RawValue,
    splice: &mut ByteEdits,
) {
    let Some(block) = ObjectView::of(block) else {
        return;
    };
    replace(catalogue, server, frame, block.get("uri"), splice);
    if let Some(resource) = block.get("resource").and_then(ObjectView::of) {
        replace(catalogue, server, frame, resource.get("uri"), splice);
    }
}

fn replace(
    catalogue: &Catalogue,
    server: &str,
    frame: &[u8],
    place: Option<&RawValue>,
    splice: &mut ByteEdits,
) {
    let uri = place.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let shown = uri.and_then(|uri| shown(catalogue, server, &uri));
    if let (Some(place), Some(shown)) = (place, shown) {
        splice.replace(span_in(frame, place.get()), Value::from(shown).to_string());
    }
}

/// Replaces the URI in a client's request by the server's own URI.
pub(super) fn readdressed(frame: &Bytes, own: &str) -> Bytes {
    let mut splice = ByteEdits::default();
    let all = messages(frame);
    let params = all
        .first()
        .and_then(|one| one.params)
        .and_then(ObjectView::of);
    let reference = params.as_ref().and_then(|params| params.get("ref"));
    let reference = reference.and_then(ObjectView::of);
    let place = params.as_ref().and_then(|params| params.get("uri"));
    if let Some(place) = place.or(reference.and_then(|of| of.get("uri"))) {
        splice.replace(span_in(frame, place.get()), Value::from(own).to_string());
    }
    splice.apply(frame).into()
}

/// Fetches the lists that show which server owns each resource. Needed before a link is passed to a
/// client that has not requested these lists.
pub(crate) async fn learn(session: &Arc<Session>) {
    let meta = session.said.lock().meta.clone();
    let question = meta.map(|meta| Question::of_ours(&format!("{{\"_meta\":{meta}}}")));
    let question = question.unwrap_or_else(|| Question::of_ours("{}"));
    for kind in [Kind::Resources, Kind::Templates] {
        if !session.hub().catalogue.knows(kind) {
            lists::learn(session, kind, &question).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_uri_stays_with_the_first_server() {
        let entries = [
            ("a", "memo://x"),
            ("a", "memo://x"),
            ("b", "memo://x"),
            ("b", "memo://y"),
            ("Web Hub", "memo://x"),
            ("7", "memo://y"),
            ("c", "b+memo://x"),
            ("b", "memo://x"),
        ];
        let names = names(&entries);
        assert_snapshot!(names[..4].join("\n"), @"
        memo://x
        memo://x
        b+memo://x
        memo://y
        ");
        // A name that is not a valid scheme is changed. Its hash keeps it different from other
        // names.
        assert!(
            names[4].starts_with("web-hub-") && names[4].ends_with("+memo://x"),
            "{names:?}"
        );
        assert!(
            names[5].starts_with("s7-") && names[5].ends_with("+memo://y"),
            "{names:?}"
        );
        // If a server's own URI equals a name that was derived for another server, the two still
        // get different names.
        assert_eq!(names[6..], ["c+b+memo://x", "b+memo://x"]);
        assert_ne!(with_server("Web Hub", ""), with_server("web-hub", ""));
    }
}
