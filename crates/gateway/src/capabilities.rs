//! What does the server say that it can do?
//!
//! Where our tools are listed only once something is stored, the list changes,
//! and a client listens for that only if `capabilities.tools.listChanged` says
//! so: in the answer to `initialize`, or to `server/discover` since 2026-07-28.

use serde::Deserialize;
use serde_json::value::RawValue;

use spillgate_wire::Splice;
use spillgate_wire::{object, span_in};

#[derive(Deserialize)]
struct Greeting<'a> {
    #[serde(borrow)]
    capabilities: &'a RawValue,
}

#[derive(Deserialize)]
struct Capabilities<'a> {
    #[serde(borrow)]
    tools: &'a RawValue,
}

#[derive(Deserialize)]
struct Tools<'a> {
    #[serde(borrow, default, rename = "listChanged")]
    list_changed: Option<&'a RawValue>,
}

/// The change to `frame` that says so. None for a server without tools: it has
/// no results that could be stored.
pub(crate) fn announce(frame: &[u8], result: &RawValue) -> Splice {
    let mut splice = Splice::default();
    let tools = object::<Greeting<'_>>(result)
        .and_then(|greeting| object::<Capabilities<'_>>(greeting.capabilities))
        .map(|capabilities| capabilities.tools);
    let Some((tools, parsed)) = tools.and_then(|raw| Some((raw, object::<Tools<'_>>(raw)?))) else {
        return splice;
    };
    if let Some(flag) = parsed.list_changed {
        splice.replace(span_in(frame, flag.get()), "true");
        return splice;
    }
    let at = span_in(frame, tools.get()).start + 1; // after its brace
    let is_empty = tools.get()[1..].trim_ascii_start().starts_with('}');
    let comma = if is_empty { "" } else { "," };
    splice.replace(at..at, format!("\"listChanged\":true{comma}"));
    splice
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use spillgate_wire::messages;

    #[test]
    fn only_the_flag_changes() {
        let greetings = [
            r#"{"capabilities":{"tools":{}},"x":1.0}"#,
            r#"{"capabilities":{"x":1.0, "tools": { "listChanged" : false ,"y":1e2}}}"#,
            r#"{"capabilities":{"tools":{ "y":1e2}}}"#,
            r#"{"capabilities":{"prompts":{}}}"#,
            r#"{"capabilities":{"tools":null}}"#,
            "{}",
        ];
        let all = greetings.map(|greeting| {
            let frame = format!(r#"{{"id":1,"result":{greeting}}}"#);
            let envelope = &messages(frame.as_bytes())[0];
            let splice = announce(frame.as_bytes(), envelope.result.unwrap());
            String::from_utf8(splice.apply(frame.as_bytes())).unwrap()
        });
        assert_snapshot!(all.join("\n"), @r#"
        {"id":1,"result":{"capabilities":{"tools":{"listChanged":true}},"x":1.0}}
        {"id":1,"result":{"capabilities":{"x":1.0, "tools": { "listChanged" : true ,"y":1e2}}}}
        {"id":1,"result":{"capabilities":{"tools":{"listChanged":true, "y":1e2}}}}
        {"id":1,"result":{"capabilities":{"prompts":{}}}}
        {"id":1,"result":{"capabilities":{"tools":null}}}
        {"id":1,"result":{}}
        "#);
    }
}
