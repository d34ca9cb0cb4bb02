//! Turns a modern server's `input_required` into requests to a legacy client.
//!
//! Each question becomes a request to the client. When all questions are answered, the call is sent
//! again with the answers and the unchanged `requestState`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::value::RawValue;
use spillgate_mcp::{ByteEdits, Envelope, ObjectView, RequestId, error_code, frame};

use super::{Call, ToModern};
use crate::json::{complaint, put_first, quoted};
use crate::names::QUESTIONS;
use crate::question::missing;
use crate::refusal::RefusalReply;
use crate::steps::Steps;

/// How long to wait before a call is sent again after an `input_required` without questions. The
/// delay starts at the first value and doubles each round up to the second value, as in the Python
/// SDK.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// The input that a call waits for.
#[derive(Debug)]
pub(super) struct Round {
    /// The server's `requestState`, as JSON, which is returned unchanged.
    state: Option<String>,
    /// The questions by name, each with its answer as JSON if it has been answered.
    answers: BTreeMap<String, Option<String>>,
    /// When to send the call again, if there are no questions.
    pub(super) again: Option<Instant>,
}

impl ToModern {
    /// Handles a result in which the server requests input for a call.
    pub(super) fn next_round(
        &mut self,
        number: &RequestId,
        mut call: Call,
        result: &ObjectView<'_>,
        now: Instant,
        steps: &mut Steps,
    ) {
        call.rounds += 1;
        let questions = result.object("inputRequests").unwrap_or_default();
        let state = result
            .get("requestState")
            .map(|state| state.get().to_owned());
        if let Err(why) = self.may_ask(&call, &questions) {
            return steps.refuse(self.at, Some(call.key), &call.id, &why);
        }
        let mut answers = BTreeMap::new();
        for (name, question) in questions.iter() {
            // A name that occurs twice counts as one question.
            if answers.insert(name.to_string(), None).is_none() {
                self.ask(number, &call.key, &name, question, steps);
            }
        }
        let again = answers.is_empty().then(|| {
            let doubled =
                FIRST_PAUSE * 2_u32.pow(u32::try_from(call.rounds.min(8)).unwrap_or(8) - 1);
            now + doubled.min(LONGEST_PAUSE)
        });
        call.round = Some(Round {
            state,
            answers,
            again,
        });
        self.calls.insert(number.clone(), call);
    }

    /// Checks whether all questions may be put to the client.
    fn may_ask(&self, call: &Call, questions: &ObjectView<'_>) -> Result<(), RefusalReply> {
        let limits = &self.config.limits;
        if call.rounds > limits.rounds || questions.iter().count() > limits.questions {
            let message = format!(
                "the server `{}` asked for more than {} inputs or in more than {} rounds",
                self.config.server, limits.questions, limits.rounds
            );
            return Err(RefusalReply::new(
                error_code::SERVER_ERROR,
                "upstream",
                message,
                "call again, or tell those who run the server",
            ));
        }
        let declared = self.client.capabilities.as_deref().unwrap_or("{}");
        for (_, question) in questions.iter() {
            let question = ObjectView::of(question).unwrap_or_default();
            let method = question.text("method").unwrap_or_default();
            if !QUESTIONS.contains(&method.as_str()) {
                let message = format!(
                    "the server `{}` asks for {method:?}, which no client knows",
                    self.config.server
                );
                return Err(RefusalReply::new(
                    error_code::SERVER_ERROR,
                    "upstream",
                    message,
                    "tell those who run the server",
                ));
            }
            if let Some(lack) = missing(declared, &method, question.get("params")) {
                let message = format!(
                    "the server `{}` wants `{method}` of the client for this, which the client does not declare",
                    self.config.server
                );
                let why = RefusalReply::new(
                    error_code::MISSING_CAPABILITY,
                    "client",
                    message,
                    "use a client that can do this, or call without what needs it",
                );
                return Err(why.with("requiredCapabilities", lack));
            }
        }
        Ok(())
    }

