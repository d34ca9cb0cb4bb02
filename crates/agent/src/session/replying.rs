//! Reads a reply of the model: a report, calls to make, or what was wrong with it.

use serde_json::Value;
use spillgate_conversation::{SlotError, Sorted};
use spillgate_llm::{LlmError, Reply, ToolCall, ToolSpec};

use super::Session;
use super::round::{Round, Shown};
use crate::batch;
use crate::event::{CallId, Effect, Planned, Status};
use crate::internal::{BATCH, FINAL_REPORT, GET_CONTINUATION, TASK_STATUS};
use crate::report::{Ending, Report};
use crate::texts;

impl Session {
    /// Handles a request that failed after all retries and with all fallback targets.
    pub(super) fn unanswered(&mut self, error: &LlmError) -> Vec<Effect> {
        if self.conversation.shorten(error) {
            return self.ask(None);
        }
        let why = format!("the model could not be asked: {error}");
        self.finish(Ending::Failed(why.clone()), &why)
    }

    /// Handles a reply of the model.
    pub(super) fn replied(&mut self, reply: Reply) -> Vec<Effect> {
        if !reply.text.trim().is_empty() {
            self.said = Some(reply.text.clone());
        }
        let Some(said) = self.conversation.read(reply) else {
            let why = "the model refused";
            return self.finish(Ending::Failed(why.to_owned()), why);
        };
        let (calls, sorted) = (said.calls, said.sorted);
        let written = match said.written {
            Ok(answer) => Report::written(answer, &self.settings.format),
            Err(error) => Err(what_was_wrong(&error).to_owned()),
        };
        let why = match written {
            Ok(report) => return self.end(Ending::Success, report),
            Err(why) => why,
        };
        let report = calls.make.iter().find(|call| call.name == FINAL_REPORT);
        let report = report.map(|call| Report::called(call, &self.settings.format));
        let why = match report {
            Some(Ok(report)) => return self.end(Ending::Success, report),
            Some(Err(why)) => why,
            None => why,
        };
        self.conversation.hear(said.text, sorted.calls());
        if sorted.calls().is_empty() {
            return self.ask(Some(&why));
        }
        let (mut round, mut effects) = (Round::default(), Vec::new());
        if self.conversation.is_last() {
            let names: Vec<&str> = sorted.calls().iter().map(|call| &*call.name).collect();
            let why = match names.contains(&FINAL_REPORT) {
                true => why,
                false => texts::called_at_the_end(&names),
            };
            effects.extend(sorted.calls().iter().map(|call| refused(call, &why)));
            effects.extend(self.ask(Some(&why)));
            return effects;
        }
        let alone = calls.make.iter().filter(|call| call.name != BATCH);
        let alone = u32::try_from(alone.count()).unwrap_or(u32::MAX);
        let mut left = self.settings.calls_per_turn.saturating_sub(alone);
        for (call, refusal) in sorted.calls().iter().zip(sorted.refusals()) {
            match refusal {
                Some(reply) => {
                    effects.push(refused(call, &reply.text));
                    round.answered(call, self.error(&reply.text));
                }
                None => self.plan(&mut round, call, &why, &mut left, &mut effects),
            }
        }
        self.conversation.guard.add(round.tokens());
        self.round = Some(round);
        effects.extend(self.go_on());
        effects
    }

    /// Plans one call of a reply. `left` is the number of calls that the reply's batches may still
    /// make.
    fn plan(
        &self,
        round: &mut Round,
        call: &ToolCall,
        why: &str,
        left: &mut u32,
        effects: &mut Vec<Effect>,
    ) {
        match call.name.as_str() {
            FINAL_REPORT => {
                effects.push(refused(call, why));
                round.answered(call, self.error(why));
            }
            BATCH => match batch::calls(call) {
                Err(why) => {
                    effects.push(refused(call, &why));
                    round.answered(call, self.error(&why));
                }
                Ok(mut inner) => {
                    let tools = self.conversation.tools();
                    let is_known = |call: &ToolCall| refusal(call, tools).is_none();
                    let limit = self.settings.calls_per_turn;
                    *left = batch::limited(&mut inner, is_known, *left, limit);
                    let made = inner.iter().filter_map(|one| one.call.as_ref().ok());
                    effects.extend(made.filter_map(status));
                    effects.push(Effect::Batched(Planned {
                        id: CallId::of(call),
                        call: call.clone(),
                    }));
                    for one in &inner {
                        let why = match &one.call {
                            Ok(made) => refusal(made, tools),
                            Err(why) => Some(format!("{}: {}", why.code, why.message)),
                        };
                        let id = CallId::within(call, &one.id);
                        effects.extend(why.map(|why| refused_as(id, &one.tool, &why)));
                    }
                    round.batched(call, inner, |inner| self.answered_at_once(inner));
                }
            },
            _ => {
                effects.extend(status(call));
                match self.answered_at_once(call) {
                    Some(shown) => {
                        effects.extend(shown.is_error.then(|| refused(call, &shown.text)));
                        round.answered(call, shown);
                    }
                    None => round.planned(call),
                }
            }
        }
    }

    /// Returns the answer to a call that the session answers itself.
    fn answered_at_once(&self, call: &ToolCall) -> Option<Shown> {
        if let Some(refusal) = refusal(call, self.conversation.tools()) {
            return Some(self.error(&refusal));
        }
        match call.name.as_str() {
            TASK_STATUS => Some(self.shown("ok", false)),
            GET_CONTINUATION => {
                let (tool, arguments, reply) = self.last_call.as_ref()?;
                let same = *tool == call.name && same_json(arguments, &call.arguments);
                same.then(|| self.shown(&texts::duplicate(tool, reply), false))
            }
            _ => None,
        }
    }

    pub(super) fn error(&self, text: &str) -> Shown {
        self.shown(text, true)
    }

    pub(super) fn shown(&self, text: &str, is_error: bool) -> Shown {
        Shown {
            text: text.to_owned(),
            tokens: self.conversation.count(text),
            is_error,
            decided: None,
            held: None,
        }
    }
}

/// Returns the effect that records why a call is not made.
fn refused(call: &ToolCall, why: &str) -> Effect {
    refused_as(CallId::of(call), &call.name, why)
}

fn refused_as(id: CallId, tool: &str, why: &str) -> Effect {
    let tool = tool.to_owned();
    let why = why.to_owned();
    Effect::Refused { id, tool, why }
}

/// Returns why a call cannot be made; `None` if it can.
fn refusal(call: &ToolCall, tools: &[ToolSpec]) -> Option<String> {
    let (mut calls, _) = Sorted::of(vec![call.clone()], tools, 1);
    calls.refused.pop().map(|(_, reply)| reply.text)
}

/// Returns the effect that shows the user a status that the model reported.
fn status(call: &ToolCall) -> Option<Effect> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    (call.name == TASK_STATUS).then(|| {
        Effect::Status(Status {
            status: text("status"),
            done: text("done"),
            pending: text("pending"),
            now: text("now"),
        })
    })
}

fn same_json(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || value(one).is_some_and(|one| Some(one) == value(other))
}

fn what_was_wrong(error: &SlotError) -> &'static str {
    match error {
        SlotError::Empty => "Your reply is empty.",
        SlotError::Missing => "Your reply has neither a call nor a report.",
        SlotError::Ambiguous => "Your reply has two different reports; give one.",
        SlotError::CutOff => "Your report was cut off before its end; make it shorter.",
    }
}
