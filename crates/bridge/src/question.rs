//! Checks whether a server may ask a client a question.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use spillgate_mcp::ObjectView;

/// Returns the capability that a client must declare before it may be asked `method` with `params`;
/// `None` if the client declares everything that is needed.
pub(crate) fn missing(
    capabilities: &str,
    method: &str,
    params: Option<&RawValue>,
) -> Option<Value> {
    let declared = ObjectView::of_bytes(capabilities.as_bytes()).unwrap_or_default();
    let params = params.and_then(ObjectView::of).unwrap_or_default();
    match method {
        "roots/list" => declared
            .object("roots")
            .is_none()
            .then(|| json!({"roots": {}})),
        "sampling/createMessage" => missing_sampling(&declared, &params),
        "elicitation/create" => missing_elicitation(&declared, &params),
        other => Some(json!({ other: {} })),
    }
}

fn missing_sampling(declared: &ObjectView<'_>, params: &ObjectView<'_>) -> Option<Value> {
    let Some(sampling) = declared.object("sampling") else {
        return Some(json!({"sampling": {}}));
    };
    let wants_tools = params.get("tools").is_some() || params.get("toolChoice").is_some();
    let lacks = wants_tools && sampling.object("tools").is_none();
    lacks.then(|| json!({"sampling": {"tools": {}}}))
}

/// An empty `elicitation` means that the client supports forms only (2025-11-25, client
/// capabilities).
fn missing_elicitation(declared: &ObjectView<'_>, params: &ObjectView<'_>) -> Option<Value> {
    let mode = params.text("mode").unwrap_or_else(|| "form".to_owned());
    let has = declared.object("elicitation").is_some_and(|modes| {
        modes.object(&mode).is_some() || (mode == "form" && modes.object("url").is_none())
    });
    (!has).then(|| json!({"elicitation": { mode: {} }}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_can_be_asked() {
        let cases = [
            ("{}", "roots/list", "{}", Some(r#"{"roots":{}}"#)),
            (
                r#"{"roots":{"listChanged":true}}"#,
                "roots/list",
                "{}",
                None,
            ),
            (
                "{}",
                "sampling/createMessage",
                "{}",
                Some(r#"{"sampling":{}}"#),
            ),
            (r#"{"sampling":{}}"#, "sampling/createMessage", "{}", None),
            (
                r#"{"sampling":{}}"#,
                "sampling/createMessage",
                r#"{"tools":[]}"#,
                Some(r#"{"sampling":{"tools":{}}}"#),
            ),
            (r#"{"elicitation":{}}"#, "elicitation/create", "{}", None),
            (
                r#"{"elicitation":{}}"#,
                "elicitation/create",
                r#"{"mode":"url"}"#,
                Some(r#"{"elicitation":{"url":{}}}"#),
            ),
            (
                r#"{"elicitation":{"url":{}}}"#,
                "elicitation/create",
                r#"{"mode":"form"}"#,
                Some(r#"{"elicitation":{"form":{}}}"#),
            ),
            (
                r#"{"elicitation":{"form":{},"url":{}}}"#,
                "elicitation/create",
                r#"{"mode":"url"}"#,
                None,
            ),
            (
                "no json",
                "elicitation/create",
                "[]",
                Some(r#"{"elicitation":{"form":{}}}"#),
            ),
            (r#"{"x":{}}"#, "x", "{}", Some(r#"{"x":{}}"#)),
        ];
        for (declared, method, params, want) in cases {
            let params: &RawValue = serde_json::from_str(params).unwrap();
            let got = missing(declared, method, Some(params)).map(|lack| lack.to_string());
            assert_eq!(got.as_deref(), want, "{declared} {method}");
        }
    }
}
