//! Converts terminal output to text.

use std::io;

use memchr::memchr2;
use vte::{Parser, Perform};

use crate::ViewSink;

/// Maximum bytes of a line that can be overwritten. Progress bars are shorter. Longer lines are
/// written as they arrive, so that memory stays bounded.
const LONGEST_OVERWRITE: usize = 64 << 10;

/// Converts raw bytes to text. Invalid UTF-8 becomes U+FFFD. Terminal escapes and other control
/// characters are removed. CRLF becomes a newline. Of a line that was overwritten with single
/// `\r`s, the last state remains (docs/spec/behaviour.md, "Views").
#[derive(Default)]
pub struct Sanitizer {
    parser: Parser,
    line: Line,
    /// Bytes read so far.
    position: u64,
    /// Whether the last byte was `\r`. A newline directly after it belongs to the same line end.
    returned: bool,
    /// The beginning of a character that is not complete yet, at most 3 bytes.
    partial: Vec<u8>,
}

/// The line being written.
#[derive(Debug, Default)]
struct Line {
    /// The raw offset at which the line begins.
    origin: u64,
    /// The text since the last `\r`.
    segment: String,
    /// The state of the line before the last `\r`.
    earlier: String,
    /// Whether the beginning of the line was already passed to the sink.
    begun: bool,
}

impl std::fmt::Debug for Sanitizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sanitizer")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Sanitizer {
    /// Returns a sanitizer for text that begins at the raw offset `origin`, at the start of a line.
    #[must_use]
    pub fn starting_at(origin: u64) -> Self {
        Self {
            position: origin,
            line: Line {
                origin,
                ..Line::default()
            },
            ..Self::default()
        }
    }

    /// Takes the next raw bytes.
    pub fn feed(&mut self, mut raw: &[u8], sink: &mut dyn ViewSink) -> io::Result<()> {
        while !raw.is_empty() {
            let plain = memchr2(b'\n', b'\r', raw).unwrap_or(raw.len());
            if plain > 0 {
                self.returned_alone(sink)?;
                self.write(&raw[..plain], sink)?;
                self.position += plain as u64;
            }
            if let Some(&end) = raw.get(plain) {
                self.end(end, sink)?;
                self.position += 1;
            }
            raw = &raw[raw.len().min(plain + 1)..];
        }
        Ok(())
    }

    /// Writes the rest after the raw bytes have ended.
    pub fn finish(&mut self, sink: &mut dyn ViewSink) -> io::Result<()> {
        self.settle();
        self.returned_alone(sink)?;
        let shown = self.line.take_shown();
        if !shown.is_empty() {
            self.line.emit(&shown, sink)?;
        }
        Ok(())
    }

    fn write(&mut self, raw: &[u8], sink: &mut dyn ViewSink) -> io::Result<()> {
        for part in raw.chunks(LONGEST_OVERWRITE) {
            let joined = [std::mem::take(&mut self.partial).as_slice(), part].concat();
            self.print(&joined, false);
            if self.line.segment.len() > LONGEST_OVERWRITE {
                let segment = std::mem::take(&mut self.line.segment);
                self.line.earlier.clear();
                self.line.emit(&segment, sink)?;
            }
        }
        Ok(())
    }

    /// Passes the complete characters of `raw` to the terminal parser, with invalid sequences
    /// replaced by U+FFFD. A sequence that may continue is kept for later, unless the line is at
    /// its end.
    fn print(&mut self, raw: &[u8], at_end: bool) {
        for chunk in raw.utf8_chunks() {
            let mut writer = Writer(&mut self.line.segment);
            self.parser.advance(&mut writer, chunk.valid().as_bytes());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let last = invalid.as_ptr_range().end == raw.as_ptr_range().end;
            let unfinished = std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none());
            if last && unfinished && !at_end {
                self.partial = invalid.to_vec();
            } else {
                self.line.segment.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Removes an unfinished escape and replaces an unfinished character with U+FFFD, because they
    /// cannot continue after the end of a line or segment.
    fn settle(&mut self) {
        let partial = std::mem::take(&mut self.partial);
        self.print(&partial, true);
        self.parser = Parser::new();
    }

    fn end(&mut self, end: u8, sink: &mut dyn ViewSink) -> io::Result<()> {
        self.settle();
        if end == b'\r' {
            self.returned_alone(sink)?;
            self.returned = true;
            return Ok(());
        }
        self.returned = false;
        self.end_line(self.position + 1, sink)
    }

    /// Handles a `\r` that turned out not to be part of `\r\n`.
    fn returned_alone(&mut self, sink: &mut dyn ViewSink) -> io::Result<()> {
        if !std::mem::take(&mut self.returned) {
            return Ok(());
        }
        if self.line.begun {
            // The line is too long for a progress bar. It was already written and cannot be
            // removed.
            return self.end_line(self.position, sink);
        }
        if !self.line.segment.is_empty() {
            self.line.earlier = std::mem::take(&mut self.line.segment);
        }
        Ok(())
    }

    fn end_line(&mut self, next: u64, sink: &mut dyn ViewSink) -> io::Result<()> {
        let mut shown = self.line.take_shown();
        shown.push('\n');
        self.line.emit(&shown, sink)?;
        self.line.begun = false;
        self.line.origin = next;
        Ok(())
    }
}

impl Line {
    fn take_shown(&mut self) -> String {
        let earlier = std::mem::take(&mut self.earlier);
        let segment = std::mem::take(&mut self.segment);
        if segment.is_empty() { earlier } else { segment }
    }

    fn emit(&mut self, text: &str, sink: &mut dyn ViewSink) -> io::Result<()> {
        if !self.begun {
            sink.line(self.origin);
            self.begun = true;
        }
        sink.text(text.as_bytes())
    }
}

/// Keeps tabs and the characters that a terminal shows.
struct Writer<'a>(&'a mut String);

