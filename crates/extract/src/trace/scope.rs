//! Records operations while they run.
//!
//! All operations of a run form one tree. An operation enters it when it begins. A snapshot
//! ([`Scope::snapshot`]) therefore also contains operations that are still running. If the future
//! of an operation is dropped, the operation stays in the tree as unfinished.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use spillgate_llm::{LlmError, Reply, Request, ToolCall};
use tokio::time::Instant;

use super::op::{Op, OpKind};

/// A running operation as the parent of further operations. It is cheap to clone.
#[derive(Clone)]
pub struct Scope {
    tree: Arc<Mutex<Vec<Node>>>,
    at: usize,
}

/// A running operation. If the span is dropped before it is ended, the operation stays unfinished.
#[derive(Debug)]
pub struct Span(Scope);

struct Node {
    /// The facts of the operation, without times and children.
    op: Op,
    began: Instant,
    ended: Option<Instant>,
    within: Option<usize>,
    children: Vec<usize>,
}

impl fmt::Debug for Scope {
    /// Leaves out the recorded facts, because they may be long and may quote any text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Node {
    fn new(kind: OpKind, name: &str, within: Option<usize>) -> Self {
        Self {
            op: Op {
                unfinished: true,
                ..Op::new(kind, name)
            },
            began: Instant::now(),
            ended: None,
            within,
            children: Vec::new(),
        }
    }
}

impl Scope {
    /// Begins an operation within this one.
    #[must_use]
    pub fn begin(&self, kind: OpKind, name: &str) -> Span {
        let mut nodes = self.nodes();
        let at = nodes.len();
        nodes.push(Node::new(kind, name, Some(self.at)));
        nodes[self.at].children.push(at);
        drop(nodes);
        let tree = Arc::clone(&self.tree);
        Span(Self { tree, at })
    }

    /// Begins an operation that is a request to a model.
    #[must_use]
    pub fn asks(&self, name: &str, request: &Request) -> Span {
        let span = self.begin(OpKind::Llm, name);
        span.0.note(|op| {
            op.messages = Some(request.messages.len() as u64 + 1);
            op.request_bytes = Some(request.bytes());
        });
        span
    }

    /// Records facts of this operation. `note` must not begin another operation.
    pub fn note(&self, note: impl FnOnce(&mut Op)) {
        note(&mut self.nodes()[self.at].op);
    }

    /// Returns the current state of this operation and those within it. Times are relative to the
    /// start of this operation.
    #[must_use]
    pub fn snapshot(&self) -> Op {
        let nodes = self.nodes();
        taken(&nodes, self.at, nodes[self.at].began, Instant::now())
    }

    /// Returns how many operations of this kind enclose the scope. The scope's own operation
    /// counts, too.
    #[must_use]
    pub fn depth(&self, kind: OpKind) -> usize {
        let nodes = self.nodes();
        let up = std::iter::successors(Some(self.at), |&at| nodes[at].within);
        up.filter(|&at| nodes[at].op.kind == kind).count()
    }

    /// Closes the operation, finished or not, if it is not closed yet.
    fn close(&self, is_finished: bool) {
        let mut nodes = self.nodes();
        let node = &mut nodes[self.at];
        if node.ended.is_none() {
            node.ended = Some(Instant::now());
            node.op.unfinished = !is_finished;
        }
    }

    /// Locks the tree. Each change is a single call, so a panic elsewhere leaves the tree
    /// consistent.
    fn nodes(&self) -> MutexGuard<'_, Vec<Node>> {
        self.tree.lock()
    }
}

impl Span {
    /// Begins the root operation of a new tree.
    #[must_use]
    pub fn root(kind: OpKind, name: &str) -> Self {
        let tree = Arc::new(Mutex::new(vec![Node::new(kind, name, None)]));
        Self(Scope { tree, at: 0 })
    }

