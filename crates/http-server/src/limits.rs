//! Limits on the rate of a client's requests and on the number of its requests in flight.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::http::StatusCode;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use parking_lot::Mutex;

use crate::problem::Problem;
use crate::settings::{Rate, RateBy};

/// The rates of requests, by client.
#[derive(Debug)]
pub(crate) struct Rates {
    limiter: DefaultKeyedRateLimiter<String>,
    by: RateBy,
}

impl Rates {
    pub(crate) fn new(rate: Rate) -> Option<Self> {
        let per_second = NonZeroU32::new(rate.per_second)?;
        let burst = rate.burst.and_then(NonZeroU32::new).unwrap_or(per_second);
        let quota = Quota::per_second(per_second).allow_burst(burst);
        Some(Self {
            limiter: DefaultKeyedRateLimiter::keyed(quota),
            by: rate.by,
        })
    }

    /// Counts a request. The error says when to try again.
    pub(crate) fn count(&self, session: Option<&str>, ip: IpAddr) -> Result<(), Problem> {
        let session = session.filter(|_| self.by == RateBy::Session);
        let who = session.map_or_else(|| ip.to_string(), str::to_owned);
        let Err(early) = self.limiter.check_key(&who) else {
            return Ok(());
        };
        let wait = early.wait_time_from(DefaultClock::default().now());
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Err(too_many(seconds))
    }

    /// Removes clients that have not sent requests recently.
    pub(crate) fn sweep(&self) {
        self.limiter.retain_recent();
    }
}

/// The refusal of a request that came too early.
pub(crate) fn too_many(seconds: u64) -> Problem {
    let what = "too many requests; try again later";
    Problem::http(StatusCode::TOO_MANY_REQUESTS, what).again_in(seconds)
}

/// The numbers of stateless requests in flight, by client.
#[derive(Debug, Default)]
pub(crate) struct ConcurrencyLimit {
    taken: Mutex<HashMap<String, usize>>,
}

/// A permit for one request in flight. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct ConcurrencyPermit {
    of: Arc<ConcurrencyLimit>,
    who: String,
}

impl ConcurrencyLimit {
    /// Returns a permit for a request of the client `who`. Fails if `most` requests of this client
    /// are in flight.
    pub(crate) fn take(
        self: &Arc<Self>,
        who: String,
        most: usize,
    ) -> Result<ConcurrencyPermit, Problem> {
        let mut taken = self.taken.lock();
        let own = taken.entry(who.clone()).or_default();
        if *own >= most {
            let what = format!("{most} requests of this client are under way");
            return Err(Problem::http(StatusCode::TOO_MANY_REQUESTS, what).again_in(1));
        }
        *own += 1;
        drop(taken);
        let of = Arc::clone(self);
        Ok(ConcurrencyPermit { of, who })
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock();
        if let Some(own) = taken.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.who);
            }
        }
    }
}
