//! Finds the bounds of rows in a table whose cells may contain line breaks.

use memchr::memchr2_iter;

use crate::scan::RECORD_BYTES;

/// Longest row in bytes; beyond it the quotes were misread.
const LONGEST_ROW: usize = 64 << 10;

/// A forward pass through a window of rows.
#[derive(Debug, Default)]
pub(crate) struct RowScanner {
    /// Bytes passed so far.
    at: usize,
    /// First byte of the current row.
    start: usize,
    /// Whether the pass is inside a quoted cell.
    is_quoted: bool,
}

impl RowScanner {
    /// Returns the row that contains byte `at`, which must not lie before that of the last call.
    /// Returns `None` if the row is too long to be shown whole.
    pub(crate) fn around(&mut self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        self.walk(text, at, false);
        let start = self.start;
        let limit = text.len().min(start.saturating_add(RECORD_BYTES));
        if at >= limit {
            return None;
        }
        let mut ahead = Self { at, ..*self };
        ahead.walk(text, limit, true);
        match ahead.start > start {
            true => Some((start, ahead.start)),
            false if limit == text.len() => Some((start, limit)),
            false => None,
        }
    }

    /// Advances to byte `to`, or to the end of the row if `is_one` is set.
    fn walk(&mut self, text: &[u8], to: usize, is_one: bool) {
        let from = self.at.min(to);
        for at in memchr2_iter(b'"', b'\n', &text[from..to]).map(|at| from + at) {
            // A quote that is never closed must not turn the rest into one row: it was not the
            // quote of a cell, or the window began inside one.
            let is_lost = at - self.start > LONGEST_ROW;
            match text[at] {
                b'"' => self.is_quoted = !self.is_quoted,
                _ if self.is_quoted && !is_lost => {}
                _ => {
                    (self.start, self.is_quoted) = (at + 1, false);
                    if is_one {
                        return;
                    }
                }
            }
        }
        self.at = self.at.max(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_long_as_its_quotes_are_open() {
        let text = b"a,b\n1,\"x\ny\"\"\nz\"\n2,w\n3,\"q";
        let cases = [
            (0, Some((0, 4))),
            (4, Some((4, 16))),
            (10, Some((4, 16))),
            (15, Some((4, 16))),
            (16, Some((16, 20))),
            (23, Some((20, 24))),
        ];
        let mut rows = RowScanner::default();
        for (at, want) in cases {
            assert_eq!(rows.around(text, at), want, "{at}");
            assert_eq!(RowScanner::default().around(text, at), want, "alone {at}");
        }
    }

    #[test]
    fn a_quote_that_stays_open_ends() {
        let mut text = b"1,\"x\n".to_vec();
        text.extend(b"2,y\n".repeat(20_000));
        let mut rows = RowScanner::default();
        assert_eq!(rows.around(&text, 1000), None);
        let last = text.len() - 4;
        assert_eq!(rows.around(&text, last), Some((last, last + 4)));
    }
}
