//! Turns a legacy server's questions into results, because modern clients receive no requests.
//!
//! A question ends the client's request with `input_required`, while the server continues its work
//! on the call. The client then sends a new request with the `requestState` and its answers. The
//! answers go to the server, and the server's answer to the old request becomes the answer to the
//! new request.

use std::time::Instant;

use spillgate_mcp::{ObjectView, RequestId, error_code, frame};

use super::{Call, Request, ToLegacy};
use crate::DeclaredCapabilities;
use crate::json::quoted;
use crate::names::{MAY_ASK, QUESTIONS};
use crate::question::missing;
use crate::refusal::{self, RefusalReply};
use crate::steps::Steps;

/// A question from the server.
#[derive(Debug)]
pub(super) struct Question {
    /// The id of the server's request, as JSON; `None` if the question was not sent as a request.
    pub(super) id: Option<String>,
    pub(super) method: String,
    /// The parameters, as JSON.
    pub(super) params: Option<String>,
}

/// A round of questions that was returned to a client.
#[derive(Debug)]
pub(super) struct QuestionRound {
    /// The call that the server is working on; `None` if the request has yet to be sent to the
    /// server.
    pub(super) call: Option<RequestId>,
    pub(super) questions: Vec<Question>,
    method: String,
    name: Option<String>,
    pub(super) until: Instant,
}

impl Question {
    fn lacks(&self, request: &Request) -> Option<serde_json::Value> {
        let params = self.params.as_deref();
        let params = params.and_then(|params| serde_json::from_str(params).ok());
        missing(&request.capabilities, &self.method, params)
    }
}

impl ToLegacy {
    /// Handles a request from the server.
    pub(super) fn on_question(
        &mut self,
        question: Question,
        of: Option<&RequestId>,
        now: Instant,
        steps: &mut Steps,
    ) {
        if question.method == "ping" {
            let pong = frame::response(question.id.as_deref().unwrap_or("null"), "{}");
            return steps.tell_server(pong, None, &self.headers());
        }
        if !QUESTIONS.contains(&question.method.as_str()) {
            return self.decline(
                &question,
                "cannot be asked of an MCP client through spillgate",
                steps,
            );
        }
        let is_shared = self.config.declare == DeclaredCapabilities::Everything;
        match self.carrier(of) {
            Ok(Some(number)) => self.carry(&number, question, now, steps),
            // Waiting for a later call would not help, because that call would also not show which
            // client the question is for.
            Ok(None) if is_shared => {
                self.decline(&question, "belongs to no call of a client", steps);
            }
            Ok(None) if self.orphans.len() < self.config.limits.questions => {
                let until = now + self.config.limits.patience;
                self.orphans.push((question, until));
            }
            Ok(None) => self.decline(
                &question,
                "is one question too many while no call is made",
                steps,
            ),
            Err(why) => self.decline(&question, why, steps),
        }
    }

