//! Samples a view, and scans it in parts.
//!
//! A view is cut into parts at newlines, by its size alone; two threads take
//! the next part in turn, and what they found is put together in the order of
//! the view. So the outline is the same however many threads there were.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use spillgate_artifact::ByteSource;

/// Bytes that are looked at in all: two tenths of a second of work for a log,
/// less than it takes to store as much; and 100 MB of JSON, laid out, are no
/// more. What is larger is looked at in [`STRETCHES`] stretches that are evenly
/// spaced, or from its beginning where it has to be read in order.
pub(crate) const MOST_BYTES: u64 = 256 << 20;

/// Stretches of what is not looked at whole.
const STRETCHES: u64 = 16;

/// Bytes of a part: small enough that two threads share the work evenly and no
/// more than 4 MiB are held, large enough that putting parts together costs nothing.
const PART: u64 = 2 << 20;

/// Threads that look at parts, as for `grep`.
const THREADS: usize = 2;

/// What is looked at of a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SamplePlan {
    /// Half-open byte ranges, each beginning and ending at a line.
    pub(crate) parts: Vec<(u64, u64)>,
    /// How many bytes there are for each that is looked at; 1 when all are.
    pub(crate) scale: f64,
    /// Whether the parts have gaps between them.
    pub(crate) is_spread: bool,
    pub(crate) threads: usize,
}

impl SamplePlan {
    /// All of `source` from `start` on if it has at most [`MOST_BYTES`], else
    /// evenly spaced stretches.
    pub(crate) fn spread(source: &dyn ByteSource, start: u64) -> io::Result<Self> {
        Self::cut(source, start, PART, MOST_BYTES)
    }

    /// The first [`MOST_BYTES`] of `source` from `start` on.
    pub(crate) fn first(source: &dyn ByteSource, start: u64) -> io::Result<Self> {
        let end = match start.saturating_add(MOST_BYTES) {
            end if end < source.len() => last_line_end(source, start, end)?,
            _ => source.len(),
        };
        let parts = cut_at_lines(source, start, end, PART)?;
        let scale = (source.len() - start) as f64 / (end - start).max(1) as f64;
        Ok(Self::of(parts, scale, false))
    }

    pub(crate) fn cut(
        source: &dyn ByteSource,
        start: u64,
        part: u64,
        most: u64,
    ) -> io::Result<Self> {
        let bytes = source.len().saturating_sub(start);
        if bytes <= most {
            return Ok(Self::of(
                cut_at_lines(source, start, source.len(), part)?,
                1.0,
                false,
            ));
        }
        let mut parts = Vec::new();
        for stretch in 0..STRETCHES {
            let from = start + (bytes - most / STRETCHES) / (STRETCHES - 1) * stretch;
            let from = line_start(source, from)?;
            let end = line_start(source, from + most / STRETCHES)?;
            parts.extend(cut_at_lines(source, from, end, part)?);
        }
        let looked_at: u64 = parts.iter().map(|(from, end)| end - from).sum();
        Ok(Self::of(
            parts,
            bytes as f64 / looked_at.max(1) as f64,
            true,
        ))
    }

    fn of(parts: Vec<(u64, u64)>, scale: f64, is_spread: bool) -> Self {
        Self {
            threads: THREADS.min(parts.len()),
            parts,
            scale,
            is_spread,
        }
    }

    /// Whether not all is looked at.
    pub(crate) fn is_partial(&self) -> bool {
        self.scale > 1.0
    }

    /// What was looked at of a view that is too large, in words.
    pub(crate) fn description(&self) -> String {
        let mib = MOST_BYTES >> 20;
        match self.is_spread {
            true => format!("of {mib} MiB here and there, counts are estimates"),
            false => format!("of the first {mib} MiB, counts are estimates"),
        }
    }

