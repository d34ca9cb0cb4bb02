//! Limits the rate and the number of requests to a provider.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use crate::{ChatModel, ModelLimits, OnDelta, ReplyFuture, Request, Target};

const MINUTE: Duration = Duration::from_secs(60);

/// Limits the requests to a provider. All models of the provider share one gate.
#[derive(Debug)]
pub struct Gate {
    at_once: Option<Semaphore>,
    per_minute: Option<usize>,
    /// When the last `per_minute` requests started, or will start.
    starts: Mutex<VecDeque<Instant>>,
}

impl Gate {
    /// Creates a gate that allows `per_minute` requests to start in any minute, and `at_once`
    /// requests to run at the same time. 0 counts as 1; `None` means no limit.
    #[must_use]
    pub fn new(per_minute: Option<u64>, at_once: Option<u64>) -> Self {
        let number = |limit: u64| usize::try_from(limit.max(1)).unwrap_or(usize::MAX);
        Self {
            at_once: at_once.map(|limit| Semaphore::new(number(limit).min(Semaphore::MAX_PERMITS))),
            per_minute: per_minute.map(number),
            starts: Mutex::default(),
        }
    }

    /// Reserves the start of the next request, and returns its time. Later requests start after it.
    /// If the request is cancelled before it starts, the reserved start remains unused.
    fn start(&self) -> Instant {
        let now = Instant::now();
        let Some(limit) = self.per_minute else {
            return now;
        };
        let mut starts = self.starts.lock();
        let start = match starts.len() < limit {
            true => now,
            false => starts
                .pop_front()
                .map_or(now, |first| now.max(first + MINUTE)),
        };
        starts.push_back(start);
        start
    }
}

/// A model whose requests pass a gate.
pub struct Paced<M> {
    model: M,
    gate: Arc<Gate>,
}

impl<M> Paced<M> {
    /// Creates a model whose requests to `model` pass `gate`.
    pub fn new(model: M, gate: Arc<Gate>) -> Self {
        Self { model, gate }
    }
}

impl<M: fmt::Debug> fmt::Debug for Paced<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Paced").field(&self.model).finish()
    }
}

impl<M: ChatModel> ChatModel for Paced<M> {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let _place = match &self.gate.at_once {
                Some(places) => Some(places.acquire().await.expect("invariant: never closed")),
                None => None,
            };
            sleep_until(self.gate.start()).await;
            self.model.chat(request, deltas).await
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
    use futures_util::future::join_all;

    use super::*;
    use crate::{NoDeltas, Scripted};

    /// Returns when each of `number` requests had its reply, in seconds.
    async fn done(gate: Gate, number: usize) -> Vec<u64> {
        let gate = Arc::new(gate);
        let models: Vec<_> = (0..number)
            .map(|_| {
                let model = Scripted::new(|_| Ok(Scripted::says("yes")));
                Paced::new(model.with_latency(Duration::from_secs(10)), gate.clone())
            })
            .collect();
        let start = Instant::now();
        let request = Request::default();
        join_all(models.iter().map(|model| async {
            model.chat(&request, &NoDeltas).await.unwrap();
            start.elapsed().as_secs()
        }))
        .await
    }

    #[tokio::test(start_paused = true)]
    async fn requests_wait_for_their_time_and_place() {
        let cases = [
            (Gate::new(None, None), vec![10, 10, 10, 10, 10]),
            (Gate::new(Some(2), None), vec![10, 10, 70, 70, 130]),
            (Gate::new(None, Some(2)), vec![10, 10, 20, 20, 30]),
            (Gate::new(Some(3), Some(1)), vec![10, 20, 30, 70, 80]),
            (Gate::new(Some(0), Some(0)), vec![10, 70, 130, 190, 250]),
        ];
        for (gate, expected) in cases {
            let shown = format!("{gate:?}");
            assert_eq!(done(gate, 5).await, expected, "{shown}");
        }
    }
}
