//! Retries requests that failed.

use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{ChatModel, LlmError, ModelLimits, OnDelta, ReplyFuture, Request, Target};

/// How often, and after which waits, a request is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of tries after the first one.
    pub retries: u32,
    /// Upper bound of the wait before the first retry. The bound doubles with each retry.
    pub first: Duration,
    /// The maximum up to which the bound `first` doubles.
    pub longest: Duration,
    /// The longest wait that a provider may ask for. If the provider asks for a longer wait, the
    /// request fails immediately, so that another target can be asked.
    pub longest_asked: Duration,
    /// No try starts later than this time after the start of the first try.
    pub total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 3,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(20),
            longest_asked: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}

impl RetryPolicy {
    /// Returns how long to wait after `tries` failed tries; `None` means to give up. `share` is a
    /// random number from 0 to 1 that scales the whole wait ("full jitter"), so that callers that
    /// failed at the same time do not retry at the same time.
    fn wait(&self, tries: u32, error: &LlmError, share: f64) -> Option<Duration> {
        if tries > self.retries || !error.kind.is_transient() {
            return None;
        }
        let doubled = self.first.saturating_mul(1 << (tries - 1).min(20));
        match error.retry_after {
            // The wait is at least as long as the provider asks, plus a random part.
            Some(asked) if asked <= self.longest_asked => Some(asked + self.first.mul_f64(share)),
            Some(_) => None,
            None => Some(doubled.min(self.longest).mul_f64(share)),
        }
    }
}

/// A model that is asked again after a transient failure.
pub struct Retrying<M> {
    model: M,
    policy: RetryPolicy,
}

impl<M> Retrying<M> {
    /// Creates a model that retries requests to `model` according to `policy`.
    pub fn new(model: M, policy: RetryPolicy) -> Self {
        Self { model, policy }
    }
}

impl<M: fmt::Debug> fmt::Debug for Retrying<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retrying").field(&self.model).finish()
    }
}

impl<M: ChatModel> ChatModel for Retrying<M> {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let start = Instant::now();
            let mut tries = 0;
            loop {
                let error = match self.model.chat(request, deltas).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                };
                tries += 1;
                let Some(wait) = self.policy.wait(tries, &error, share()) else {
                    return Err(error);
                };
                if start.elapsed() + wait > self.policy.total {
                    return Err(error);
                }
                tracing::debug!(
                    target_model = %error.target, kind = ?error.kind, tries,
                    wait_ms = wait.as_millis(), "a request to a model failed and will be repeated"
                );
                sleep(wait).await;
            }
        })
    }

    fn target(&self) -> Target {
        self.model.target()
    }

    fn limits(&self) -> ModelLimits {
        self.model.limits()
    }
}

/// Returns a random number from 0 to 1.
fn share() -> f64 {
    // Without a random source, waits have their full length, which is longer but still correct.
    getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, NoDeltas, Scripted};

    fn error(kind: ErrorKind, retry_after: Option<u64>) -> LlmError {
        LlmError {
            retry_after: retry_after.map(Duration::from_secs),
            ..LlmError::new(kind, Scripted::name(), "no")
        }
    }

    /// Asks a model that fails `failures` times. Returns the number of tries, whether a reply came,
    /// and the time that passed.
    async fn asked(
        failures: usize,
        error: LlmError,
        policy: RetryPolicy,
    ) -> (usize, bool, Duration) {
        let script = move |seen: &crate::ScriptedRequest| match seen.number < failures {
            true => Err(error.clone()),
            false => Ok(Scripted::says("yes")),
        };
        let model = Retrying::new(Scripted::new(script), policy);
        let start = Instant::now();
        let reply = model.chat(&Request::default(), &NoDeltas).await;
        (model.model.seen().len(), reply.is_ok(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn failures_that_may_pass_are_tried_again() {
        use ErrorKind::{
            Auth, BadReply, BadRequest, Connection, ContextLength, CutOff, Provider, RateLimited,
            Timeout,
        };
        for kind in [BadReply, Connection, CutOff, Provider, RateLimited, Timeout] {
            let (tries, is_ok, took) = asked(2, error(kind, None), RetryPolicy::default()).await;
            assert_eq!((tries, is_ok), (3, true), "{kind:?}");
            assert!(took <= Duration::from_millis(1510), "{took:?}");
            let (tries, is_ok, took) = asked(9, error(kind, None), RetryPolicy::default()).await;
            assert_eq!((tries, is_ok), (4, false), "{kind:?}");
            assert!(took <= Duration::from_millis(3510), "{took:?}");
        }
        for kind in [Auth, BadRequest, ContextLength] {
            let (tries, is_ok, took) = asked(1, error(kind, None), RetryPolicy::default()).await;
            assert_eq!((tries, is_ok, took), (1, false, Duration::ZERO), "{kind:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_is_waited_for_as_long_as_it_asks_but_not_for_ever() {
        let limited = |seconds| error(ErrorKind::RateLimited, Some(seconds));
        let (tries, is_ok, took) = asked(1, limited(7), RetryPolicy::default()).await;
        assert_eq!((tries, is_ok), (2, true));
        assert!(
            took >= Duration::from_secs(7) && took <= Duration::from_millis(7510),
            "{took:?}"
        );
        let (tries, is_ok, took) = asked(1, limited(61), RetryPolicy::default()).await;
        assert_eq!((tries, is_ok, took), (1, false, Duration::ZERO));
        let policy = RetryPolicy {
            retries: 100,
            total: Duration::from_secs(25),
            ..RetryPolicy::default()
        };
        let (tries, is_ok, took) = asked(99, limited(10), policy).await;
        assert_eq!((tries, is_ok), (3, false));
        assert!(took <= Duration::from_secs(25), "{took:?}");
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_drawn() {
        let policy = RetryPolicy {
            retries: u32::MAX,
            ..RetryPolicy::default()
        };
        let failed = error(ErrorKind::Provider, None);
        let wait = |tries, share| policy.wait(tries, &failed, share).unwrap().as_millis();
        let waits: Vec<u128> = (1..=8).map(|tries| wait(tries, 1.0)).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]);
        assert_eq!(wait(3, 0.25), 500);
        assert_eq!(wait(u32::MAX - 1, 1.0), 20_000);
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&share())));
    }
}
