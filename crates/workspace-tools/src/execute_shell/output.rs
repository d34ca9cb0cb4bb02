//! Collects, counts and stores the output of a command.

use std::fmt;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use spillgate_text::{Sanitizer, ViewSink};
use tempfile::SpooledTempFile;

/// Maximum bytes of a spooled output that are held in memory. A larger output is moved to a file.
const IN_MEMORY: usize = 1 << 20;

/// Bytes at the beginning of an output that are kept, so that the refusal of a larger output can
/// describe its structure.
const HEAD_BYTES: usize = 64 << 10;

/// The output of a command, counted as it arrives. Its text is kept up to a limit. All raw bytes
/// are also kept if the caller asks for them.
pub(crate) struct Output {
    sanitizer: Sanitizer,
    text: TerminalText,
    printed: u64,
    whole: Option<io::Result<SpooledTempFile>>,
}

/// The text that a terminal would show, up to a limit.
#[derive(Debug)]
struct TerminalText {
    kept: Vec<u8>,
    bytes: u64,
    most: u64,
    head: Option<OutputHead>,
}

/// The number of lines and the beginning of an output that exceeds the limit.
#[derive(Debug, Default)]
pub(crate) struct OutputHead {
    pub(crate) lines: u64,
    /// The beginning of the text, at most [`HEAD_BYTES`] bytes.
    pub(crate) text: Vec<u8>,
    /// Whether the last line has no newline yet.
    is_open: bool,
}

impl OutputHead {
    fn take(&mut self, bytes: &[u8]) {
        let Some(&last) = bytes.last() else { return };
        let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.lines += ends + u64::from(last != b'\n') - u64::from(self.is_open);
        self.is_open = last != b'\n';
        let room = HEAD_BYTES.saturating_sub(self.text.len()).min(bytes.len());
        self.text.extend_from_slice(&bytes[..room]);
    }
}

impl ViewSink for TerminalText {
    fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if let Some(head) = &mut self.head {
            head.take(bytes);
        }
        match self.bytes <= self.most {
            true => self.kept.extend_from_slice(bytes),
            // Text beyond the limit is only counted. The part before it is dropped, because an
            // answer never contains only a part of the output.
            false => self.kept = Vec::new(),
        }
        Ok(())
    }

    fn line(&mut self, _: u64) {}
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("printed", &self.printed)
            .finish_non_exhaustive()
    }
}

impl Output {
    /// Creates an empty output. Text is kept up to `most` bytes. If `spool` is a directory, all
    /// bytes are kept in an unnamed file there (mode 0600).
    pub(crate) fn new(most: u64, spool: Option<&Path>) -> Self {
        Self {
            sanitizer: Sanitizer::starting_at(0),
            text: TerminalText {
                kept: Vec::new(),
                bytes: 0,
                most,
                head: None,
            },
            printed: 0,
            whole: spool.map(|spool| Ok(tempfile::spooled_tempfile_in(IN_MEMORY, spool))),
        }
    }

    /// Also counts lines and keeps the beginning.
    pub(crate) fn with_head(mut self) -> Self {
        self.text.head = Some(OutputHead::default());
        self
    }

    /// Adds output. If it cannot be stored, it is still counted.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.printed += bytes.len() as u64;
        self.sanitizer
            .feed(bytes, &mut self.text)
            .expect("invariant: memory takes all");
        if let Some(Ok(file)) = &mut self.whole
            && let Err(error) = file.write_all(bytes)
        {
            self.whole = Some(Err(error));
        }
    }

    /// Bytes printed so far.
    pub(crate) fn printed(&self) -> u64 {
        self.printed
    }

    /// Ends the collection once all output has arrived.
    pub(crate) fn finish(mut self) -> CommandOutput {
        self.sanitizer
            .finish(&mut self.text)
            .expect("invariant: memory takes all");
        let fits = self.text.bytes <= self.text.most;
        let text = || String::from_utf8_lossy(&self.text.kept).into_owned();
        CommandOutput {
            bytes: self.text.bytes,
            text: fits.then(text),
            head: self.text.head,
            whole: self.whole,
        }
    }
}

