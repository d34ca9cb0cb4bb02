//! Answers a legacy server's question when no client answers it.

use std::time::Instant;

use super::ToLegacy;
use super::question_round::{Question, QuestionRound};
use crate::refusal::RefusalReply;
use crate::steps::Steps;
use spillgate_mcp::{error_code, frame};

impl ToLegacy {
    /// Informs the server that its question will not be answered, and gives the reason `why`.
    pub(super) fn decline(&self, question: &Question, why: &str, steps: &mut Steps) {
        let Some(id) = &question.id else { return };
        let message = format!("`{}` {why}", question.method);
        let why = RefusalReply::new(
            error_code::METHOD_NOT_FOUND,
            "client",
            message,
            "go on without it, or end the call with an error",
        );
        steps.tell_server(why.frame(id), None, &self.headers());
    }

    /// Declines the questions whose clients did not return in time.
    pub(super) fn give_up_late(&mut self, now: Instant, steps: &mut Steps) {
        let (late, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.orphans)
            .into_iter()
            .partition(|(_, until)| *until <= now);
        self.orphans = rest;
        for (question, _) in &late {
            self.decline(question, "was not answered in time", steps);
        }
        while let Some(state) = self
            .asks
            .iter()
            .find(|(_, ask)| ask.until <= now)
            .map(|(state, _)| state.clone())
        {
            if let Some(ask) = self.asks.remove(&state) {
                self.give_up(&ask, steps);
            }
        }
    }

    fn give_up(&mut self, ask: &QuestionRound, steps: &mut Steps) {
        let call = ask
            .call
            .as_ref()
            .and_then(|number| self.calls.remove(number));
        let left = call
            .as_ref()
            .map(|call| call.waiting.as_slice())
            .unwrap_or_default();
        for question in ask.questions.iter().chain(left) {
            match &question.id {
                Some(id) if question.method == "elicitation/create" => {
                    steps.tell_server(
                        frame::response(id, r#"{"action":"cancel"}"#),
                        None,
                        &self.headers(),
                    );
                }
                _ => self.decline(question, "was not answered in time", steps),
            }
        }
        match call.and_then(|call| call.finished) {
            Some(frame) => self.held = self.held.saturating_sub(frame.len()),
            None => {
                if let Some(number) = &ask.call {
                    self.cancel(number, "the client did not come back with its input", steps);
                }
            }
        }
    }
}
