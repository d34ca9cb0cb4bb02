//! The strategy in which a model (the *child*) searches the output with `Read` and `Grep`.
//!
//! The child sees only one file, which is the output. It has no other tool and does not know the
//! conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use spillgate_artifact::{Interrupt, LOOKUP_TIMEOUT, LineRange, TokenBudget};
use spillgate_conversation::{
    LoopEnding, Observer, Slot, ToolHost, ToolReplyFuture, TurnLimits, Turns, run,
};
use spillgate_files::{FileTools, PinnedFile};
use spillgate_llm::{
    ChatModel, LlmError, Message, ModelLimits, OnDelta, Reply, ReplyFuture, Request, Target,
    ToolCall, ToolReply, ToolSpec,
};

use crate::case::{Asking, Case};
use crate::drafted::{Drafted, StrategyError};
use crate::map::{Seen, found};
use crate::mask::{inline, masked};
use crate::outcome::Coverage;
use crate::prompt;
use crate::trace::{OpKind, Scope};
use crate::watch::Watch;

impl Asking {
    /// Lets a model (the child) search the output for the answer.
    pub(crate) async fn read_grep(&self, watch: &dyn Watch) -> Result<Drafted, StrategyError> {
        let case = &self.case;
        if case.artifact.view().bytes() == 0 {
            return Ok(Drafted::empty());
        }
        let filename = case.artifact.manifest().handle.to_string();
        let slot = case.slot("");
        let system = prompt::read_grep(case, &filename, &slot);
        let (turns, free) = self.conversation(system, slot)?;
        let tools = FileTools {
            files: Arc::new(PinnedFile {
                name: filename,
                artifact: Arc::clone(&case.artifact),
            }),
            // One tool result may take a quarter of the free tokens, because the child needs
            // several results.
            budget: TokenBudget::new(case.settings.tool_tokens.min(free / 4)),
            counter: Arc::clone(&case.counter),
        };
        let child = Child {
            case,
            tools,
            seen: Mutex::default(),
            looked_for: Mutex::default(),
            watch,
            asked: AtomicU64::new(0),
        };
        let model = Noted {
            model: &*self.model,
            scope: &case.scope,
            asked: AtomicU64::new(0),
        };
        let finished = run(turns, &model, &child, &child).await;
        let seen = child.seen.into_inner();
        let looked = child.looked_for.into_inner();
        let text = match finished.ending {
            LoopEnding::Answered(text) => case.bounded(text),
            LoopEnding::Refused => return Err(StrategyError::Refused),
            LoopEnding::NoAnswer(error) => return Err(error.into()),
            LoopEnding::Failed(error) => return Err(error.into()),
        };
        let examined = seen.bytes();
        Ok(Drafted {
            is_found: found(&text),
            is_partial: false,
            text,
            coverage: Coverage {
                bytes_examined: examined,
                bytes_total: case.artifact.view().bytes(),
                ..Coverage::default()
            },
            notes: vec![looked_for(&looked, examined)],
        })
    }

    /// Returns the child's conversation, and how many tokens are free in it.
    fn conversation(&self, system: String, slot: Slot) -> Result<(Turns, u64), StrategyError> {
        let (case, window) = (&self.case, self.model.limits().window);
        let fixed = case.counter.count(&system) + self.answer_tokens();
        if fixed + window / 8 > window {
            return Err(StrategyError::NoRoom { window });
        }
        let turns = Turns {
            system,
            messages: vec![Message::User(prompt::search_the_file(case))],
            slot,
            limits: TurnLimits {
                turns: case.settings.max_turns.max(1),
                calls_per_turn: case.settings.max_tool_calls_per_turn.max(1),
                max_output_tokens: self.answer_tokens(),
                window,
            },
            counter: Arc::clone(&case.counter),
        };
        Ok((turns, window - fixed))
    }
}

/// The child's tools, which also record what the child does.
struct Child<'a> {
    case: &'a Case,
    tools: FileTools,
    /// The bytes that the child was shown.
    seen: Mutex<Seen>,
    /// The patterns that the child searched for with `Grep`.
    looked_for: Mutex<Vec<String>>,
    watch: &'a dyn Watch,
    /// How often the child's model was asked.
    asked: AtomicU64,
}

