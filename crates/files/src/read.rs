//! `Read`: shows lines of a file.

use std::fmt::Write;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::fitting;
use spillgate_text::{MAX_TOKEN_BYTES, TokenCounter, View};

use crate::arguments::Arguments;
use crate::page::{PageBudget, line_text};

/// The arguments of `Read`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    /// Lines to skip, from the beginning or, if `tail` is set, from the end.
    start: u64,
    /// The number of lines; `None` for all lines.
    lines: Option<u64>,
    /// Whether to read from the end instead of from the beginning.
    tail: bool,
    /// Number of characters to skip at the start of the first line. An answer that cuts a line
    /// suggests this argument for the next call.
    from: u64,
}

impl Read {
    /// Parses the arguments.
    pub(crate) fn of(arguments: &Arguments) -> Result<Self, String> {
        let side = arguments.text("headOrTail")?.trim().to_ascii_lowercase();
        Ok(Self {
            start: arguments.number("start")?.unwrap_or(0),
            lines: arguments.limit("lines")?,
            tail: match side.as_str() {
                "tail" => true,
                "" | "head" => false,
                _ => return Err("headOrTail must be \"head\" or \"tail\"".to_owned()),
            },
            from: arguments.number("from")?.unwrap_or(0),
        })
    }

    /// Returns the formatted lines.
    pub(crate) fn page(
        self,
        view: &View,
        page: &PageBudget<'_>,
    ) -> std::io::Result<Result<String, String>> {
        let total = view.lines();
        if self.start > 0 && self.start >= total {
            return Ok(Err(format!(
                "start={} is past the end: there are {total} lines",
                self.start
            )));
        }
        let count = self.lines.unwrap_or(u64::MAX).min(total - self.start);
        let lines = match self.tail {
            true => (total - self.start - count + 1, total - self.start),
            false => (self.start + 1, self.start + count),
        };
        let request = ReadRequest {
            read: self,
            view,
            name: page.name(),
            lines,
        };
        let hint = page.counter.count(&request.widest_hint());
        page.within(
            hint + page.counter.count(&request.header((total, total))),
            &|room| match self.tail {
                true => request.tail(room, page.counter),
                false => request.head(room, page.counter),
            },
        )
        .map(Ok)
    }
}

/// A call together with the text it is about.
struct ReadRequest<'a> {
    read: Read,
    view: &'a View,
    name: String,
    /// The numbers of the first and the last requested line. If no lines are requested, the second
    /// number is less than the first.
    lines: (u64, u64),
}

/// Formatted lines, and the offset at which each line begins in the text.
struct RenderedLines {
    text: String,
    starts: Vec<usize>,
}

impl ReadRequest<'_> {
    fn head(&self, room: TokenBudget, counter: &dyn TokenCounter) -> std::io::Result<String> {
        let (first, last) = self.lines;
        // Every line costs at least one token, so at most `room` lines fit.
        let until = last.min(first.saturating_add(room.get()));
        let rows = self.rows_between(first, until, room.get().saturating_mul(MAX_TOKEN_BYTES))?;
        if rows.starts.is_empty() {
            return Ok(self.header((0, 0)));
        }
        let ends: Vec<usize> = rows.starts[1..]
            .iter()
            .copied()
            .chain([rows.text.len()])
            .collect();
        let taken = fitting(&rows.text, &ends, room, counter);
        let shown = ends.partition_point(|&end| end <= taken) as u64;
        let text = &rows.text[..taken];
        if shown == 0 {
            return Ok(self.cut_line(first, text));
        }
        let end = first + shown - 1;
        let hint = match end < last {
            true => format!(
                "\n[cut: lines {}-{last} left; Read with start={end}{}]",
                end + 1,
                self.limit(last - end)
            ),
            false => String::new(),
        };
        Ok(self.header((first, end)) + text.trim_end_matches('\n') + &hint)
    }

    /// Returns the part of a line that fits, at least one character, if the whole line does not
    /// fit.
    fn cut_line(&self, line: u64, taken: &str) -> String {
        let before = number_of(line).len();
        let shown = taken.chars().count().saturating_sub(before) as u64;
        let (from, last) = (self.read.from + shown, self.lines.1);
        self.header((line, line))
            + taken
            + &format!(
                "\n[cut: the rest of line {line}{} left; Read with start={}, from={from}{}]",
                match line < last {
                    true => format!(" and lines {}-{last}", line + 1),
                    false => String::new(),
                },
                line - 1,
                self.limit(last - line + 1)
            )
    }

    /// Returns the last lines that fit. If not even the last line fits, reads that line from its
    /// beginning.
    fn tail(&self, room: TokenBudget, counter: &dyn TokenCounter) -> std::io::Result<String> {
        let (first, last) = self.lines;
        // Every line costs at least one token, so earlier lines cannot fit.
        let from = first.max((last + 1).saturating_sub(room.get())).max(1);
        let rows = self.rows_between(from, last, u64::MAX)?;
        let fits = |start: &usize| !counter.exceeds(&rows.text[*start..], room.get());
        let cut = rows.starts.partition_point(|start| !fits(start));
        let Some(&at) = rows.starts.get(cut) else {
            let alone = ReadRequest {
                lines: (last, last),
                name: self.name.clone(),
                ..*self
            };
            return match rows.starts.is_empty() {
                true => Ok(self.header((0, 0))),
                false => alone.head(room, counter),
            };
        };
        let shown = from + cut as u64;
        let hint = match shown > first {
            true => format!(
                "\n[cut: lines {first}-{} left; Read with headOrTail=\"tail\", start={}{}]",
                shown - 1,
                self.view.lines() + 1 - shown,
                self.limit(shown - first)
            ),
            false => String::new(),
        };
        Ok(self.header((shown, last)) + rows.text[at..].trim_end_matches('\n') + &hint)
    }

    /// Returns the rows `first..=last`, up to about `bytes` bytes, but at least one row.
    fn rows_between(&self, first: u64, last: u64, bytes: u64) -> std::io::Result<RenderedLines> {
        let (mut text, mut starts) = (String::new(), Vec::new());
        let mut lines = self.view.lines_from(first)?;
        while let Some((line, bytes_of)) = lines.next_bytes()? {
            if line.number > last || text.len() as u64 > bytes {
                break;
            }
            let passed = match line.number == self.read.start + 1 && !self.read.tail {
                true => usize::try_from(self.read.from).unwrap_or(usize::MAX),
                false => 0,
            };
            starts.push(text.len());
            text.push_str(&number_of(line.number));
            text.extend(line_text(bytes_of).chars().skip(passed));
            text.push('\n');
        }
        Ok(RenderedLines { text, starts })
    }

    fn header(&self, (first, last): (u64, u64)) -> String {
        let side = if self.read.tail { "tail" } else { "head" };
        let (name, total) = (&self.name, self.view.lines());
        format!("{name} [{side} {first}-{last}/{total}]\n")
    }

    /// Returns the argument that asks for the remaining lines, if the call limits the number of
    /// lines.
    fn limit(&self, left: u64) -> String {
        let limited = self.read.lines.is_some();
        if limited {
            format!(", lines={left}")
        } else {
            String::new()
        }
    }

    /// The longest possible hint.
    fn widest_hint(&self) -> String {
        let total = self.view.lines();
        let mut hint = String::new();
        write!(
            hint,
            "\n[cut: the rest of line {total} and lines {total}-{total} left; Read with start={total}, from=2000{}]",
            self.limit(total)
        )
        .expect("writing to a string");
        hint
    }
}

/// The line number that precedes a line.
fn number_of(line: u64) -> String {
    format!("{line:4} ")
}
