//! Queues of messages to several servers, so that a slow server delays only its own messages.
//!
//! A server is slow if it does not read its input or is still starting.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::session::Session;
use crate::session::incoming::Incoming;
use crate::upstream::Upstream;
use spillgate_mcp::{Envelope, messages};
use spillgate_transport::ConnectionError;
use spillgate_upstream::{RequestFailure, Slot};

/// Maximum number of messages that wait for one server.
const MOST_MESSAGES: usize = 1000;

/// Maximum total size, in bytes, of the messages that wait for one server.
const MOST_BYTES: usize = 64 << 20;

/// Time limit for sending the last messages of a client that has disconnected.
const LAST: Duration = Duration::from_secs(2);

/// The delivery of a message to its server.
type Job = BoxFuture<'static, ()>;

/// A queue for messages to one server. The client's responses have their own queue, because a
/// server may wait for a response before it reads other messages.
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

/// The messages that wait to be sent.
#[derive(Default)]
pub(crate) struct Outbox {
    /// For each server and lane to which a message is being sent: the messages that wait until it
    /// has been sent.
    queues: Mutex<HashMap<(Slot, Lane), Queue>>,
    senders: Mutex<JoinSet<()>>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbox")
    }
}

impl Session {
    /// Sends a message to one of several servers, in order.
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
        if self.outbox.queue((upstream.slot, lane), job.boxed(), bytes) {
            return;
        }
        let silent = ConnectionError::Gone(format!(
            "does not read its input: {MOST_MESSAGES} messages or {} MiB wait for it",
            MOST_BYTES >> 20
        ));
        for key in messages(&frame).iter().filter_map(Envelope::key) {
            let Some(mut waiting) = self.in_flight.take(&key) else {
                continue;
            };
            let why = RequestFailure::NotSent(silent.clone());
            waiting.end(why.outcome());
            let (session, told) = (Arc::clone(self), why.frame(&waiting.id, upstream.name()));
            self.work(async move { session.to_client(told).await });
        }
    }
}

impl Queue {
    /// Appends a job if there is room. Returns whether there was room.
    fn push(&mut self, job: Job, bytes: usize) -> bool {
        let has_room = self.jobs.len() < MOST_MESSAGES && self.bytes + bytes <= MOST_BYTES;
        if has_room {
            self.bytes += bytes;
            self.jobs.push_back((job, bytes));
        }
        has_room
    }
}

impl Outbox {
    /// Runs a job immediately if its queue is idle; otherwise appends it. Returns whether there was
    /// room.
    fn queue(self: &Arc<Self>, to: (Slot, Lane), mut job: Job, bytes: usize) -> bool {
        match self.queues.lock().entry(to) {
            Entry::Occupied(mut queue) => return queue.get_mut().push(job, bytes),
            // Until the job is done, later messages wait in this queue. If two deliveries to a
            // server ran at the same time, they could wait for each other.
            Entry::Vacant(free) => drop(free.insert(Queue::default())),
        }
        // Usually the job completes immediately, so no task is needed.
        let next = match (&mut job).now_or_never() {
            Some(()) => self.next(to),
            None => Some(job),
        };
        if next.is_some() {
            self.send_in_turn(to, next);
        }
        true
    }

    fn send_in_turn(self: &Arc<Self>, to: (Slot, Lane), mut next: Option<Job>) {
        let outbox = Arc::clone(self);
        let sender = async move {
            while let Some(job) = next {
                job.await;
                next = outbox.next(to);
            }
        };
        let mut senders = self.senders.lock();
        while senders.try_join_next().is_some() {}
        senders.spawn(sender);
    }

    fn next(&self, to: (Slot, Lane)) -> Option<Job> {
        let mut queues = self.queues.lock();
        let queue = queues.get_mut(&to)?;
        let Some((job, bytes)) = queue.jobs.pop_front() else {
            queues.remove(&to);
            return None;
        };
        queue.bytes -= bytes;
        Some(job)
    }

    /// Sends the last messages of a client that has disconnected. Stops at a time limit, or
    /// immediately if `hurried` is true.
    pub(crate) async fn close(&self, hurried: bool) {
        let mut senders = std::mem::take(&mut *self.senders.lock());
        if !hurried {
            let all = async { while senders.join_next().await.is_some() {} };
            drop(timeout(LAST, all).await);
        }
        drop(senders); // ends the remaining tasks
        self.queues.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_comes_while_a_message_is_sent_waits_for_it() {
        let to = (0, Lane::Messages);
        let outbox = Arc::new(Outbox::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let say = |text: &'static str| {
            let order = Arc::clone(&order);
            move || order.lock().push(text)
        };
        let (second, after_second) = (say("second"), say("first"));
        let meanwhile = Arc::clone(&outbox);
        let first = async move {
            assert!(meanwhile.queue(to, async move { second() }.boxed(), 1));
            tokio::task::yield_now().await;
            after_second();
        };
        assert!(outbox.queue(to, first.boxed(), 1));
        outbox.close(false).await;
        assert_eq!(*order.lock(), ["first", "second"]);
        // All earlier messages have been sent, so this one is sent immediately.
        assert!(outbox.queue(to, std::future::ready(()).boxed(), 1));
        assert!(outbox.queues.lock().is_empty());
    }
}
