//! Samples the memory of a process and judges its growth.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Number of intervals between the points of the printed curve.
const CURVE: usize = 24;

const EVERY: Duration = Duration::from_millis(500);

/// A run that is shorter than this, in seconds, says nothing about growth, because caches and pools
/// are still filling.
const SHORTEST: f64 = 55.0;
/// A run that is at least this long, in seconds, is judged by the growth in its second half, which
/// may be at most [`MOST_GROWTH`] MiB per minute. For comparison, a leak of 100 bytes per call
/// caused a growth of 8 MiB per minute.
const LONG: f64 = 595.0;
const MOST_GROWTH: f64 = 0.5;
/// Samples per window of half a minute. The growth is computed from the smallest sample of each
/// window, because results of up to 16 MB are in memory for a while.
const WINDOW: usize = 60;
/// In runs between these lengths, the mean of the second half may exceed the mean of the first half
/// by this fraction plus [`MORE_MIB`], the memory of one more huge result.
const PART: f64 = 0.15;
const MORE_MIB: f64 = 16.0;

/// The samples: seconds since the first, and resident MiB.
#[derive(Debug)]
pub(crate) struct Memory {
    samples: Vec<(f64, f64)>,
    peak: f64,
}

/// Samples the memory of `process` until the time `until`.
pub(crate) async fn sample(process: u32, until: Instant) -> Result<Memory> {
    let begin = Instant::now();
    let mut memory = Memory {
        samples: Vec::new(),
        peak: 0.0,
    };
    while Instant::now() < until {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        let status = status.context("the gateway is gone")?;
        memory
            .samples
            .push((begin.elapsed().as_secs_f64(), field(&status, "VmRSS:")?));
        memory.peak = field(&status, "VmHWM:")?;
        tokio::time::sleep(EVERY).await;
    }
    Ok(memory)
}

/// Returns a figure of `/proc/PID/status` in MiB.
fn field(status: &str, name: &str) -> Result<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib.with_context(|| format!("no {name}"))?.parse()?;
    Ok(kib / 1024.0)
}

impl Memory {
    /// Returns the means of both halves of the samples in MiB. The first tenth is left out, because
    /// caches are still filling then.
    fn halves(&self) -> [f64; 2] {
        let warm = &self.samples[self.samples.len() / 10..];
        let (first, second) = warm.split_at(warm.len() / 2);
        [first, second]
            .map(|half| half.iter().map(|sample| sample.1).sum::<f64>() / half.len().max(1) as f64)
    }

    /// Returns whether memory did not grow, as far as a run of this length can show.
    pub(crate) fn is_flat(&self) -> bool {
        let [first, second] = self.halves();
        let seconds = self.samples.last().map_or(0.0, |sample| sample.0);
        match seconds {
            ..SHORTEST => true,
            LONG.. => self.growth() <= MOST_GROWTH,
            _ => second <= first * (1.0 + PART) + MORE_MIB,
        }
    }

    /// Returns the second half of the samples, because caches fill in the first.
    fn second_half(&self) -> &[(f64, f64)] {
        &self.samples[self.samples.len() / 2..]
    }

    /// Returns the growth of the smallest samples in the second half, in MiB per minute.
    fn growth(&self) -> f64 {
        let windows = self.second_half().chunks_exact(WINDOW);
        let least = windows.filter_map(|window| {
            let order = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
            window.iter().min_by(order).copied()
        });
        slope(&least.collect::<Vec<_>>())
    }
}

/// Returns the slope by least squares, in MiB per minute.
fn slope(half: &[(f64, f64)]) -> f64 {
    let count = half.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| half.iter().map(of).sum::<f64>() / count;
    let (time, size) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let above: f64 = half
        .iter()
        .map(|(at, mib)| (at - time) * (mib - size))
        .sum();
    let below: f64 = half.iter().map(|(at, _)| (at - time).powi(2)).sum();
    60.0 * above / below
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |at: usize| self.samples.get(at).map_or(f64::NAN, |sample| sample.1);
        let last = self.samples.len().saturating_sub(1);
        writeln!(
            f,
            "resident MiB: first {:.0}, quarter {:.0}, half {:.0}, three quarters {:.0}, last {:.0}, peak {:.0}; \
             mean of the first half {:.0}, of the second {:.0}, \
             slope of the second {:+.1} MiB/min, of its least {:+.1}",
            mib(0),
            mib(last / 4),
            mib(last / 2),
            mib(last * 3 / 4),
            mib(last),
            self.peak,
            self.halves()[0],
            self.halves()[1],
            slope(self.second_half()),
            self.growth()
        )?;
        // For the reader of the curve: a step is a sweep of the store, a steady rise is a leak.
        let curve = (0..=CURVE).map(|point| format!("{:.0}", mib(last * point / CURVE)));
        writeln!(
            f,
            "resident MiB over time: {}",
            curve.collect::<Vec<_>>().join(" ")
        )
    }
}
