//! The tools of the fixture server and their results.

#![allow(deprecated)]

use std::fmt::Write;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    ElicitRequestParams, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::handler::{Change, Everything};
use crate::{rounds, tasks};

/// An image of one red pixel.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound file without any sample.
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAA";

/// Time between two notifications of a call.
const BREATH: Duration = Duration::from_millis(50);

/// Names and descriptions of the tools without arguments.
const PLAIN: [(&str, &str); 26] = [
    ("test_simple_text", "A text"),
    ("test_image_content", "An image"),
    ("test_audio_content", "A sound"),
    ("test_embedded_resource", "A resource in a result"),
    ("test_multiple_content_types", "Text, image and resource"),
    ("test_tool_with_logging", "Logs three times"),
    ("test_tool_with_progress", "Reports progress three times"),
    ("test_error_handling", "Fails"),
    ("test_elicitation_sep1034_defaults", "Asks with defaults"),
    ("test_elicitation_sep1330_enums", "Asks with choices"),
    ("test_reconnection", "Takes a while"),
    ("test_missing_capability", "Needs sampling"),
    ("test_streaming_elicitation", "Asks, each era in its way"),
    ("test_logging_tool", "Logs where that is wanted"),
    ("test_trigger_tool_change", "Says that the tools changed"),
    (
        "test_trigger_prompt_change",
        "Says that the prompts changed",
    ),
    ("test_input_required_result_elicitation", "Asks the user"),
    ("test_input_required_result_sampling", "Asks a model"),
    ("test_input_required_result_list_roots", "Asks for roots"),
    (
        "test_input_required_result_request_state",
        "Asks and remembers",
    ),
    (
        "test_input_required_result_multiple_inputs",
        "Asks three things",
    ),
    ("test_input_required_result_multi_round", "Asks twice"),
    (
        "test_input_required_result_tampered_state",
        "Notices a changed state",
    ),
    (
        "test_input_required_result_capabilities",
        "Asks what can be answered",
    ),
    ("ping_pong", "Nothing at all"),
    ("test_no_content", "A result without content"),
];

/// Returns all tools, the same for every caller.
pub(crate) fn all() -> Vec<Tool> {
    let plain = PLAIN
        .iter()
        .map(|(name, description)| plain(name, description));
    let mut tools: Vec<Value> = plain.collect();
    tools.extend([
        taking("test_sampling", &[("prompt", "string")]),
        taking("test_elicitation", &[("message", "string")]),
        taking("echo", &[("text", "string")]),
        taking("greet", &[("name", "string")]),
        taking("big", &[("bytes", "integer"), ("tag", "string")]),
        taking("structured", &[("bytes", "integer"), ("tag", "string")]),
        taking("slow", &[("ms", "integer")]),
        json!({"name": "test_x_mcp_header", "description": "An argument that is a header, too", "inputSchema": {
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        }}),
        json!({"name": "json_schema_2020_12_tool", "description": "A schema with all there is", "inputSchema": schema()}),
    ]);
    let mut tools: Vec<Tool> = typed(Value::Array(tools));
    tools.extend(tasks::tools());
    tools
}

/// A tool without arguments.
pub(crate) fn plain(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}})
}

