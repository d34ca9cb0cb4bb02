//! Calls that become tasks, which the client polls (the tasks extension).

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateTaskResult, InputRequest, Tool,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::rounds::{ask, required};
use crate::tools::{taking, typed};

/// Poll interval for clients, in milliseconds.
const POLL_MS: u64 = 100;
/// How long a finished task is remembered, in milliseconds.
const KEPT_MS: u64 = 60_000;

/// The tools whose calls can become tasks.
pub(crate) const TOOLS: [&str; 6] = [
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

/// The tools that cannot be called without a task.
const ONLY_AS_TASK: [&str; 2] = ["failing_job", "test_tool_with_task"];

pub(crate) fn tools() -> Vec<Tool> {
    let tools = vec![
        taking(
            "slow_compute",
            &[("seconds", "number"), ("label", "string")],
        ),
        taking("confirm_delete", &[("filename", "string")]),
        crate::tools::plain("failing_job", "Fails after a while"),
        crate::tools::plain("protocol_error_job", "Fails as no tool should"),
        crate::tools::plain("multi_input", "Asks two things at once"),
        crate::tools::plain("test_tool_with_task", "Asks, and then takes a while"),
    ];
    typed(Value::Array(tools))
}

/// Calls one of [`TOOLS`]; without a task if the client does not support tasks.
pub(crate) async fn call(
    tasks: &TaskManager,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let declared = context.client_capabilities();
    let knows_tasks = declared.is_some_and(|declared| declared.supports_tasks());
    if !knows_tasks && ONLY_AS_TASK.contains(&request.name.as_ref()) {
        let needed = ClientCapabilities::builder().enable_tasks().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    let job = Job::of(request);
    if !knows_tasks {
        tokio::time::sleep(job.takes).await;
        return Ok(said(&format!("{} is done", job.name)).into());
    }
    if job.name == "test_tool_with_task" && job.answer.is_none() {
        return Ok(required(
            json!({"user_name": ask("Who are you?", "name", "string")}),
            None,
        )
        .into());
    }
    let options = TaskOptions::new()
        .with_ttl_ms(KEPT_MS)
        .with_poll_interval_ms(POLL_MS);
    let task = tasks.spawn(options, move |context| Box::pin(job.work(context)));
    Ok(CreateTaskResult::new(task).into())
}

/// The work of a task.
struct Job {
    name: String,
    takes: Duration,
    answer: Option<Value>,
}

impl Job {
    fn of(request: CallToolRequestParams) -> Self {
        let arguments = request.arguments.unwrap_or_default();
        let seconds = arguments.get("seconds").and_then(Value::as_f64);
        let answers = request.input_responses.unwrap_or_default();
        Self {
            name: request.name.into_owned(),
            takes: Duration::try_from_secs_f64(seconds.unwrap_or(0.2)).unwrap_or_default(),
            answer: answers.get("user_name").cloned(),
        }
    }

    async fn work(self, context: TaskContext) -> Result<CallToolResult, TaskExit> {
        match self.name.as_str() {
            "confirm_delete" => {
                let answer =
                    context.request_input("confirm", question("Really?", "confirm", "boolean"));
                Ok(said(&format!("answered: {}", answer.await?)))
            }
            "multi_input" => {
                let first =
                    context.request_input("first", question("The first?", "name", "string"));
                let second =
                    context.request_input("second", question("The second?", "name", "string"));
                let (first, second) = tokio::try_join!(first, second)?;
                Ok(said(&format!("answered: {first} and {second}")))
            }
            _ => {
                tokio::select! {
                    () = context.cancelled() => return Err(TaskExit::Cancelled),
                    () = tokio::time::sleep(self.takes) => {}
                }
                self.end()
            }
        }
    }

    fn end(&self) -> Result<CallToolResult, TaskExit> {
        match (self.name.as_str(), &self.answer) {
            ("failing_job", _) => Ok(CallToolResult::error(vec![ContentBlock::text("it failed")])),
            ("protocol_error_job", _) => Err(ErrorData::internal_error("it broke", None).into()),
            (_, Some(answer)) => Ok(said(&format!("done for {}", answer["content"]["name"]))),
            (name, None) => Ok(said(&format!("{name} is done"))),
        }
    }
}

fn question(message: &str, field: &str, kind: &str) -> InputRequest {
    typed(ask(message, field, kind))
}

fn said(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