    /// Returns the call that a question belongs to.
    ///
    /// If calls have their own streams and several clients share the session, the question must
    /// arrive on the stream of its call. Otherwise, a question without a call belongs to the newest
    /// call that may ask questions, if all calls are from one client.
    fn carrier(&self, of: Option<&RequestId>) -> Result<Option<RequestId>, &'static str> {
        let may_ask = |call: &Call| MAY_ASK.contains(&call.request.method.as_str());
        if let Some((number, _)) = of
            .and_then(|of| self.calls.get_key_value(of))
            .filter(|(_, call)| may_ask(call))
        {
            return Ok(Some(number.clone()));
        }
        if self.config.streams && self.config.declare == DeclaredCapabilities::Everything {
            return Ok(None);
        }
        let all: Vec<(&RequestId, &Call)> = self
            .calls
            .iter()
            .filter(|(_, call)| may_ask(call))
            .collect();
        let first = all.first().map(|(_, call)| call.request.from);
        if all.iter().any(|(_, call)| Some(call.request.from) != first) {
            return Err(
                "cannot be asked now: calls of several clients are under way, and nothing says whose it is",
            );
        }
        let newest = all.iter().max_by_key(|(number, call)| {
            (
                !call.asking,
                number.as_json().parse::<u64>().unwrap_or_default(),
            )
        });
        Ok(newest.map(|(number, _)| (*number).clone()))
    }

    /// Puts a question to the client of a call, immediately or in the next round of the call.
    fn carry(&mut self, number: &RequestId, question: Question, now: Instant, steps: &mut Steps) {
        let limits = self.config.limits;
        let Some(call) = self.calls.get_mut(number) else {
            return;
        };
        if question.lacks(&call.request).is_some() {
            return self.decline(
                &question,
                "is not among the capabilities that the client declares",
                steps,
            );
        }
        if call.waiting.len() >= limits.questions || call.rounds >= limits.rounds {
            return self.decline(&question, "is one question too many for this call", steps);
        }
        call.waiting.push(question);
        if !call.asking {
            self.next_round(number, now, steps);
        }
    }

    /// Answers the client's request with the questions that wait in its call, and so begins the
    /// next round.
    fn next_round(&mut self, number: &RequestId, now: Instant, steps: &mut Steps) {
        let Some(mut call) = self.calls.remove(number) else {
            return;
        };
        let questions = std::mem::take(&mut call.waiting);
        call.rounds += 1;
        call.asking = self.ask(&call.request, Some(number.clone()), questions, now, steps);
        if call.asking {
            self.calls.insert(number.clone(), call);
        }
    }

    /// Answers a request with questions. Returns `false` if this is not possible. The request is
    /// then answered with an error, and the server's call is cancelled.
    pub(super) fn ask(
        &mut self,
        request: &Request,
        call: Option<RequestId>,
        questions: Vec<Question>,
        now: Instant,
        steps: &mut Steps,
    ) -> bool {
        let lack = questions
            .iter()
            .find_map(|question| question.lacks(request));
        let is_full = self.asks.len() >= self.config.limits.states;
        if lack.is_some() || is_full {
            let why = match lack {
                Some(lack) => no_capability(&self.config.server, &lack),
                None => refusal::too_many("calls that wait for input", self.config.limits.states),
            };
            request.refuse(&why, steps);
            for question in &questions {
                self.decline(question, "cannot be put to the client now", steps);
            }
            if let Some(number) = call {
                self.cancel(&number, "the client cannot be asked", steps);
            }
            return false;
        }
        let state = self.config.tokens.next();
        let listed: Vec<String> = questions
            .iter()
            .enumerate()
            .map(|(at, question)| {
                let params = question
                    .params
                    .as_ref()
                    .map(|all| format!(r#","params":{all}"#))
                    .unwrap_or_default();
                format!(r#""{}":{{"method":"{}"{params}}}"#, at + 1, question.method)
            })
            .collect();
        let result = format!(
            r#"{{"resultType":"input_required","inputRequests":{{{}}},"requestState":{}}}"#,
            listed.join(","),
            quoted(&state),
        );
        steps.client(
            request.from,
            Some(request.key.clone()),
            frame::response(&request.id, &result),
        );
        let ask = QuestionRound {
            call,
            questions,
            method: request.method.clone(),
            name: request.name.clone(),
            until: now + self.config.limits.patience,
        };
        self.asks.insert(state, ask);
        true
    }

    /// Asks the client of this request the questions that arrived while no call could deliver them.
    /// The request is sent to the server after these questions are answered. Returns the request if
    /// there are no questions for its client.
    pub(super) fn adopt(
        &mut self,
        request: Request,
        now: Instant,
        steps: &mut Steps,
    ) -> Option<Request> {
        if self.orphans.is_empty() || !MAY_ASK.contains(&request.method.as_str()) {
            return Some(request);
        }
        let (adopted, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.orphans)
            .into_iter()
            .partition(|(question, _)| question.lacks(&request).is_none());
        self.orphans = rest;
        if adopted.is_empty() {
            return Some(request);
        }
        let questions = adopted.into_iter().map(|(question, _)| question).collect();
        self.ask(&request, None, questions, now, steps);
        None
    }

    /// Handles a request in which a client returns with answers.
    pub(super) fn resume(
        &mut self,
        request: Request,
        state: &str,
        now: Instant,
        steps: &mut Steps,
    ) {
        let fits = |ask: &QuestionRound| ask.method == request.method && ask.name == request.name;
        if !self.asks.get(state).is_some_and(fits) {
            return request.refuse(&unknown_state(), steps);
        }
        let Some(ask) = self.asks.remove(state) else {
            return;
        };
        let open = self.pass_answers(ask.questions, &request, steps);
        let Some(number) = ask.call else {
            if open.is_empty() {
                return self.forward(request, now, steps);
            }
            self.ask(&request, None, open, now, steps);
            return;
        };
        let Some(mut call) = self.calls.remove(&number) else {
            return request.refuse(&unknown_state(), steps);
        };
        call.asking = false;
        call.request = request;
        call.waiting.splice(0..0, open);
        if let Some(frame) = call.finished.take() {
            self.held = self.held.saturating_sub(frame.len());
            return self.deliver(&call.request, &frame, now, steps);
        }
        let asks_again = !call.waiting.is_empty();
        self.calls.insert(number.clone(), call);
        if asks_again {
            self.next_round(&number, now, steps);
        }
    }

    /// Passes the client's answers on to the server. Returns the questions that the client did not
    /// answer.
    fn pass_answers(
        &self,
        questions: Vec<Question>,
        request: &Request,
        steps: &mut Steps,
    ) -> Vec<Question> {
        let all = spillgate_mcp::messages(&request.frame);
        let params = all.first().and_then(|envelope| envelope.params);
        let params = params.and_then(ObjectView::of).unwrap_or_default();
        let answers = params.object("inputResponses").unwrap_or_default();
        let mut open = Vec::new();
        for (at, question) in questions.into_iter().enumerate() {
            let Some(given) = answers
                .get(&(at + 1).to_string())
                .filter(|one| ObjectView::of(one).is_some())
            else {
                open.push(question);
                continue;
            };
            if let Some(id) = &question.id {
                steps.tell_server(frame::response(id, given.get()), None, &self.headers());
            }
        }
        open
    }

    /// Called when the server cancels a question.
    pub(super) fn take_back(&mut self, id: &str) {
        let is_it = |question: &Question| question.id.as_deref() == Some(id);
        self.orphans.retain(|(question, _)| !is_it(question));
        for call in self.calls.values_mut() {
            call.waiting.retain(|question| !is_it(question));
        }
        // Questions that the client has received stay in the list, because a question's position in
        // the list is its name.
        for question in self.asks.values_mut().flat_map(|ask| &mut ask.questions) {
            if is_it(question) {
                question.id = None;
            }
        }
    }
}

fn no_capability(server: &str, lack: &serde_json::Value) -> RefusalReply {
    let message =
        format!("the server `{server}` asks for something that the client does not declare");
    RefusalReply::new(
        error_code::MISSING_CAPABILITY,
        "client",
        message,
        "declare the capability, or call without what needs it",
    )
    .with("requiredCapabilities", lack.clone())
}

fn unknown_state() -> RefusalReply {
    RefusalReply::new(
        error_code::INVALID_PARAMS,
        "client",
        "this `requestState` is unknown, used, expired or of another request",
        "make the request anew, without `requestState` and `inputResponses`",
    )
}
