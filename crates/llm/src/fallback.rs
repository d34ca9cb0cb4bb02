//! Asks another model when one cannot answer.

use std::sync::Arc;

use spillgate_untrusted::line;

use crate::{ChatModel, ErrorKind, LlmError, ModelLimits, OnDelta, ReplyFuture, Request, Target};

/// Characters of each earlier target's failure in the last error.
const MOST_CHARS_EACH: usize = 150;
/// Characters of the last error.
const MOST_CHARS: usize = 500;

/// Models that are asked in order until one answers.
///
/// Any failure goes to the next one: a key that is refused here, or a model that
/// is not known here, says nothing of the next target. But for one: a request that
/// is longer than a context. Requests are made to fit every target (see
/// `limits`), so the caller's measure was wrong, and only the caller can make the
/// request smaller; a larger target would hide that at a larger price.
#[derive(Debug)]
pub struct Fallback {
    first: Arc<dyn ChatModel>,
    rest: Vec<Arc<dyn ChatModel>>,
}

impl Fallback {
    /// `first`, and those to ask when it fails, in order.
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
                    "a target gave no reply"
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

/// The last error, which names all that were tried before it.
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
    // The last failure first: what comes last may be cut.
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

    /// Models that fail as told, then one that answers if `answers`.
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