    /// Returns the scope, for operations within this one and for facts that are recorded later.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.0
    }

    /// Ends the operation.
    pub fn end(self) {
        self.0.close(true);
    }

    /// Ends the operation. If there is an error, the operation counts as failed.
    pub fn end_with(self, error: Option<String>) {
        self.0.note(|op| op.error = error);
        self.end();
    }

    /// Records a model's reply and ends the operation. `wrong` says what is wrong with the reply,
    /// if anything.
    pub fn replied(self, reply: &Result<Reply, LlmError>, wrong: Option<String>) {
        self.0.note(|op| match reply {
            Ok(reply) => {
                op.answered(&words(reply));
                op.target = Some(reply.target.to_string());
                op.usage = Some(reply.usage);
                op.error = wrong;
            }
            Err(error) => {
                op.target = Some(error.target.to_string());
                op.error = Some(error.to_string());
            }
        });
        self.end();
    }

    /// Records a tool's result and ends the operation.
    pub fn gave(self, text: &str, is_error: bool) {
        self.0.note(|op| {
            op.answered(text);
            if is_error {
                op.error.clone_from(&op.response_preview);
            }
        });
        self.end();
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.0.close(false);
    }
}

fn taken(nodes: &[Node], at: usize, start: Instant, now: Instant) -> Op {
    let node = &nodes[at];
    let children = node.children.iter();
    Op {
        at_ms: millis(node.began.duration_since(start)),
        took_ms: millis(node.ended.unwrap_or(now).duration_since(node.began)),
        children: children.map(|&at| taken(nodes, at, start, now)).collect(),
        ..node.op.clone()
    }
}

/// Returns the text of a reply, including its calls.
fn words(reply: &Reply) -> Cow<'_, str> {
    if reply.calls.is_empty() {
        return Cow::Borrowed(&reply.text);
    }
    let call = |call: &ToolCall| format!("[{} {}]", call.name, call.arguments);
    let said = Some(reply.text.clone()).filter(|text| !text.is_empty());
    let said: Vec<String> = said
        .into_iter()
        .chain(reply.calls.iter().map(call))
        .collect();
    Cow::Owned(said.join("\n"))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_look_has_what_is_under_way_and_what_was_given_up() {
        let wait = || tokio::time::sleep(Duration::from_millis(10));
        let root = Span::root(OpKind::Agent, "root");
        let done = root.scope().begin(OpKind::Turn, "done");
        wait().await;
        done.end_with(Some("in vain".into()));
        let turn = root.scope().begin(OpKind::Turn, "turn");
        let given_up = turn.scope().begin(OpKind::Tool, "given up");
        let under_way = turn.scope().begin(OpKind::Tool, "under way");
        wait().await;
        drop(given_up);
        wait().await;
        let look = |op: &Op| (op.name.clone(), op.at_ms, op.took_ms, op.unfinished);
        let whole = root.scope().snapshot();
        let turns: Vec<_> = whole.children.iter().map(look).collect();
        let expected = [("done".into(), 0, 10, false), ("turn".into(), 10, 20, true)];
        assert_eq!(turns, expected);
        assert_eq!(whole.children[0].error.as_deref(), Some("in vain"));
        // In the snapshot of a turn, times are relative to the start of the turn.
        let calls: Vec<_> = turn.scope().snapshot().children.iter().map(look).collect();
        let expected = [
            ("given up".into(), 0, 10, true),
            ("under way".into(), 0, 20, true),
        ];
        assert_eq!(calls, expected);
        assert_eq!(under_way.scope().depth(OpKind::Turn), 1);
        under_way.end();
        let calls = turn.scope().snapshot().children;
        assert!(calls[0].unfinished && !calls[1].unfinished);
    }

    #[test]
    fn a_trace_can_be_read_again() {
        let op = Op {
            children: vec![Op::new(OpKind::Llm, "map 1/2").with_response("x")],
            unfinished: true,
            ..Op::new(OpKind::Session, "full-chunked")
        };
        let text = serde_json::to_string(&op).unwrap();
        assert_eq!(serde_json::from_str::<Op>(&text).unwrap(), op);
    }
}
