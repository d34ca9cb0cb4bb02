//! The resources and their contents.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceTemplate};
use serde_json::{Value, json};

use crate::tools::{PIXEL, typed};

pub(crate) fn all() -> Vec<Resource> {
    typed(json!([
        {"uri": "test://static-text", "name": "static-text", "mimeType": "text/plain",
         "description": "A text that never changes"},
        {"uri": "test://static-binary", "name": "static-binary", "mimeType": "image/png",
         "description": "An image that never changes"},
        {"uri": "test://watched-resource", "name": "watched-resource", "mimeType": "text/plain",
         "description": "A text that can be subscribed to"},
    ]))
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    typed(json!([
        {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json",
         "description": "Data for an id"},
        {"uriTemplate": "test://big/{bytes}", "name": "big", "mimeType": "text/plain",
         "description": "So many bytes of lines"},
    ]))
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        "test://static-text" => text(uri, "This is the content of the static text resource."),
        "test://watched-resource" => text(uri, "Watched resource content"),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL}),
        _ => templated(uri).ok_or_else(|| {
            ErrorData::resource_not_found("no such resource", Some(json!({"uri": uri})))
        })?,
    };
    Ok(typed(
        json!({"resultType": "complete", "contents": [contents]}),
    ))
}

fn templated(uri: &str) -> Option<Value> {
    if let Some(bytes) = uri.strip_prefix("test://big/") {
        let bytes = bytes.parse().ok()?;
        return Some(text(uri, &crate::tools::filled("resource", bytes)));
    }
    let id = uri
        .strip_prefix("test://template/")?
        .strip_suffix("/data")?;
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    Some(json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()}))
}

fn text(uri: &str, text: &str) -> Value {
    json!({"uri": uri, "mimeType": "text/plain", "text": text})
}
