//! How long a server that has ended rests before it is opened again.

use std::time::Duration;

use tokio::time::Instant;

use crate::ConnectionError;

/// A server that ran for so long did not fail at its start: it is opened again
/// at once.
const STEADY: Duration = Duration::from_secs(10);

/// The longest rest between two starts of a server that keeps ending.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// How a server fared so far.
#[derive(Debug, Default)]
pub struct RestartBackoff {
    opened: Option<Instant>,
    /// Ends in a row that came soon after the start.
    failures: u32,
    /// How it ended, and when.
    ended: Option<(String, Instant)>,
}

impl RestartBackoff {
    /// Notes that it is opened now, unless it has to rest.
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

    /// Whether it may not be opened now.
    pub fn is_resting(&self, now: Instant) -> bool {
        let ended = self.ended.as_ref().map(|(_, at)| now - *at);
        ended.is_some_and(|ago| ago < rest(self.failures))
    }

    /// Notes that it has ended.
    pub fn end(&mut self, how: &str, now: Instant) {
        let is_steady = self.opened.is_some_and(|opened| now - opened >= STEADY);
        self.failures = if is_steady { 0 } else { self.failures + 1 };
        self.ended = Some((how.to_owned(), now));
    }

    /// How it ended the last time, if it ever did.
    pub fn how_it_ended(&self) -> Option<&str> {
        self.ended.as_ref().map(|(how, _)| &**how)
    }
}

/// How long a server that failed so often in a row is left alone: not at all
/// after the first time, then 1, 2, 4 … seconds.
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
