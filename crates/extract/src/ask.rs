//! Asks a model one question and reads the answer from its slot: the pair of tags in which the
//! prompt asks for the answer.

use spillgate_artifact::LineRange;
use spillgate_conversation::{Slot, SlotError};
use spillgate_llm::{ErrorKind, LlmError, Message, NoDeltas, Request, Stop};

use crate::case::Asking;

/// How often the same question is asked before a reply without the tags of the slot counts as a
/// failure.
const ATTEMPTS: u32 = 2;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum AskError {
    /// The prompt is longer than the model's context.
    #[error("{0}")]
    TooLong(LlmError),
    /// The model could not be asked.
    #[error("{0}")]
    Model(LlmError),
    /// The model refused.
    #[error("the model refused")]
    Refused,
    /// The model replied, but without an answer in the slot.
    #[error("{0}")]
    NoAnswer(#[from] SlotError),
}

impl AskError {
    /// Returns the failure without the id of the request, so that the same failure of many chunks
    /// is reported only once.
    pub(crate) fn alike(&self) -> Self {
        let bare =
            |error: &LlmError| LlmError::new(error.kind, error.target.clone(), &error.message);
        match self {
            Self::TooLong(error) => Self::TooLong(bare(error)),
            Self::Model(error) => Self::Model(bare(error)),
            Self::Refused | Self::NoAnswer(_) => self.clone(),
        }
    }
}

/// A function that makes the prompt for a slot: the system prompt and the user message.
pub(crate) type Prompt<'a> = &'a (dyn Fn(&Slot) -> (String, String) + Send + Sync);

impl Asking {
    /// Asks the model about these lines, if it is about some, with the prompt that `prompt` makes for a new slot whose nonce does not occur
    /// in `data`. If a reply has no answer in its slot, asks again with a fresh nonce.
    pub(crate) async fn ask(
        &self,
        name: &str,
        lines: Option<LineRange>,
        data: &str,
        prompt: Prompt<'_>,
    ) -> Result<String, AskError> {
        let mut last = SlotError::Missing;
        for _ in 0..ATTEMPTS {
            let slot = self.case.slot(data);
            let (system, user) = prompt(&slot);
            let request = Request {
                system,
                messages: vec![Message::User(user)],
                tools: Vec::new(),
                no_calls: false,
                max_output_tokens: self.answer_tokens(),
            };
            let span = self.case.scope.asks(name, &request);
            span.scope().note(|op| op.lines = lines);
            let reply = self.model.chat(&request, &NoDeltas).await;
            let answer = reply.as_ref().map_err(LlmError::clone).map(|reply| {
                let refused = reply.stop == Stop::Refused;
                (!refused).then(|| slot.answer(&reply.text, &reply.stop))
            });
            let wrong = answer.as_ref().ok().and_then(|answer| match answer {
                Some(Err(error)) => Some(error.to_string()),
                None => Some(AskError::Refused.to_string()),
                Some(Ok(_)) => None,
            });
            span.replied(&reply, wrong);
            match answer {
                Err(error) if error.kind == ErrorKind::ContextLength => {
                    return Err(AskError::TooLong(error));
                }
                Err(error) => return Err(AskError::Model(error)),
                Ok(None) => return Err(AskError::Refused),
                Ok(Some(Ok(answer))) => return Ok(self.case.bounded(answer)),
                Ok(Some(Err(error))) => last = error,
            }
        }
        Err(last.into())
    }
}