/// A tool with these arguments; the first is required.
pub(crate) fn taking(name: &str, arguments: &[(&str, &str)]) -> Value {
    let properties: serde_json::Map<String, Value> = arguments
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({"type": kind})))
        .collect();
    let required: Vec<&str> = arguments.iter().map(|(name, _)| *name).take(1).collect();
    let mut tool = json!({
        "name": name,
        "description": format!("Takes {}", arguments[0].0),
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    });
    if name == "structured" {
        tool["outputSchema"] = json!({
            "type": "object",
            "properties": {"tag": {"type": "string"}, "lines": {"type": "array", "items": {"type": "string"}}},
            "required": ["tag", "lines"],
        });
    }
    tool
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// Calls a tool that answers in one round.
pub(crate) async fn call(
    server: &Everything,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let call = Call {
        arguments: Value::Object(request.arguments.unwrap_or_default()),
        context,
    };
    let result = match request.name.as_ref() {
        "test_tool_with_logging" => call.log_thrice().await,
        "test_tool_with_progress" => call.progress_thrice().await,
        "test_sampling" => call.sample().await,
        "test_elicitation" => {
            let message = call.text("message");
            let schema = json!({"response": {"type": "string"}});
            call.elicit(message, schema, &["response"]).await
        }
        "test_elicitation_sep1034_defaults" => call.elicit("Defaults", defaults(), &[]).await,
        "test_elicitation_sep1330_enums" => call.elicit("Choices", choices(), &[]).await,
        "test_streaming_elicitation" => {
            return call
                .elicit_as_the_era_does(request.input_responses.is_some())
                .await;
        }
        "test_logging_tool" => call.log_where_wanted().await,
        "test_missing_capability" => call.need_sampling()?,
        "test_trigger_tool_change" => {
            server.tell(Change::Tools);
            let _ = call.context.peer.notify_tool_list_changed().await;
            text("the tool list changed")
        }
        "test_trigger_prompt_change" => {
            server.tell(Change::Prompts);
            let _ = call.context.peer.notify_prompt_list_changed().await;
            text("the prompt list changed")
        }
        "test_reconnection" => {
            tokio::time::sleep(Duration::from_millis(200)).await;
            text("Reconnection test completed")
        }
        "slow" => {
            let wait = Duration::from_millis(call.number("ms"));
            tokio::select! {
                () = tokio::time::sleep(wait) => text("at last"),
                () = call.context.ct.cancelled() => text("cancelled"),
            }
        }
        name => {
            at_once(name, &call).ok_or_else(|| ErrorData::invalid_params("no such tool", None))?
        }
    };
    Ok(typed::<CallToolResult>(result).into())
}

