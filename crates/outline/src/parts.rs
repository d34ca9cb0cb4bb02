//! Samples a view, and scans it in parts.
//!
//! A view is cut into parts at newlines; the size of the parts depends only on the size of the
//! view. Two threads take parts in turn, and their results are joined in the order of the view.
//! Therefore the outline does not depend on the number of threads.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use spillgate_artifact::ByteSource;

/// Maximum number of bytes that are read of a view. Outlining a log of this size takes about 0.2 s,
/// less than storing it. A larger view is read in [`STRETCHES`] evenly spaced stretches, or only at
/// its beginning if it must be read in order. 100 MB of JSON do not exceed this size when laid out.
pub(crate) const MOST_BYTES: u64 = 256 << 20;

/// Number of stretches that are read of a view that is not read whole.
const STRETCHES: u64 = 16;

/// Size of a part, in bytes: small enough that two threads share the work evenly and hold 4 MiB (20
/// MiB if the lines are very long), and large enough that joining the parts takes no noticeable time.
const PART: u64 = 2 << 20;

/// Maximum number of bytes between the place where a part should end and the end of its line. A
/// longer line is cut, because a text may have no line break at all.
const LONGEST: u64 = 8 << 20;

/// Number of threads that read parts, the same as for `grep`.
const THREADS: usize = 2;

/// The parts of a view that are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SamplePlan {
    /// Half-open byte ranges. Each begins and ends at a line.
    pub(crate) parts: Vec<(u64, u64)>,
    /// Size of the view divided by the number of bytes that are read; 1 if all are read.
    pub(crate) scale: f64,
    /// Whether the parts have gaps between them.
    pub(crate) is_spread: bool,
    pub(crate) threads: usize,
}

impl SamplePlan {
    /// Returns a plan that reads all of `source` from `start` on if it has at most [`MOST_BYTES`],
    /// otherwise evenly spaced stretches of it.
    pub(crate) fn spread(source: &dyn ByteSource, start: u64) -> io::Result<Self> {
        Self::cut(source, start, PART, MOST_BYTES)
    }

    /// Returns a plan that reads at most [`MOST_BYTES`] of `source` from `start` on.
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

    /// Returns whether only a part of the view is read.
    pub(crate) fn is_partial(&self) -> bool {
        self.scale > 1.0
    }

    /// Returns a text that says which part of a too large view was read.
    pub(crate) fn description(&self) -> String {
        let mib = MOST_BYTES >> 20;
        match self.is_spread {
            true => format!("of {mib} MiB here and there, counts are estimates"),
            false => format!("of the first {mib} MiB, counts are estimates"),
        }
    }

    /// Extrapolates a count in the bytes that were read to the whole view.
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

    /// Returns the scaled count as text, marked with `≈` if it is an estimate.
    pub(crate) fn scaled(&self, count: u64) -> String {
        let about = if self.is_partial() { "≈" } else { "" };
        format!("{about}{}", grouped(self.in_all(count)))
    }

    /// Calls `take` with each line that is read and its offset in the view, in order.
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

    /// Returns the results of `look` for all parts, in order. `look` receives the bytes of a part
    /// and their offset in the view.
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
        // A small remainder is added to the last part.
        let stop = match end - from {
            rest if rest <= part + part / 4 => end,
            _ => cut_near(source, from + part)?.min(end),
        };
        parts.push((from, stop));
        from = stop;
    }
    Ok(parts)
}

/// Returns the offset after the first newline at or after `near`; if it is more than [`LONGEST`]
/// bytes away, the offset of a character after as many bytes.
fn cut_near(source: &dyn ByteSource, near: u64) -> io::Result<u64> {
    let most = near.saturating_add(LONGEST);
    match line_start_before(source, near, most)? {
        Some(start) => Ok(start),
        None if most >= source.len() => Ok(source.len()),
        None => {
            let block = source.bytes(most, most + 4)?;
            let rest = block.iter().take_while(|byte| **byte & 0xc0 == 0x80);
            Ok(most + rest.count() as u64)
        }
    }
}

/// Returns the offset after the first newline at or after `near`; the end if there is none.
fn line_start(source: &dyn ByteSource, near: u64) -> io::Result<u64> {
    Ok(line_start_before(source, near, source.len())?.unwrap_or(source.len()))
}

/// Returns the offset after the first newline at or after `near`, if it is before `most`.
fn line_start_before(source: &dyn ByteSource, near: u64, most: u64) -> io::Result<Option<u64>> {
    const STEP: u64 = 64 << 10;
    let mut from = near.max(1) - 1;
    while from < source.len().min(most) {
        let block = source.bytes(from, from + STEP)?;
        if let Some(at) = memchr::memchr(b'\n', &block) {
            return Ok(Some(from + at as u64 + 1));
        }
        from += block.len() as u64;
    }
    Ok(None)
}

/// Returns the offset after the last newline before `end`; `end` itself if the line there is too
/// long to search.
fn last_line_end(source: &dyn ByteSource, start: u64, end: u64) -> io::Result<u64> {
    const LOOK_BACK: u64 = 1 << 20;
    let from = end.saturating_sub(LOOK_BACK).max(start);
    let block = source.bytes(from, end)?;
    Ok(memchr::memrchr(b'\n', &block).map_or(end, |at| from + at as u64 + 1))
}

/// Returns the lines without their newlines, each with its offset in `text`.
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

/// Returns a count with its noun, which is plural unless the count is `1`.
pub(crate) fn counted(count: &str, noun: &str) -> String {
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns a number with commas between thousands.
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
    fn a_text_without_line_breaks_is_cut() {
        let text = "añ".repeat(15 << 20).into_bytes();
        let plan = SamplePlan::spread(&text, 0).unwrap();
        let longest = plan.parts.iter().map(|(start, end)| end - start).max();
        assert!(longest <= Some(PART + LONGEST + 3), "{:?}", plan.parts);
        assert!(plan.parts.len() > 3);
        let read = plan.look(&text, |bytes, _| std::str::from_utf8(bytes).map(str::len));
        let read: Result<Vec<usize>, _> = read.unwrap().into_iter().collect();
        assert_eq!(read.map(|sizes| sizes.iter().sum()), Ok(text.len()));
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
