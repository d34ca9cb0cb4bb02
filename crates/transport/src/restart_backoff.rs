//! Computes the delay before a server that has ended is restarted.

use std::time::Duration;

use tokio::time::Instant;

use crate::ConnectionError;

/// A server that ran at least this long did not fail at its start, so it is restarted immediately.
const STEADY: Duration = Duration::from_secs(10);

/// The longest delay between two starts of a server that keeps ending.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The record of one server's starts and ends, which determines the delay.
#[derive(Debug, Default)]
pub struct RestartBackoff {
    opened: Option<Instant>,
    /// Number of consecutive ends that each came soon after the start.
    failures: u32,
    /// How and when the server last ended.
    ended: Option<(String, Instant)>,
}

impl RestartBackoff {
    /// Records a start. Fails while the delay has not passed.
    pub fn open(&mut self, now: Instant) -> Result<(), ConnectionError> {
        if let Some((how, at)) = &self.ended
            && let Some(left) = rest(self.failures).checked_sub(now - *at)
            && !left.is_zero()
        {
            return Err(ConnectionError::Resting {
                how: how.clone(),
                seconds: left.as_secs() + 1,
            });
        }
        self.opened = Some(now);
        Ok(())
    }

    /// Whether the server may not be started yet.
    pub fn is_resting(&self, now: Instant) -> bool {
        let ended = self.ended.as_ref().map(|(_, at)| now - *at);
        ended.is_some_and(|ago| ago < rest(self.failures))
    }

    /// Records an end.
    pub fn end(&mut self, how: &str, now: Instant) {
        let is_steady = self.opened.is_some_and(|opened| now - opened >= STEADY);
        self.failures = if is_steady { 0 } else { self.failures + 1 };
        self.ended = Some((how.to_owned(), now));
    }

    /// Returns how the server last ended; `None` if it never ended.
    pub fn how_it_ended(&self) -> Option<&str> {
        self.ended.as_ref().map(|(how, _)| &**how)
    }
}

/// The delay after this many consecutive failures: none after the first, then 1, 2, 4 … seconds.
fn rest(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => LONGEST_REST.min(Duration::from_secs(1 << (more - 2).min(6))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_to_a_minute() {
        let rests: Vec<u64> = (0..12).map(|failures| rest(failures).as_secs()).collect();
        assert_eq!(rests, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    }
}
