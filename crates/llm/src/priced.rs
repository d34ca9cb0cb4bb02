//! Adds the cost to replies.

use std::fmt;

use crate::{ChatModel, ModelLimits, OnDelta, Prices, ReplyFuture, Request, Target};

/// A model whose replies contain their cost.
pub struct Priced<M> {
    model: M,
    prices: Prices,
}

impl<M> Priced<M> {
    /// Creates a model that adds costs to the replies of `model`. A reply that already has a cost
    /// keeps it.
    pub fn new(model: M, prices: Prices) -> Self {
        Self { model, prices }
    }
}

impl<M: fmt::Debug> fmt::Debug for Priced<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Priced").field(&self.model).finish()
    }
}

impl<M: ChatModel> ChatModel for Priced<M> {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let mut reply = self.model.chat(request, deltas).await?;
            let usage = &mut reply.usage;
            // If a server does not count tokens, the cost is unknown, not zero.
            if usage.cost.is_none() && usage.input + usage.output > 0 {
                usage.cost = Some(self.prices.of(usage));
            }
            Ok(reply)
        })
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
    use crate::{Dollars, NoDeltas, Reply, Scripted, Usage};

    #[tokio::test]
    async fn a_reply_that_was_counted_has_a_cost() {
        let prices = Prices {
            input: 1.0,
            output: 10.0,
            cached_input: None,
            cache_write: None,
        };
        let used = |input, output, cost: Option<f64>| Usage {
            input,
            output,
            cost: cost.map(Dollars::new),
            ..Usage::default()
        };
        let cases = [
            (used(1000, 100, None), Some(0.002)),
            (used(1000, 100, Some(0.5)), Some(0.5)),
            (used(0, 0, None), None),
        ];
        for (usage, cost) in cases {
            let script = move |_: &_| {
                Ok(Reply {
                    usage,
                    ..Scripted::says("")
                })
            };
            let model = Priced::new(Scripted::new(script), prices);
            let reply = model.chat(&Request::default(), &NoDeltas).await.unwrap();
            assert_eq!(reply.usage.cost, cost.map(Dollars::new));
        }
    }
}
