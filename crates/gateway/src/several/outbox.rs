//! What waits to be sent to each of several servers: one that does not read, or is
//! still starting, holds up its own messages only.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::not_sent;
use crate::incoming::Incoming;
use crate::locked;
use crate::seen::Outcome;
use crate::session::Session;
use crate::upstream::{Slot, Upstream};
use spillgate_wire::{Envelope, LinkError, messages};

/// Messages that may wait for one server.
const MOST_MESSAGES: usize = 1000;

/// Bytes of them.
const MOST_BYTES: usize = 64 << 20;

/// How long the last messages of a client that is gone may take to be sent.
const LAST: Duration = Duration::from_secs(2);

/// A message's way to its server.
type Job = BoxFuture<'static, ()>;

/// Answers of the client have a lane of their own: a server may wait for one before
/// it takes anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    Messages,
    Answers,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(Job, usize)>,
    bytes: usize,
}

/// The messages that wait.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Those of which one is on its way.
    queues: Mutex<HashMap<(Slot, Lane), Queue>>,
    senders: Mutex<JoinSet<()>>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbox")
    }
}

impl Session {
    /// Passes a message on to one of several servers, in its turn.
    pub(crate) fn post(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        lane: Lane,
        incoming: &Incoming,
    ) {
        let (session, to, incoming) = (Arc::clone(self), Arc::clone(upstream), incoming.clone());
        let (frame, bytes) = (incoming.frame.clone(), incoming.frame.len());
        let job = async move {
            let all = messages(&incoming.frame);
            let envelope = all.first().filter(|one| !one.is_response());
            session.carry(&to, &incoming, envelope).await;
        };
        if self.queue((upstream.slot, lane), job.boxed(), bytes) {
            return;
        }
        let silent = LinkError::Gone(format!(
            "does not read its input: {MOST_MESSAGES} messages or {} MiB wait for it",
            MOST_BYTES >> 20
        ));
        for key in messages(&frame).iter().filter_map(Envelope::key) {
            let Some(mut waiting) = self.pending.take(&key) else {
                continue;
            };
            waiting.end(Outcome::UpstreamGone);
            let (session, told) = (
                Arc::clone(self),
                not_sent(&waiting.id, upstream.name(), &silent),
            );
            self.work(async move { session.to_client(told).await });
        }
    }

    /// Does it at once where nothing waits, else in its turn; whether there was room.
    fn queue(self: &Arc<Self>, to: (Slot, Lane), mut job: Job, bytes: usize) -> bool {
        // Mostly there is nothing to wait for, and no task is needed.
        let is_free = !locked(&self.outbox.queues).contains_key(&to);
        if is_free && (&mut job).now_or_never().is_some() {
            return true;
        }
        let mut queues = locked(&self.outbox.queues);
        if let Some(queue) = queues.get_mut(&to) {
            let has_room = queue.jobs.len() < MOST_MESSAGES && queue.bytes + bytes <= MOST_BYTES;
            if has_room {
                queue.bytes += bytes;
                queue.jobs.push_back((job, bytes));
            }
            return has_room;
        }
        queues.insert(to, Queue::default());
        drop(queues);
        let session = Arc::clone(self);
        let sender = async move {
            let mut next = Some(job);
            while let Some(job) = next {
                job.await;
                next = session.outbox.next(to);
            }
        };
        let mut senders = locked(&self.outbox.senders);
        while senders.try_join_next().is_some() {}
        senders.spawn(sender);
        true
    }
}

impl Outbox {
    fn next(&self, to: (Slot, Lane)) -> Option<Job> {
        let mut queues = locked(&self.queues);
        let queue = queues.get_mut(&to)?;
        let Some((job, bytes)) = queue.jobs.pop_front() else {
            queues.remove(&to);
            return None;
        };
        queue.bytes -= bytes;
        Some(job)
    }

    /// The client is gone: what it said last is still sent, unless `hurried` or a
    /// server does not take it.
    pub(crate) async fn close(&self, hurried: bool) {
        let mut senders = std::mem::take(&mut *locked(&self.senders));
        if !hurried {
            let all = async { while senders.join_next().await.is_some() {} };
            drop(timeout(LAST, all).await);
        }
        drop(senders); // which ends them
        locked(&self.queues).clear();
    }
}