impl Perform for Writer<'_> {
    fn print(&mut self, c: char) {
        // The parser prints DEL, but terminals do not.
        if c != '\u{7f}' {
            self.0.push(c);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\t' => self.0.push('\t'),
            0x08 => {
                self.0.pop();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    pub(crate) struct Collected {
        text: Vec<u8>,
        origins: Vec<(usize, u64)>,
    }

    impl ViewSink for Collected {
        fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.text.extend_from_slice(bytes);
            Ok(())
        }

        fn line(&mut self, origin: u64) {
            self.origins.push((self.text.len(), origin));
        }
    }

    fn sanitize(raw: &[u8], step: usize) -> (String, Vec<(usize, u64)>) {
        let (mut sink, mut sanitizer) = (Collected::default(), Sanitizer::default());
        for part in raw.chunks(step.max(1)) {
            sanitizer.feed(part, &mut sink).unwrap();
        }
        sanitizer.finish(&mut sink).unwrap();
        (String::from_utf8(sink.text).unwrap(), sink.origins)
    }

    #[test]
    fn places_count_from_the_origin() {
        let (mut sink, mut sanitizer) = (Collected::default(), Sanitizer::starting_at(100));
        sanitizer.feed(b"a\nb\n", &mut sink).unwrap();
        sanitizer.finish(&mut sink).unwrap();
        assert_eq!(sink.origins, [(0, 100), (2, 102)]);
    }

    #[test]
    fn cases() {
        let cases: [(&[u8], &str); 17] = [
            (b"", ""),
            (b"plain\n", "plain\n"),
            (b"\x7fa\xc2\x9bb\x7f\n", "ab\n"),
            (b"a\r\nb\r\n", "a\nb\n"),
            (b"\x1b[31mred\x1b[0m text\n", "red text\n"),
            (b"10%\r20%\r100%\n", "100%\n"),
            (b"10%\r20%\r", "20%"),
            (b"10%\r\r\n", "10%\n"),
            (b"\rlast\n", "last\n"),
            (b"col\tumn\n", "col\tumn\n"),
            (b"caf\xe9\n", "caf\u{fffd}\n"),
            (b"cut \xe6\xbc\n", "cut \u{fffd}\n"),
            (b"\x1b]0;title\x07shown\n", "shown\n"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            (b"open \x1b[3\nnext\n", "open \nnext\n"),
            (b"bell\x07 and\x00 nul\n", "bell and nul\n"),
            (b"typo\x08\x08xt\n", "tyxt\n"),
        ];
        for (raw, want) in cases {
            assert_eq!(
                sanitize(raw, usize::MAX).0,
                want,
                "{:?}",
                raw.escape_ascii()
            );
        }
    }

    #[test]
    fn lines_know_where_they_came_from() {
        let (text, origins) = sanitize(b"\x1b[1ma\x1b[0m\r\n1\r2\n\nend", usize::MAX);
        assert_eq!(text, "a\n2\n\nend");
        assert_eq!(origins, [(0, 0), (2, 11), (4, 15), (5, 16)]);
    }

    #[test]
    fn a_long_line_is_written_as_it_comes() {
        let mut raw = vec![b'x'; LONGEST_OVERWRITE * 3];
        raw.extend_from_slice(b"\rover\n");
        let (text, _) = sanitize(&raw, 1000);
        assert_eq!(text.len(), LONGEST_OVERWRITE * 3 + "\nover\n".len());
    }

    proptest! {
        #[test]
        fn any_steps_give_the_same_text(
            raw in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(0x1b), Just(b'[')], 0..120),
            step in 1usize..7,
        ) {
            prop_assert_eq!(sanitize(&raw, step), sanitize(&raw, usize::MAX));
        }

        #[test]
        fn text_without_controls_stays(text in "[ -~\n漢é🚀\t]{0,200}") {
            prop_assert_eq!(sanitize(text.as_bytes(), 3).0, text);
        }
    }
}
