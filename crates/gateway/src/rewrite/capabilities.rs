//! Edits the capabilities in a server's greeting.
//!
//! If our tools are listed only after something is stored, the tool list changes during a session.
//! Clients notice this only if `capabilities.tools.listChanged` is set. Clients read our links only
//! if `capabilities.resources` exists. The greeting is the response to `initialize` or, since
//! 2026-07-28, to `server/discover`.

use serde_json::value::RawValue;

use crate::results::intercept::insert_members;
use spillgate_mcp::{ByteEdits, ObjectView, ProtocolVersion, span_in};

/// What a server's greeting shows, and the edits to the greeting.
#[derive(Debug)]
pub(crate) struct Greeting {
    /// The edits.
    pub(crate) splice: ByteEdits,
    /// Whether the gateway answers lists of resources in place of the server. It does if the server
    /// has no resources, but the client was told that there are some.
    pub(crate) lists: bool,
    /// Whether the client supports `resource_link` blocks.
    pub(crate) links: bool,
}

/// What a greeting must announce.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    /// Whether binary blocks may become links, which clients read as resources.
    pub(crate) links: bool,
    /// Whether the list of tools may change.
    pub(crate) list_changes: bool,
}

/// Returns the edits to the greeting `result` in `frame`. Does not announce resources for a server
/// without tools and prompts, because it has no results that could be stored.
pub(crate) fn announce(frame: &[u8], result: &RawValue, announced: Announced) -> Greeting {
    let mut splice = ByteEdits::default();
    let greeting = ObjectView::of(result);
    let version = greeting
        .as_ref()
        .and_then(|one| one.text("protocolVersion"));
    let raw = greeting.and_then(|one| one.get("capabilities"));
    let capabilities = raw.and_then(ObjectView::of);
    let of = |name| {
        let named = capabilities.as_ref().and_then(|all| all.get(name));
        named.and_then(|raw| Some((raw, ObjectView::of(raw)?)))
    };
    let has_resources = of("resources").is_some();
    let tools = of("tools");
    let lists = announced.links && !has_resources;
    if let Some(raw) = raw
        && lists
        && (tools.is_some() || of("prompts").is_some())
    {
        match capabilities.as_ref().and_then(|all| all.get("resources")) {
            Some(odd) => splice.replace(span_in(frame, odd.get()), "{}"),
            None => insert_members(
                &mut splice,
                frame,
                raw.get(),
                "\"resources\":{},".to_owned(),
            ),
        }
    }
    if let Some((tools, members)) = tools.filter(|_| announced.list_changes) {
        match members.get("listChanged") {
            Some(flag) => splice.replace(span_in(frame, flag.get()), "true"),
            None => insert_members(
                &mut splice,
                frame,
                tools.get(),
                "\"listChanged\":true,".to_owned(),
            ),
        }
    }
    Greeting {
        splice,
        lists,
        links: version.is_none_or(|version| *version >= *ProtocolVersion::RESOURCE_LINKS),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use spillgate_mcp::messages;

    #[test]
    fn where_nothing_becomes_a_link_nothing_is_said_of_resources() {
        let frame = br#"{"id":1,"result":{"capabilities":{"tools":{}}}}"#;
        let announced = Announced {
            links: false,
            list_changes: false,
        };
        let greeting = announce(frame, messages(frame)[0].result.unwrap(), announced);
        assert!(greeting.splice.is_empty() && !greeting.lists);
    }

    #[test]
    fn only_the_flag_changes() {
        let greetings = [
            r#"{"capabilities":{"tools":{}},"x":1.0}"#,
            r#"{"capabilities":{"x":1.0, "tools": { "listChanged" : false ,"y":1e2}}}"#,
            r#"{"capabilities":{"tools":{ "y":1e2}}}"#,
            r#"{"capabilities":{"prompts":{}}}"#,
            r#"{"capabilities":{"tools":null}}"#,
            r#"{"protocolVersion":"2025-03-26","capabilities":{"tools":{},"resources":{}}}"#,
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":null}}"#,
            r#"{"capabilities":{}}"#,
            "{}",
        ];
        let all = greetings.map(|greeting| {
            let frame = format!(r#"{{"id":1,"result":{greeting}}}"#);
            let envelope = &messages(frame.as_bytes())[0];
            let announced = Announced {
                links: true,
                list_changes: true,
            };
            let greeting = announce(frame.as_bytes(), envelope.result.unwrap(), announced);
            let (links, lists) = (greeting.links, greeting.lists);
            let frame = greeting.splice.apply(frame.as_bytes());
            let frame = String::from_utf8(frame).unwrap();
            format!("{frame} links: {links}, lists: {lists}")
        });
        assert_snapshot!(all.join("\n"), @r#"
        {"id":1,"result":{"capabilities":{"resources":{},"tools":{"listChanged":true}},"x":1.0}} links: true, lists: true
        {"id":1,"result":{"capabilities":{"resources":{},"x":1.0, "tools": { "listChanged" : true ,"y":1e2}}}} links: true, lists: true
        {"id":1,"result":{"capabilities":{"resources":{},"tools":{"listChanged":true, "y":1e2}}}} links: true, lists: true
        {"id":1,"result":{"capabilities":{"resources":{},"prompts":{}}}} links: true, lists: true
        {"id":1,"result":{"capabilities":{"tools":null}}} links: true, lists: true
        {"id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true},"resources":{}}}} links: false, lists: false
        {"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{}}}} links: true, lists: true
        {"id":1,"result":{"capabilities":{}}} links: true, lists: true
        {"id":1,"result":{}} links: true, lists: true
        "#);
    }
}
