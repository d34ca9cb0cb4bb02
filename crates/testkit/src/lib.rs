//! Shared test fixtures: a clock that stands still, texts that look like real tool output,
//! planted secrets, pairs of texts that differ only in secrets, and recorded exchanges with models.
//!
//! Other crates use this crate only as a dev-dependency.

#[cfg(feature = "cassettes")]
pub mod cassette;
#[cfg(feature = "pairs")]
pub mod pairs;
#[cfg(feature = "secrets")]
pub mod secrets;

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use spillgate_artifact::{Clock, Timestamp};

/// A clock that always shows the same moment, in seconds since the Unix epoch.
#[derive(Debug, Clone, Copy)]
pub struct StoppedClock(pub u64);

impl Default for StoppedClock {
    /// 2027-01-15T08:00:00Z.
    fn default() -> Self {
        Self(1_800_000_000)
    }
}

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(UNIX_EPOCH + Duration::from_secs(self.0))
    }
}

/// Returns a service's log with this many lines; line 501 holds an error.
#[must_use]
pub fn log(lines: usize) -> String {
    (0..lines).fold(String::new(), |mut log, i| {
        let (minute, second) = (i / 60 % 60, i % 60);
        let message = match i {
            500 => "ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7".to_owned(),
            _ => format!(
                "INFO worker-{} processed batch id={} ok",
                i % 17,
                i * 7919 % 100_003
            ),
        };
        writeln!(log, "2026-11-21T10:{minute:02}:{second:02}Z {message}")
            .expect("writing to a string");
        log
    })
}

/// Returns one line of JSON with this many records.
#[must_use]
pub fn records(count: usize) -> String {
    let records: Vec<String> = (0..count)
        .map(|i| {
            format!(
                r#"{{"id":{i},"name":"item {i}","price":{}.50,"tags":["a","b"],"stock":{{"site":"s{}","left":{}}}}}"#,
                i * 3,
                i % 4,
                i % 90
            )
        })
        .collect();
    format!(r#"{{"total":{count},"items":[{}]}}"#, records.join(","))
}

/// Returns bytes that look random and are always the same.
#[must_use]
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..bytes).map(step).collect()
}

/// Returns a model's reply with `text` between the tags that a system prompt names, or without tags
/// if the prompt names none.
#[must_use]
pub fn in_slot(system: &str, text: &str) -> String {
    let tag = "<ai-agent-";
    let named = system.match_indices(tag).find_map(|(at, _)| {
        let (nonce, rest) = system[at + tag.len()..].split_once('-')?;
        rest.starts_with("FINAL").then_some(nonce)
    });
    match named {
        Some(nonce) => {
            format!("<ai-agent-{nonce}-FINAL format=\"text\">{text}</ai-agent-{nonce}-FINAL>")
        }
        None => text.to_owned(),
    }
}
