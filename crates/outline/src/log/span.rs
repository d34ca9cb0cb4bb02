//! Finds the least and the greatest time in a log.
//!
//! Lines of a log need not be in order: several writers, or the newest line first. This code runs on every
//! line, so it compares the bytes of times with a year first, which are in the order of time, and looks for
//! them only where the first line that has one has it.

/// Bytes of a date and a time without seconds: `2026-11-26T10:00`.
const SHORTEST: usize = 16;

/// Bytes of a time with seconds and nanoseconds.
const LONGEST: usize = 29;

/// Most lines of a part in which a time is looked for at other places than before.
const TRIES: u32 = 64;

/// A time as it is written, with zero bytes in place of missing digits.
pub(super) type Key = [u8; LONGEST];

/// The least and the greatest time of the lines of a part of a log, with the offsets of the lines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Where in a line the times are.
    column: usize,
    tries: u32,
    ends: Option<[(Key, u64); 2]>,
}

impl Span {
    /// Takes a line that begins at byte `offset` of the view.
    pub(super) fn line(&mut self, line: &[u8], offset: u64) {
        let found = match line.get(self.column..).and_then(key) {
            None if self.tries < TRIES => {
                self.tries += 1;
                self.elsewhere(line)
            }
            found => found,
        };
        if let Some(key) = found {
            self.add(key, offset);
        }
    }

    /// Finds a time anywhere in a line; the next lines should have it there, too.
    fn elsewhere(&mut self, line: &[u8]) -> Option<Key> {
        let column = super::place_of_time(line)?;
        let found = key(&line[column..])?;
        self.column = column;
        Some(found)
    }

    /// Takes what another part of the log has.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (key, offset) in other.ends.into_iter().flatten() {
            self.add(key, offset);
        }
    }

    /// Returns the offsets of the lines with the least and with the greatest time.
    pub(super) fn offsets(&self) -> Option<[u64; 2]> {
        self.ends.map(|ends| ends.map(|(_, offset)| offset))
    }

    fn add(&mut self, key: Key, offset: u64) {
        let [least, greatest] = self.ends.get_or_insert([(key, offset); 2]);
        if key < least.0 {
            *least = (key, offset);
        }
        if key > greatest.0 {
            *greatest = (key, offset);
        }
    }
}

/// Returns the time at the beginning of a text; `None` if there is none with the year first.
pub(super) fn key(text: &[u8]) -> Option<Key> {
    let is_like = |(&byte, &form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'-' => matches!(byte, b'-' | b'/'),
        b' ' => matches!(byte, b'T' | b' '),
        other => byte == other,
    };
    let head = text.get(..SHORTEST)?;
    if !head.iter().zip(b"0000-00-00 00:00").all(is_like) {
        return None;
    }
    let mut key = [0; LONGEST];
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b',');
    let rest = text[SHORTEST..].iter().take_while(|byte| is_part(byte));
    for (to, from) in key.iter_mut().zip(head.iter().chain(rest)) {
        *to = *from;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(lines: &[&str]) -> Option<[u64; 2]> {
        let mut span = Span::default();
        for (at, line) in (0..).zip(lines) {
            span.line(line.as_bytes(), at);
        }
        span.offsets()
    }

    #[test]
    fn the_least_and_the_greatest_time() {
        assert_eq!(
            offsets(&[
                "start",
                "[2026-11-26 10:00:02.5] b",
                "[2026-11-26 10:00:02.49] a",
                "[2026-11-26 10:00:02] c",
                "  no time here",
                "[2026-11-26 09:59:59,999] d",
                "[2026-11-27 00:00] e",
            ]),
            Some([5, 6])
        );
        // A first line with another form does not hide the others.
        assert_eq!(
            offsets(&[
                "opened 2026-11-26 10:00:00",
                "2026-11-26 10:00:01",
                "2026-11-26 10:00:02"
            ]),
            Some([0, 2])
        );
        assert_eq!(offsets(&["2026/11/26 10:00:00 one"]), Some([0, 0]));
        assert_eq!(offsets(&["no time", "10:00:00 no date"]), None);
        assert_eq!(offsets(&["2026-11-26", ""]), None);
    }

    #[test]
    fn parts_are_put_together() {
        let of = |line: &str, offset| {
            let mut span = Span::default();
            span.line(line.as_bytes(), offset);
            span
        };
        let mut all = of("2026-11-26T10:00:00Z", 5);
        all.absorb(&Span::default());
        all.absorb(&of("x 2026-11-25T10:00:00Z", 70));
        all.absorb(&of("2026-11-25T11:00:00Z", 90));
        assert_eq!(all.offsets(), Some([70, 5]));
    }
}