    /// A count in what was looked at as a count in all.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate of a count"
    )]
    pub(crate) fn in_all(&self, count: u64) -> u64 {
        match self.is_partial() {
            true => (count as f64 * self.scale).round() as u64,
            false => count,
        }
    }

    /// The same as it is told.
    pub(crate) fn scaled(&self, count: u64) -> String {
        let about = if self.is_partial() { "≈" } else { "" };
        format!("{about}{}", grouped(self.in_all(count)))
    }

    /// Calls `take` with each line that is looked at and with the byte at which
    /// it begins, in their order.
    pub(crate) fn each_line(
        &self,
        source: &dyn ByteSource,
        mut take: impl FnMut(&[u8], u64),
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        for &(start, end) in &self.parts {
            for (at, line) in lines(source.window(start, end, &mut buffer)?) {
                take(line, start + at as u64);
            }
        }
        Ok(())
    }

    /// What `look` finds in each part, in their order. It is given the bytes of
    /// the part and where they begin.
    pub(crate) fn look<T: Send>(
        &self,
        source: &dyn ByteSource,
        look: impl Fn(&[u8], u64) -> T + Sync,
    ) -> io::Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let work = || -> io::Result<()> {
            let mut buffer = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(start, end)) = self.parts.get(at) else {
                    return Ok(());
                };
                let one = look(source.window(start, end, &mut buffer)?, start);
                let mut found = found.lock();
                found.push((at, one));
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for thread in others {
                let failed = |_| Err(io::Error::other("a thread of the outline panicked"));
                done = done.and(thread.join().unwrap_or_else(failed));
            }
            done
        })?;
        let mut found = found.into_inner();
        found.sort_by_key(|&(at, _)| at);
        Ok(found.into_iter().map(|(_, one)| one).collect())
    }
}

fn cut_at_lines(
    source: &dyn ByteSource,
    start: u64,
    end: u64,
    part: u64,
) -> io::Result<Vec<(u64, u64)>> {
    let mut parts = Vec::new();
    let mut from = start;
    while from < end {
        // A rest that is hardly a part goes with the last one.
        let stop = match end - from {
            rest if rest <= part + part / 4 => end,
            _ => line_start(source, from + part)?.min(end),
        };
        parts.push((from, stop));
        from = stop;
    }
    Ok(parts)
}

/// The first byte after a newline at or after `near`; the end if there is none.
fn line_start(source: &dyn ByteSource, near: u64) -> io::Result<u64> {
    const STEP: u64 = 64 << 10;
    let mut from = near.max(1) - 1;
    while from < source.len() {
        let block = source.bytes(from, from + STEP)?;
        if let Some(at) = memchr::memchr(b'\n', &block) {
            return Ok(from + at as u64 + 1);
        }
        from += block.len() as u64;
    }
    Ok(source.len())
}

/// The byte after the last newline before `end`; `end` in a line that is longer
/// than is worth looking for.
fn last_line_end(source: &dyn ByteSource, start: u64, end: u64) -> io::Result<u64> {
    const LOOK_BACK: u64 = 1 << 20;
    let from = end.saturating_sub(LOOK_BACK).max(start);
    let block = source.bytes(from, end)?;
    Ok(memchr::memrchr(b'\n', &block).map_or(end, |at| from + at as u64 + 1))
}

/// Lines without their newlines, with the offset of each in `text`.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    let mut newlines = memchr::memchr_iter(b'\n', text);
    std::iter::from_fn(move || {
        if start >= text.len() {
            return None;
        }
        let end = newlines.next().unwrap_or(text.len());
        let line = (start, &text[start..end]);
        start = end + 1;
        Some(line)
    })
}

/// A number of things, which are one where it is `1`.
pub(crate) fn counted(count: &str, noun: &str) -> String {
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A number with its thousands set apart by commas.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Vec<u8> {
        (0..2000)
            .flat_map(|i| format!("line {i}\n").into_bytes())
            .collect()
    }

    #[test]
    fn parts_begin_at_lines_and_leave_nothing_out() {
        let text = text();
        let plan = SamplePlan::cut(&text, 0, 1000, 1 << 20).unwrap();
        assert!(plan.parts.len() > 10 && !plan.is_partial());
        let found = plan.look(&text, |bytes, start| {
            assert!(start == 0 || text[usize::try_from(start).unwrap() - 1] == b'\n');
            bytes.to_vec()
        });
        assert_eq!(found.unwrap().concat(), text);
    }

    #[test]
    fn what_is_too_large_is_looked_at_here_and_there() {
        let text = text();
        let plan = SamplePlan::cut(&text, 0, 1000, 3200).unwrap();
        assert_eq!(plan.parts.len(), 16);
        let looked_at: u64 = plan.parts.iter().map(|(a, b)| b - a).sum();
        assert!((3000..3600).contains(&looked_at), "{looked_at}");
        assert!(plan.parts.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        let lines: u64 = plan
            .look(&text, |bytes, _| lines(bytes).count() as u64)
            .unwrap()
            .into_iter()
            .sum();
        let about: String = plan.scaled(lines).replace(['≈', ','], "");
        assert!((1900..2100).contains(&about.parse::<u64>().unwrap()));
    }

    #[test]
    fn the_first_part_ends_with_a_line() {
        let text = text();
        for end in 1..40 {
            let end = last_line_end(&text, 0, end).unwrap();
            let end = usize::try_from(end).unwrap();
            assert!(end < 7 || text[end - 1] == b'\n');
        }
    }

    #[test]
    fn thousands() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
