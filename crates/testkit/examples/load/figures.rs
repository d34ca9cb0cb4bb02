//! Counts and durations of replies, and descriptions of wrong replies.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Whether a call went through the gateway or directly to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Direct,
    Through,
}

/// The measured durations, sizes and faults of calls.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    took: BTreeMap<(usize, Side), Vec<Duration>>,
    shown: BTreeMap<(usize, Side), usize>,
    /// Stored results that were fetched and compared.
    pub(crate) fetched: usize,
    /// Descriptions of wrong replies, each with its request.
    pub(crate) wrong: Vec<String>,
}

impl Figures {
    /// Records the duration and the bytes of a call that succeeded, or what was wrong with the
    /// call.
    pub(crate) fn note(
        &mut self,
        side: Side,
        bytes: usize,
        took: Duration,
        outcome: Result<usize, String>,
    ) {
        match outcome {
            Ok(shown) => {
                self.took.entry((bytes, side)).or_default().push(took);
                *self.shown.entry((bytes, side)).or_default() += shown;
            }
            Err(wrong) => self.wrong.push(wrong),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (key, took) in other.took {
            self.took.entry(key).or_default().extend(took);
        }
        for (key, shown) in other.shown {
            *self.shown.entry(key).or_default() += shown;
        }
        self.fetched += other.fetched;
        self.wrong.extend(other.wrong);
    }

    /// Writes the figures for results of this size, or for all.
    fn row(&self, f: &mut fmt::Formatter<'_>, bytes: Option<usize>) -> fmt::Result {
        let side = |side: Side| {
            let is_of =
                |key: &(usize, Side)| key.1 == side && bytes.is_none_or(|bytes| key.0 == bytes);
            let took = self.took.iter().filter(|(key, _)| is_of(key));
            let mut took: Vec<Duration> = took.flat_map(|(_, took)| took).copied().collect();
            took.sort_unstable();
            let shown = self.shown.iter().filter(|(key, _)| is_of(key));
            let shown: usize = shown.map(|(_, shown)| shown).sum();
            (
                percentile(&took, 50),
                percentile(&took, 99),
                took.len(),
                shown / took.len().max(1),
            )
        };
        let (direct, through) = (side(Side::Direct), side(Side::Through));
        writeln!(
            f,
            "{:>10} {:>8} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>10}",
            bytes.map_or("all".to_owned(), |bytes| bytes.to_string()),
            direct.2 + through.2,
            direct.0,
            through.0,
            through.0 - direct.0,
            direct.1,
            through.1,
            through.1 - direct.1,
            through.3,
        )
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>10} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "bytes",
            "calls",
            "p50 direct",
            "through",
            "added ms",
            "p99 direct",
            "through",
            "added ms",
            "shown"
        )?;
        let mut sizes: Vec<usize> = self.took.keys().map(|(bytes, _)| *bytes).collect();
        sizes.dedup();
        for bytes in sizes {
            self.row(f, Some(bytes))?;
        }
        self.row(f, None)?;
        writeln!(
            f,
            "{} stored results fetched: compared to the byte with what the server says directly",
            self.fetched
        )?;
        for wrong in self.wrong.iter().take(10) {
            writeln!(f, "WRONG: {wrong}")?;
        }
        Ok(())
    }
}

/// Returns a percentile in milliseconds; `took` is sorted.
fn percentile(took: &[Duration], of_hundred: usize) -> f64 {
    let at = took.len().saturating_sub(1) * of_hundred / 100;
    took.get(at)
        .map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
}
