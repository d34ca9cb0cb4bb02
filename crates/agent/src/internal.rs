//! The tools that a session itself offers to its model, such as `agent__final_report`
//! (docs/spec/texts.md, "Tools of an agent").

use serde_json::{Value, json};
use spillgate_llm::ToolSpec;

use crate::settings::{Format, Settings};

/// The tool that ends the session with its report.
pub const FINAL_REPORT: &str = "agent__final_report";
/// The tool with which the model reports its progress.
pub const TASK_STATUS: &str = "agent__task_status";
/// The tool that makes several calls at the same time.
pub const BATCH: &str = "agent__batch";
/// The tool that answers questions about stored results.
pub const TOOL_OUTPUT: &str = "tool_output";
/// The tool that returns the next page of a stored result.
pub const GET_CONTINUATION: &str = "get_continuation";

/// The names of the session's own tools. No other tool may have one of these names.
pub const RESERVED: [&str; 5] = [
    FINAL_REPORT,
    TASK_STATUS,
    BATCH,
    TOOL_OUTPUT,
    GET_CONTINUATION,
];

/// Returns all tools of a turn that is not the final one (docs/spec/behaviour.md, "The window"). A
/// tool that is listed later is added at the end, so that the providers' prompt caches stay valid
/// as far as possible.
pub(crate) fn listed(settings: &Settings, has_stored: bool) -> Vec<ToolSpec> {
    let mut own = vec![final_report(&settings.format)];
    if settings.offers.status {
        own.push(task_status());
    }
    // `get_continuation` is listed from the start, as its specification requires.
    let is_there = |tool: &&ToolSpec| has_stored || tool.name == GET_CONTINUATION;
    let retrieval = settings.retrieval.as_ref().filter(is_there);
    let callable: Vec<&ToolSpec> = settings.tools.iter().chain(retrieval).collect();
    if settings.offers.batch && !callable.is_empty() {
        let status = settings.offers.status.then(task_status);
        let within: Vec<&ToolSpec> = callable.iter().copied().chain(&status).collect();
        own.push(batch(&within));
    }
    let others = callable.into_iter().cloned();
    let all = settings.tools.len();
    let others: Vec<ToolSpec> = others.collect();
    let (hosts, retrieval) = others.split_at(all);
    [hosts, &own, retrieval].concat()
}

/// The tool that ends the session. It is the only tool of the final turn.
pub(crate) fn final_report(format: &Format) -> ToolSpec {
    let content = match format {
        Format::Json(schema) => {
            json!({"content_json": schema.clone().unwrap_or_else(|| json!({}))})
        }
        Format::Text | Format::Markdown => {
            json!({"report_content": {"type": "string", "minLength": 1}})
        }
    };
    let name = content
        .as_object()
        .and_then(|one| one.keys().next().cloned());
    let mut properties = json!({"report_format": {"type": "string", "const": format.name()}});
    for (key, value) in content.as_object().into_iter().flatten() {
        properties[key] = value.clone();
    }
    let what = match format {
        Format::Json(_) => "the report as a JSON value",
        Format::Markdown => "the report in Markdown",
        Format::Text => "the report as plain text",
    };
    ToolSpec {
        name: FINAL_REPORT.to_owned(),
        description: format!(
            "Finish the task with {what}. Call it once, alone, when nothing is left to do."
        ),
        schema: object(&properties, &[name.as_deref().unwrap_or_default()]),
    }
}

fn task_status() -> ToolSpec {
    let text = |what: &str| json!({"type": "string", "description": what});
    let properties = json!({
        "status": {"type": "string", "enum": ["starting", "in-progress", "completed"]},
        "done": text("what is done"),
        "pending": text("what is left"),
        "now": text("what you do now"),
    });
    ToolSpec {
        name: TASK_STATUS.to_owned(),
        description: "Tell the user how far you are, beside other calls; it gives nothing back."
            .to_owned(),
        schema: object(&properties, &["status", "now"]),
    }
}

/// Returns the tool for batches. Its schema is built from the tool list, so that the listed tools,
/// including `tool_output`, can be called within a batch.
fn batch(within: &[&ToolSpec]) -> ToolSpec {
    let call = |tool: &&ToolSpec| {
        let properties = json!({
            "id": {"type": "string", "minLength": 1},
            "tool": {"type": "string", "const": tool.name},
            "parameters": tool.schema,
        });
        object(&properties, &["id", "tool", "parameters"])
    };
    let calls: Vec<Value> = within.iter().map(call).collect();
    let properties = json!({
        "calls": {"type": "array", "minItems": 1, "items": {"anyOf": calls}},
    });
    ToolSpec {
        name: BATCH.to_owned(),
        description: "Make several calls at once; each result comes back under its id.".to_owned(),
        schema: object(&properties, &["calls"]),
    }
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": required,
    })
}