/// The complete output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// The size of the text in bytes.
    pub(crate) bytes: u64,
    /// The text, unless it exceeds the limit.
    pub(crate) text: Option<String>,
    /// The lines and the beginning, if the caller asked for them.
    pub(crate) head: Option<OutputHead>,
    whole: Option<io::Result<SpooledTempFile>>,
}

impl CommandOutput {
    /// The raw bytes; `None` if they were not kept.
    pub(crate) fn whole(self) -> Option<io::Result<Box<dyn Read + Send>>> {
        let rewound = |mut file: SpooledTempFile| {
            file.rewind()?;
            Ok(Box::new(file) as Box<dyn Read + Send>)
        };
        Some(self.whole?.and_then(rewound))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fed(raw: &[u8], step: usize, most: u64) -> (Option<String>, u64, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let mut output = Output::new(most, Some(directory.path()));
        for part in raw.chunks(step) {
            output.feed(part);
        }
        assert_eq!(output.printed(), raw.len() as u64);
        let finished = output.finish();
        let (text, bytes) = (finished.text.clone(), finished.bytes);
        let mut whole = Vec::new();
        let mut reader = finished.whole().unwrap().unwrap();
        reader.read_to_end(&mut whole).unwrap();
        (text, bytes, whole)
    }

    #[test]
    fn text_is_whole_or_not_there() {
        let cases: [(&[u8], u64, Option<&str>, u64); 6] = [
            (b"", 0, Some(""), 0),
            (b"abcd", 4, Some("abcd"), 4),
            (b"abcde", 4, None, 5),
            (b"\x1b[31mred\x1b[0m\n", 4, Some("red\n"), 4),
            (b"1%\r2%\r100%\n", 5, Some("100%\n"), 5),
            (b"\xff\n", 4, Some("\u{fffd}\n"), 4),
        ];
        for (raw, most, text, bytes) in cases {
            let (got, counted, whole) = fed(raw, 1, most);
            assert_eq!((got.as_deref(), counted), (text, bytes), "{raw:?}");
            assert_eq!(whole, raw);
        }
    }

    #[test]
    fn lines_are_counted_and_the_beginning_is_kept() {
        let long = b"\n".repeat(HEAD_BYTES + 5);
        let cases: [(&[u8], u64); 6] = [
            (b"", 0),
            (b"\n", 1),
            (b"a\nb", 2),
            (b"a\n\nb\n", 3),
            (b"1%\r2%\r100%\n", 1),
            (&long, HEAD_BYTES as u64 + 5),
        ];
        for (raw, lines) in cases {
            for step in [1, 3, HEAD_BYTES] {
                let mut output = Output::new(4, None).with_head();
                raw.chunks(step).for_each(|part| output.feed(part));
                let head = output.finish().head.unwrap();
                assert_eq!(head.lines, lines, "{step}");
                assert!(head.text.len() <= HEAD_BYTES);
            }
        }
    }

    #[test]
    fn what_cannot_be_kept_is_counted() {
        let mut output = Output::new(9, Some(Path::new("/nowhere")));
        output.feed(&vec![b'x'; IN_MEMORY]);
        output.feed(b"more");
        let finished = output.finish();
        assert_eq!(finished.bytes, IN_MEMORY as u64 + 4);
        assert!(finished.whole().unwrap().is_err());
    }

    proptest! {
        #[test]
        fn any_steps_count_the_same(
            raw in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(0x1b), Just(b'[')], 0..300),
            step in 1usize..40,
            most in 0u64..300,
        ) {
            prop_assert_eq!(fed(&raw, step, most), fed(&raw, raw.len().max(1), most));
        }
    }
}