/// Returns the result of a tool that has nothing to wait for.
fn at_once(name: &str, call: &Call) -> Option<Value> {
    let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    Some(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(&[image]),
        "test_audio_content" => {
            content(&[json!({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"})])
        }
        "test_embedded_resource" => content(&[resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => content(&[
            json!({"type": "text", "text": "Multiple content types test:"}),
            image,
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ]),
        "test_error_handling" => {
            let mut result = text("This tool intentionally returns an error for testing");
            result["isError"] = json!(true);
            result
        }
        "test_x_mcp_header" => text(&format!("region={}", call.text("region"))),
        "json_schema_2020_12_tool" | "ping_pong" => text(name),
        "test_no_content" => content(&[]),
        "echo" => text(call.text("text")),
        "greet" => text(&format!("Hello, {}!", call.text("name"))),
        "big" => text(&filled(call.text("tag"), call.bytes())),
        "structured" => {
            let (tag, lines) = (call.text("tag"), filled(call.text("tag"), call.bytes()));
            let lines: Vec<&str> = lines.lines().collect();
            let mut result = text(&format!("{} lines for {tag}", lines.len()));
            result["structuredContent"] = json!({"tag": tag, "lines": lines});
            result
        }
        _ => return None,
    })
}

/// A call of a tool.
struct Call {
    arguments: Value,
    context: RequestContext<RoleServer>,
}

impl Call {
    fn text(&self, name: &str) -> &str {
        self.arguments[name].as_str().unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self.arguments[name].as_u64().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        usize::try_from(self.number("bytes")).unwrap_or_default()
    }

    fn is_modern(&self) -> bool {
        let version = self.context.protocol_version();
        version.is_some_and(|version| version.as_str() >= "2026-07-28")
    }

    async fn log(&self, message: &str) {
        let message = json!({"level": "info", "logger": "everything", "data": message});
        let _ = self
            .context
            .peer
            .notify_logging_message(typed(message))
            .await;
    }

    async fn log_thrice(&self) -> Value {
        for message in [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
        ] {
            self.log(message).await;
            tokio::time::sleep(BREATH).await;
        }
        text("Tool with logging executed successfully")
    }

    /// Newer clients state in each request whether they want log messages.
    async fn log_where_wanted(&self) -> Value {
        if !self.is_modern() || self.context.meta.log_level().is_some() {
            self.log("test_logging_tool ran").await;
        }
        text("logged where that is wanted")
    }

    async fn progress_thrice(&self) -> Value {
        if let Some(token) = self.context.meta.get_progress_token() {
            for done in [0, 50, 100] {
                let progress = json!({
                    "progressToken": token, "progress": done, "total": 100,
                    "message": format!("Completed step {done} of 100"),
                });
                let _ = self.context.peer.notify_progress(typed(progress)).await;
                tokio::time::sleep(BREATH).await;
            }
        }
        text("progress was reported")
    }

    async fn sample(&self) -> Value {
        let message =
            json!({"role": "user", "content": {"type": "text", "text": self.text("prompt")}});
        let parameters = typed(json!({"messages": [message], "maxTokens": 100}));
        match self.context.peer.create_message(parameters).await {
            Ok(reply) => text(&format!("LLM response: {}", json!(reply.message.content))),
            Err(error) => text(&format!("Sampling not supported or error: {error}")),
        }
    }

    async fn elicit(&self, message: &str, properties: Value, required: &[&str]) -> Value {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let parameters = json!({"mode": "form", "message": message, "requestedSchema": schema});
        let parameters = typed::<ElicitRequestParams>(parameters);
        match self.context.peer.create_elicitation(parameters).await {
            Ok(reply) => {
                let (action, content) = (json!(reply.action), json!(reply.content));
                text(&format!(
                    "User response: action={action}, content={content}"
                ))
            }
            Err(error) => text(&format!("Elicitation not supported or error: {error}")),
        }
    }

    async fn elicit_as_the_era_does(
        &self,
        is_answered: bool,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.is_modern() && !is_answered {
            let question = rounds::ask("A word, please", "response", "string");
            return Ok(rounds::required(json!({"word": question}), None).into());
        }
        let result = if self.is_modern() {
            text("elicitation answered")
        } else {
            let schema = json!({"response": {"type": "string"}});
            self.elicit("A word, please", schema, &["response"]).await
        };
        Ok(typed::<CallToolResult>(result).into())
    }

    fn need_sampling(&self) -> Result<Value, ErrorData> {
        let declared = self.context.client_capabilities();
        if declared.is_some_and(|declared| declared.sampling.is_some()) {
            return Ok(text("the client can sample"));
        }
        let needed: ClientCapabilities = typed(json!({"sampling": {}}));
        Err(ErrorData::missing_required_client_capability(needed))
    }
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn choices() -> Value {
    let titled =
        json!([{"const": "one", "title": "The first"}, {"const": "two", "title": "The second"}]);
    json!({
        "untitledSingle": {"type": "string", "enum": ["one", "two"]},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["one", "two"], "enumNames": ["The first", "The second"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["one", "two"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}

/// Returns this many bytes of numbered lines, each with `tag`. They depend on the arguments alone,
/// so that a caller recognizes its own reply.
pub(crate) fn filled(tag: &str, bytes: usize) -> String {
    let mut filled = String::with_capacity(bytes + 64);
    let mut line = 0_u64;
    while filled.len() < bytes {
        writeln!(filled, "{tag} line {line:08} of a long result").expect("writing to a string");
        line += 1;
    }
    filled.truncate(bytes);
    filled
}

fn text(text: &str) -> Value {
    content(&[json!({"type": "text", "text": text})])
}

fn content(blocks: &[Value]) -> Value {
    json!({"resultType": "complete", "content": blocks})
}

/// Converts JSON to a value of the SDK.
///
/// # Panics
/// When the JSON does not fit the type: a mistake in this file.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("invariant: a fixture is what the protocol says")
}