    /// Puts one question to the client, on the stream of its call.
    fn ask(
        &mut self,
        number: &RequestId,
        of: &RequestId,
        name: &str,
        question: &RawValue,
        steps: &mut Steps,
    ) {
        let members = ObjectView::of(question).unwrap_or_default();
        let method = members.text("method").unwrap_or_default();
        let id = self.numbers.next();
        let params = members
            .get("params")
            .filter(|params| ObjectView::of(params).is_some());
        let params = params.map(|params| with_elicitation_id(&method, params, &id));
        let frame = frame::request(id.as_json(), &method, params.as_deref());
        steps.client(self.at, Some(of.clone()), frame);
        self.asked.insert(id, (number.clone(), name.to_owned()));
    }

    /// Handles the client's answer to a question.
    pub(super) fn replied(&mut self, envelope: &Envelope<'_>, frame: &Bytes, steps: &mut Steps) {
        let Some((number, name)) = envelope.key().and_then(|key| self.asked.remove(&key)) else {
            return;
        };
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        let answer = envelope
            .result
            .filter(|result| ObjectView::of(result).is_some());
        let Some(answer) = answer else {
            if let Some(call) = self.calls.remove(&number) {
                self.take_back(&number, "another question was refused", steps);
                let why = refused(frame);
                steps.refuse(self.at, Some(call.key), &call.id, &why);
            }
            return;
        };
        if let Some(round) = &mut call.round {
            round.answers.insert(name, Some(answer.get().to_owned()));
            if round.answers.values().all(Option::is_some) {
                self.again(&number, steps);
            }
        }
    }

    /// Sends a call again, with the answers of its round.
    fn again(&mut self, number: &RequestId, steps: &mut Steps) {
        let Some(mut call) = self.calls.remove(number) else {
            return;
        };
        let Some(round) = call.round.take() else {
            return;
        };
        let mut more = Vec::new();
        if !round.answers.is_empty() {
            let answers = round.answers.iter();
            let answers: Vec<String> = answers
                .filter_map(|(name, answer)| Some(format!("{}:{}", quoted(name), answer.as_ref()?)))
                .collect();
            more.push(format!(r#""inputResponses":{{{}}}"#, answers.join(",")));
        }
        if let Some(state) = &round.state {
            more.push(format!(r#""requestState":{state}"#));
        }
        let (id, key) = (call.id.clone(), call.key.clone());
        if let Err(why) = self.send(call, &more.join(","), steps) {
            steps.refuse(self.at, Some(key), &id, &why);
        }
    }

    /// Sends again all calls that are due.
    pub(super) fn call_again(&mut self, now: Instant, steps: &mut Steps) {
        let due = |call: &Call| {
            call.round
                .as_ref()
                .and_then(|round| round.again)
                .is_some_and(|at| at <= now)
        };
        let due: Vec<RequestId> = self
            .calls
            .iter()
            .filter(|(_, call)| due(call))
            .map(|(key, _)| key.clone())
            .collect();
        for number in due {
            self.again(&number, steps);
        }
    }
}

/// Adds an id to a question that asks the user to visit a page. In 2025-11-25 clients require this
/// id.
fn with_elicitation_id(method: &str, params: &RawValue, id: &RequestId) -> String {
    let members = ObjectView::of(params).unwrap_or_default();
    let is_page = method == "elicitation/create" && members.text("mode").as_deref() == Some("url");
    if !is_page || members.get("elicitationId").is_some() {
        return params.get().to_owned();
    }
    let mut splice = ByteEdits::default();
    put_first(
        &mut splice,
        params.get().as_bytes(),
        params,
        &format!(r#""elicitationId":"{}""#, id.as_json()),
    );
    String::from_utf8(splice.apply(params.get().as_bytes())).unwrap_or_default()
}

/// Returns the refusal of a call for which the client refused a question.
fn refused(frame: &Bytes) -> RefusalReply {
    let said = complaint(frame);
    let message = format!("the client refused what the server asked of it for this call: {said}");
    RefusalReply::new(
        error_code::SERVER_ERROR,
        "client",
        message,
        "answer the server's request, or call without what needs it",
    )
}
