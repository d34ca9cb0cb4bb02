//! Time stamps and clocks.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time in UTC, printed and stored as RFC 3339 with whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(SystemTime);

impl Timestamp {
    /// Returns the time stamp of a system time.
    #[must_use]
    pub fn new(time: SystemTime) -> Self {
        Self(time)
    }

    /// Returns the system time of the time stamp.
    #[must_use]
    pub fn system_time(self) -> SystemTime {
        self.0
    }

    /// Returns the time from this time stamp until `now`; zero if the time stamp is after `now`.
    #[must_use]
    pub fn age_at(self, now: Timestamp) -> Duration {
        now.0.duration_since(self.0).unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&humantime::format_rfc3339_seconds(self.0), f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

/// The source of time for library crates. Library crates never read the system clock directly, so
/// that expiry can be tested and messages stay deterministic.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The machine's clock, which the binary passes to the library crates.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the clock"
    )]
    fn now(&self) -> Timestamp {
        Timestamp(SystemTime::now())
    }
}
