//! Records which task belongs to which call.
//!
//! A server may answer a call with a task. The result of the call then arrives later, in
//! `tasks/result` or within `tasks/get`, and is treated as the call's result.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use spillgate_artifact::Origin;
use spillgate_offload::ResultMode;

use spillgate_mcp::ObjectView;

/// Maximum number of tasks that are remembered. The oldest are forgotten first. The result of a
/// forgotten task is attributed to the task itself instead of its call.
const MOST: usize = 1000;

/// A task and its call.
#[derive(Debug)]
struct Task {
    id: String,
    call: TaskCall,
}

/// A call that was answered with a task.
#[derive(Debug, Clone)]
pub(crate) struct TaskCall {
    /// The tool and the arguments.
    pub(crate) origin: Origin,
    /// What the call says about its result.
    pub(crate) results: Option<ResultMode>,
}

/// The calls that were answered with tasks.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<VecDeque<Task>>);

impl Tasks {
    /// Records the task with which a call was answered, if any.
    pub(crate) fn note(&self, result: &str, origin: &Origin, results: Option<ResultMode>) {
        let Some(id) = created(result) else {
            return;
        };
        let mut tasks = self.0.lock();
        if tasks.len() == MOST {
            tasks.pop_front();
        }
        let origin = origin.clone();
        let call = TaskCall { origin, results };
        tasks.push_back(Task { id, call });
    }

    /// Returns the call that was answered with this task.
    pub(crate) fn call(&self, id: &str) -> Option<TaskCall> {
        let tasks = self.0.lock();
        let mut last = tasks.iter().rev();
        last.find(|task| task.id == id)
            .map(|task| task.call.clone())
    }
}

/// Returns the id of a new task. Up to 2025-11-25, it is in the member `task`; since then, it is in
/// the result itself.
fn created(result: &str) -> Option<String> {
    if result.len() > LARGEST {
        return None;
    }
    let members = ObjectView::of_text(result)?;
    let is_task = members.text("resultType").as_deref() == Some("task");
    match members.get("task").and_then(ObjectView::of) {
        Some(task) => task.text("taskId"),
        None => members.text("taskId").filter(|_| is_task),
    }
}

/// Maximum size, in bytes, of a frame that may create a task. Such responses are small.
const LARGEST: usize = 16 << 10;

/// Whether a frame may concern a task. This check is cheap.
pub(crate) fn may_be(frame: &[u8]) -> bool {
    frame.len() <= LARGEST && memchr::memmem::find(frame, b"taskId").is_some()
}

/// Returns the id of the task that a request concerns.
pub(crate) fn asked(params: Option<&RawValue>) -> Option<String> {
    ObjectView::of(params?)?.text("taskId")
}

/// Returns the call's result in the response to `tasks/get`; `None` if the call has not finished.
pub(crate) fn finished(result: &str) -> Option<&RawValue> {
    let inner = ObjectView::of_text(result)?.get("result")?;
    inner.get().starts_with('{').then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_its_calls() {
        let tasks = Tasks::default();
        let results = [
            (r#"{"task":{"taskId":"a"}}"#, "old"),
            (r#"{"resultType":"task","taskId":"b"}"#, "new"),
            (r#"{"taskId":"c"}"#, "none"),
            (r#"{"content":[]}"#, "none"),
            (r#"{"task":{"taskId":"a"}}"#, "again"),
        ];
        for (result, tool) in results {
            tasks.note(result, &Origin::tool(tool), None);
        }
        let tool = |id| tasks.call(id).map(|call| call.origin.tool);
        assert_eq!(tool("a").as_deref(), Some("again"));
        assert_eq!(tool("b").as_deref(), Some("new"));
        assert_eq!(tool("c"), None);
        for at in 0..=MOST {
            let result = format!("{{\"task\":{{\"taskId\":\"{at}\"}}}}");
            tasks.note(&result, &Origin::tool("many"), None);
        }
        assert_eq!((tool("a"), tool("0")), (None, None));
        assert!(tool("1").is_some());
    }

    #[test]
    fn a_result_within_a_task() {
        for (result, want) in [
            (r#"{"taskId":"a","status":"working"}"#, None),
            (r#"{"result": {"content":[]}}"#, Some(r#"{"content":[]}"#)),
            (r#"{"result":7}"#, None),
        ] {
            assert_eq!(finished(result).map(RawValue::get), want, "{result}");
        }
    }
}
