//! Limits the requests, tokens and cost of a whole run. All agents and extractions of the run share
//! one allowance.
//!
//! A limit on turns bounds only one agent. If every agent calls sub-agents, the turns multiply: in
//! a test, three levels of agents made 4,036 requests in a minute. When the allowance is used up,
//! sub-agents end, extractions fall back to a strategy without a model, and the first agent gets
//! one last turn for its report.

use std::sync::Arc;

use futures_util::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use spillgate_llm::{
    ChatModel, Dollars, ErrorKind, LlmError, ModelLimits, OnDelta, ReplyFuture, Request, Target,
    Usage,
};

/// The limits of a whole run. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunLimits {
    /// Requests to models, not counting retries.
    pub requests: Option<u64>,
    /// Tokens of all requests and replies, as providers count them.
    pub tokens: Option<u64>,
    /// Cost of all requests. A request without a known price counts as nothing.
    pub cost: Option<Dollars>,
}

/// The limits of a run, and how much of them the run has used.
#[derive(Debug)]
pub struct Allowance {
    limits: RunLimits,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    requests: u64,
    usage: Usage,
}

impl Allowance {
    /// Returns the allowance of a run that has used nothing.
    #[must_use]
    pub fn new(limits: RunLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            used: Mutex::default(),
        })
    }

    /// Returns why the allowance is used up, or `None` if requests may still be made. Once it is
    /// used up, only the first agent may make one last request, for its report.
    #[must_use]
    pub fn used_up(&self) -> Option<String> {
        self.why(&self.used())
    }

    /// Takes one request from the allowance, or returns why none is left. `is_last` marks the
    /// request that is reserved for the first agent's report.
    pub(crate) fn take(&self, is_last: bool) -> Result<(), String> {
        let mut used = self.used();
        if let Some(why) = self.why(&used).filter(|_| !is_last) {
            return Err(why);
        }
        used.requests += 1;
        Ok(())
    }

    /// Adds the tokens and the cost of a reply to what the run has used.
    pub(crate) fn add(&self, usage: Usage) {
        self.used().usage += usage;
    }

    fn why(&self, used: &Used) -> Option<String> {
        let Used { requests, usage } = used;
        let RunLimits {
            requests: most,
            tokens,
            cost,
        } = self.limits;
        if let Some(most) = most.filter(|most| requests.saturating_add(1) >= *most) {
            return Some(format!(
                "the run's limit of {most} model requests was reached"
            ));
        }
        let sum = usage.input.saturating_add(usage.output);
        if let Some(most) = tokens.filter(|most| sum >= *most) {
            return Some(format!("the run's limit of {most} tokens was reached"));
        }
        let spent = usage.cost.unwrap_or_default();
        let most = cost.filter(|most| spent >= *most)?;
        Some(format!("the run's limit of ${} was reached", most.get()))
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock()
    }
}

/// An agent's access to the allowance of its run.
#[derive(Debug, Clone)]
pub struct Share {
    /// The shared allowance.
    pub allowance: Arc<Allowance>,
    /// Whether this is the first agent of the run. The last request is reserved for it.
    pub is_first: bool,
}

/// A model whose requests count against the allowance of a run. Extractions use it.
#[derive(Debug)]
pub struct Metered {
    /// The model that answers.
    pub model: Arc<dyn ChatModel>,
    /// The allowance that its requests are taken from.
    pub allowance: Arc<Allowance>,
}

impl ChatModel for Metered {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        async move {
            self.allowance
                .take(false)
                .map_err(|why| LlmError::new(ErrorKind::Spent, self.model.target(), why))?;
            let reply = self.model.chat(request, deltas).await?;
            self.allowance.add(reply.usage);
            Ok(reply)
        }
        .boxed()
    }

    fn target(&self) -> Target {
        self.model.target()
    }

    fn limits(&self) -> ModelLimits {
        self.model.limits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cost: f64) -> Usage {
        Usage {
            input,
            output,
            cost: Some(Dollars::new(cost)),
            ..Usage::default()
        }
    }

    #[test]
    fn each_limit_is_told_by_name_and_keeps_one_request_for_the_report() {
        let none = RunLimits::default();
        for (limits, want) in [
            (
                RunLimits {
                    requests: Some(4),
                    ..none
                },
                "the run's limit of 4 model requests was reached",
            ),
            (
                RunLimits {
                    tokens: Some(31),
                    ..none
                },
                "the run's limit of 31 tokens was reached",
            ),
            (
                RunLimits {
                    cost: Some(Dollars::new(0.05)),
                    ..none
                },
                "the run's limit of $0.05 was reached",
            ),
        ] {
            let allowance = Allowance::new(limits);
            for _ in 0..3 {
                assert_eq!(allowance.take(false), Ok(()), "{want}");
                allowance.add(usage(8, 4, 0.02));
            }
            assert_eq!(allowance.take(false), Err(want.to_owned()));
            assert_eq!(allowance.used_up().as_deref(), Some(want));
            assert_eq!(allowance.take(true), Ok(()), "{want}");
        }
        let allowance = Allowance::new(none);
        assert!((0..1000).all(|_| allowance.take(false).is_ok()));
        let one = RunLimits {
            requests: Some(1),
            ..none
        };
        assert!(Allowance::new(one).take(false).is_err());
    }
}
