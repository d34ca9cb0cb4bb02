//! Asks another model when a model cannot answer.

use std::sync::Arc;

use spillgate_untrusted::line;

use crate::{ChatModel, ErrorKind, LlmError, ModelLimits, OnDelta, ReplyFuture, Request, Target};

/// Maximum length, in characters, of each target's failure within the final error.
const MOST_CHARS_EACH: usize = 150;
/// Maximum length of the final error, in characters.
const MOST_CHARS: usize = 500;

/// Models that are asked in order until one answers.
///
/// After a failure, the next model is asked. This also applies if a key is rejected or a model is
/// unknown, because the next target has another key or model. The only exception is a request that
/// is longer than the model's context. Requests are made to fit every target (see `limits`), so the
/// caller has measured wrongly, and only the caller can shorten the request. Asking a larger target
/// would hide the mistake, at a higher price.
#[derive(Debug)]
pub struct Fallback {
    first: Arc<dyn ChatModel>,
    rest: Vec<Arc<dyn ChatModel>>,
}

impl Fallback {
    /// Creates a model that asks `first` and, if it fails, `rest` in order.
    #[must_use]
    pub fn new(first: Arc<dyn ChatModel>, rest: Vec<Arc<dyn ChatModel>>) -> Self {
        Self { first, rest }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn ChatModel>> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

impl ChatModel for Fallback {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let mut errors: Vec<LlmError> = Vec::new();
            for model in self.all() {
                let error = match model.chat(request, deltas).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                };
                let is_last = error.kind == ErrorKind::ContextLength;
                tracing::warn!(
                    target_model = %error.target, kind = ?error.kind, error = %error.message,
                    is_last, "a model failed; the next one in the list is asked, unless `is_last`"
                );
                errors.push(error);
                if is_last {
                    break;
                }
            }
            let last = errors.pop().expect("invariant: there is a first model");
            Err(after(last, &errors))
        })
    }

    fn target(&self) -> Target {
        self.first.target()
    }

    fn limits(&self) -> ModelLimits {
        let limits = self.all().map(ChatModel::limits);
        limits
            .reduce(|one, other| ModelLimits {
                window: one.window.min(other.window),
                max_output: one.max_output.min(other.max_output),
            })
            .expect("invariant: there is a first model")
    }
}

/// Returns the last error, extended by the failures of the targets that were tried before.
fn after(last: LlmError, earlier: &[LlmError]) -> LlmError {
    if earlier.is_empty() {
        return last;
    }
    let tried: Vec<String> = earlier
        .iter()
        .map(|error| {
            let message = line(&error.message, MOST_CHARS_EACH);
            format!("{}: {message}", error.target)
        })
        .collect();
    // The last failure comes first, because the end of the message may be cut off.
    let message = format!(
        "{}; tried before: {}",
        line(&last.message, MOST_CHARS_EACH),
        tried.join("; ")
    );
    LlmError {
        message: line(&message, MOST_CHARS),
        ..last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoDeltas, Scripted};

    /// Returns models that fail with `failures`, followed by a model that answers if `answers` is
    /// set.
    fn models(failures: &[ErrorKind], answers: bool) -> Fallback {
        let mut models: Vec<Arc<dyn ChatModel>> = Vec::new();
        for (i, &kind) in failures.iter().enumerate() {
            let name = Target::new("p", format!("m{i}"));
            let script = move |_: &_| Err(LlmError::new(kind, name.clone(), format!("{kind:?}")));
            models.push(Arc::new(
                Scripted::new(script).with_limits(9000 - i as u64, 100 + i as u64),
            ));
        }
        if answers {
            models.push(Arc::new(Scripted::new(|_| Ok(Scripted::says("yes")))));
        }
        let first = models.remove(0);
        Fallback::new(first, models)
    }

    #[tokio::test]
    async fn the_next_target_answers_for_one_that_fails() {
        use ErrorKind::{Auth, BadRequest, ContextLength, Provider, RateLimited};
        let cases = [
            (vec![], true, Ok("yes")),
            (vec![Auth, BadRequest, RateLimited], true, Ok("yes")),
            (vec![Provider], false, Err("p/m0: Provider")),
            (
                vec![Auth, Provider],
                false,
                Err("p/m1: Provider; tried before: p/m0: Auth"),
            ),
            (
                vec![Auth, RateLimited, ContextLength, Auth],
                true,
                Err("p/m2: ContextLength; tried before: p/m0: Auth; p/m1: RateLimited"),
            ),
        ];
        for (failures, answers, expected) in cases {
            let model = models(&failures, answers);
            let reply = model.chat(&Request::default(), &NoDeltas).await;
            let got = reply
                .map(|reply| reply.text)
                .map_err(|error| error.to_string());
            assert_eq!(
                got,
                expected.map(str::to_owned).map_err(str::to_owned),
                "{failures:?}"
            );
        }
    }

    #[test]
    fn a_request_must_fit_every_target() {
        let limits = models(&[ErrorKind::Auth; 3], true).limits();
        assert_eq!((limits.window, limits.max_output), (8998, 100));
    }

    #[test]
    fn an_error_of_many_targets_is_bounded() {
        let long = |i| {
            LlmError::new(
                ErrorKind::Provider,
                Target::new("p", format!("m{i}")),
                "x".repeat(500),
            )
        };
        let error = after(long(9), &[long(0), long(1), long(2), long(3)]);
        assert_eq!(error.message.chars().count(), MOST_CHARS);
    }
}
