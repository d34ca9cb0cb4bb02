//! Results that first ask the client for input (2026-07-28).
//!
//! Each tool here answers `input_required` until its questions are answered. The tool's state
//! between the rounds is kept by the client, which receives it as `requestState` and sends it back.
//! The state is sealed so that nobody can change it.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InputRequests,
    InputRequiredResult, RequestStateCodec,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::tools::typed;

/// The key that seals `requestState`. It is not secret, because this server is only a fixture.
const KEY: &[u8] = b"a key of a fixture, thirty-two bytes or more";

pub(crate) fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let round = Round::of(request)?;
    let what = request
        .name
        .trim_start_matches("test_input_required_result_");
    match what {
        "elicitation" => Ok(round.until(&["user_name"], json!({"user_name": name()}), None)),
        "sampling" => Ok(round.until(
            &["capital_question"],
            json!({"capital_question": sample("What is the capital of France?")}),
            None,
        )),
        "list_roots" => Ok(round.until(&["client_roots"], json!({"client_roots": roots()}), None)),
        "request_state" => Ok(round.until(
            &["confirm"],
            json!({"confirm": ask("Please confirm", "ok", "boolean")}),
            Some(json!("the state")),
        )),
        "multiple_inputs" => Ok(round.until(
            &["user_name", "greeting", "client_roots"],
            json!({"user_name": name(), "greeting": sample("Generate a greeting"), "client_roots": roots()}),
            Some(json!("three")),
        )),
        "tampered_state" => Ok(match round.state {
            Some(_) => done("state-ok"),
            None => required(
                json!({"confirm": ask("Please confirm", "ok", "boolean")}),
                Some(json!("round 1")),
            )
            .into(),
        }),
        "multi_round" => Ok(round.of_three()),
        "capabilities" => Ok(only_what_is_declared(context)),
        _ => Err(ErrorData::invalid_params("no such tool", None)),
    }
}

/// A call of a tool, with the client's answers so far.
struct Round<'a> {
    request: &'a CallToolRequestParams,
    state: Option<Value>,
}

impl<'a> Round<'a> {
    fn of(request: &'a CallToolRequestParams) -> Result<Self, ErrorData> {
        let state = request.request_state.as_deref();
        let state = state.map(|sealed| codec().open_json(sealed));
        let state = state.transpose().map_err(|_| {
            ErrorData::invalid_params("requestState is not what this server gave out", None)
        })?;
        Ok(Self { request, state })
    }

    /// Returns the answer to a question; ignores a value that is not an answer.
    fn answer(&self, name: &str) -> Option<&Value> {
        let answers = self.request.input_responses.as_ref()?;
        answers.get(name).filter(|answer| answer.is_object())
    }

    /// Returns the final result if all of `names` are answered; otherwise asks `questions` again.
    fn until(&self, names: &[&str], questions: Value, state: Option<Value>) -> CallToolResponse {
        let answers: Option<Vec<&Value>> = names.iter().map(|name| self.answer(name)).collect();
        match answers {
            Some(answers) if self.state == state => {
                done(&format!("All inputs received: {answers:?}"))
            }
            _ => required(questions, state).into(),
        }
    }

    /// Asks two questions, one after the other, and takes three rounds. The state carries the first
    /// answer.
    fn of_three(&self) -> CallToolResponse {
        let round = self
            .state
            .as_ref()
            .and_then(|state| state["round"].as_u64());
        match (round, self.answer("step1"), self.answer("step2")) {
            (Some(1), Some(step1), _) => {
                let color = ask("Step 2: What is your favorite color?", "color", "string");
                let state = json!({"round": 2, "name": step1["content"]["name"]});
                required(json!({"step2": color}), Some(state)).into()
            }
            (Some(2), _, Some(step2)) => {
                let name = self
                    .state
                    .as_ref()
                    .map_or(&Value::Null, |state| &state["name"]);
                done(&format!("{name} likes {}", step2["content"]["color"]))
            }
            _ => {
                let name = ask("Step 1: What is your name?", "name", "string");
                required(json!({"step1": name}), Some(json!({"round": 1}))).into()
            }
        }
    }
}

fn only_what_is_declared(context: &RequestContext<RoleServer>) -> CallToolResponse {
    let declared = context.client_capabilities().unwrap_or_default();
    let mut questions = serde_json::Map::new();
    if declared.sampling.is_some() {
        questions.insert("sample".to_owned(), sample("Say hello"));
    }
    if declared.elicitation.is_some() {
        questions.insert("ask".to_owned(), name());
    }
    required(Value::Object(questions), Some(json!("gated"))).into()
}

fn done(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn codec() -> RequestStateCodec {
    RequestStateCodec::try_new(KEY).expect("invariant: the key is long enough")
}

/// Builds a result that asks the client questions, which must be answered before the call can
/// succeed.
pub(crate) fn required(questions: Value, state: Option<Value>) -> InputRequiredResult {
    let state = state.map(|state| {
        let sealed = codec().seal_json(&state);
        sealed.expect("invariant: a JSON value serializes")
    });
    InputRequiredResult::new(Some(typed::<InputRequests>(questions)), state)
}

/// Builds a question to the user for one value.
pub(crate) fn ask(message: &str, field: &str, kind: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    let parameters = json!({"mode": "form", "message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": parameters})
}

fn name() -> Value {
    ask("What is your name?", "name", "string")
}

fn sample(prompt: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list"})
}