impl ToolHost for Child<'_> {
    fn tools(&self) -> Vec<ToolSpec> {
        FileTools::definitions()
            .into_iter()
            .map(|tool| ToolSpec {
                name: tool.name.to_owned(),
                description: tool.description.to_owned(),
                schema: tool.schema,
            })
            .collect()
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> ToolReplyFuture<'a> {
        Box::pin(async move {
            let tools = self.tools.clone();
            let (name, arguments) = (call.name.clone(), call.arguments.clone());
            let span = self.case.scope.begin(OpKind::Tool, &name);
            let bytes = arguments.len() as u64;
            span.scope().note(|op| op.request_bytes = Some(bytes));
            let answer = self
                .case
                .look(move |_| tools.call(&name, &arguments, &Interrupt::after(LOOKUP_TIMEOUT)))
                .await;
            let stretches = answer.lines();
            if let (Some(one), Some(other)) = (stretches.first(), stretches.last()) {
                let (first, last) = (one.first, other.last);
                let read = LineRange { first, last };
                span.scope().note(|op| op.lines = Some(read));
            }
            span.gave(&answer.text, answer.is_error);
            self.note_pattern(call, answer.is_error);
            for lines in stretches {
                self.note(lines).await;
            }
            ToolReply {
                call_id: call.id.clone(),
                text: masked(&answer.text).into_owned(),
                is_error: answer.is_error,
            }
        })
    }
}

/// Maximum number of patterns that an answer repeats, and maximum length of each, in characters.
const PATTERNS: usize = 5;
const PATTERN: usize = 60;

/// Describes how the child searched, because a "not found" must say what was searched.
fn looked_for(patterns: &[String], examined: u64) -> String {
    let shown: Vec<&str> = patterns.iter().take(PATTERNS).map(String::as_str).collect();
    match patterns.len() {
        0 if examined == 0 => "the model looked at nothing of the output".to_owned(),
        0 => "searched by reading only".to_owned(),
        n if n > PATTERNS => format!(
            "searched the whole output for {} and {} more",
            shown.join(", "),
            n - PATTERNS
        ),
        _ => format!("searched the whole output for {}", shown.join(", ")),
    }
}

impl Child<'_> {
    fn note_pattern(&self, call: &ToolCall, is_error: bool) {
        let arguments: Option<serde_json::Value> = serde_json::from_str(&call.arguments).ok();
        let pattern = arguments.as_ref().and_then(|given| given["regex"].as_str());
        if let Some(pattern) = pattern.filter(|_| call.name == "Grep" && !is_error) {
            let shown = format!("/{}/", inline(pattern, PATTERN));
            let mut looked_for = self.looked_for.lock();
            if !looked_for.contains(&shown) {
                looked_for.push(shown);
            }
        }
    }

    /// Records that the child was shown these lines.
    async fn note(&self, lines: LineRange) {
        let range = self.case.look(move |case| {
            let view = case.artifact.view();
            let end = view.offset_of_line(lines.last + 1)?;
            Ok::<_, std::io::Error>((view.offset_of_line(lines.first)?, end))
        });
        if let Ok(range) = range.await {
            let mut seen = self.seen.lock();
            seen.add(range);
        }
    }
}

impl Observer for Child<'_> {
    fn asked(&self, _: &Request, _: &Result<Reply, LlmError>) {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let total = u64::from(self.case.settings.max_turns);
        self.watch.step("read-grep", asked, total);
    }

    fn called(&self, _: &ToolCall, _: &ToolReply) {}
}

/// The child's model. Its turns are recorded.
#[derive(Debug)]
struct Noted<'a> {
    model: &'a dyn ChatModel,
    scope: &'a Scope,
    asked: AtomicU64,
}

impl ChatModel for Noted<'_> {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let turn = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
            let span = self.scope.asks(&format!("turn {turn}"), request);
            let reply = self.model.chat(request, deltas).await;
            span.replied(&reply, None);
            reply
        })
    }

    fn target(&self) -> Target {
        self.model.target()
    }

    fn limits(&self) -> ModelLimits {
        self.model.limits()
    }
}
