//! Finds the raw bytes that a view line is made from.
//!
//! Raw offsets are stored only for the anchors of the line index. To find the raw bytes of another
//! line, the transformation that made the view runs again from the nearest anchor, at most about
//! 64 KB of the view away. It produces the same lines at the same offsets.

use std::io::{self, Read};

use spillgate_artifact::{ByteSource, Layout, ReadRange};

use crate::{JsonLayout, Sanitizer, View, ViewSink};

/// Bytes replayed between two checks of whether the line was reached.
const STEP: usize = 16 << 10;

/// Returns the bytes `start..end` of `text` from which the 1-based view `line` was made. `text` is
/// the input of the transformation: the raw bytes, or the text decoded from them. Its first `same`
/// bytes are identical to those of the view. If a line was broken in the view, all its pieces have
/// the same origin.
pub fn raw_range(
    view: &View,
    text: &dyn ByteSource,
    same: u64,
    line: u64,
) -> io::Result<Option<(u64, u64)>> {
    let Some(span) = view.lines_from(line)?.next_line()? else {
        return Ok(None);
    };
    if span.number != line {
        return Ok(None);
    }
    if span.end <= same {
        return Ok(Some((span.start, span.end)));
    }
    let anchor = view.index().origin_before_line(line - 1);
    let (offset, origin) = match anchor.offset < same {
        true => (same, same),
        false => (anchor.offset, anchor.origin.unwrap_or(0)),
    };
    let mut finder = LineFinder {
        view_line: span.start,
        written: offset,
        start: origin,
        end: None,
    };
    let mut transformation = Transformation::resume(view, offset, origin)?;
    let mut reader = ReadRange::new(text, origin, text.len());
    let mut buffer = vec![0; STEP];
    while finder.end.is_none() {
        match reader.read(&mut buffer)? {
            0 => break,
            n => transformation.feed(&buffer[..n], &mut finder)?,
        }
    }
    Ok(Some((finder.start, finder.end.unwrap_or(text.len()))))
}

enum Transformation {
    Sanitize(Box<Sanitizer>),
    Json(JsonLayout),
}

impl Transformation {
    fn resume(view: &View, offset: u64, origin: u64) -> io::Result<Self> {
        if view.layout() != Layout::Json {
            return Ok(Self::Sanitize(Box::new(Sanitizer::starting_at(origin))));
        }
        // The indentation shows the depth of the layout. A closing bracket is indented one level
        // less than the content that it closes.
        let line = view.source().bytes(offset, offset + 1024)?;
        let spaces = line.iter().take_while(|&&b| b == b' ').count();
        let closes = matches!(line.get(spaces), Some(b'}' | b']'));
        let depth = spaces / 2 + usize::from(closes);
        Ok(Self::Json(JsonLayout::starting_at(origin, depth)))
    }

    fn feed(&mut self, text: &[u8], sink: &mut LineFinder) -> io::Result<()> {
        match self {
            Self::Sanitize(sanitizer) => sanitizer.feed(text, sink),
            Self::Json(layout) => layout.feed(text, sink),
        }
    }
}

/// Finds the origin of the line that contains a byte of the view.
struct LineFinder {
    view_line: u64,
    /// View bytes written so far.
    written: u64,
    start: u64,
    end: Option<u64>,
}

impl ViewSink for LineFinder {
    fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn line(&mut self, origin: u64) {
        if self.written <= self.view_line {
            self.start = origin;
        } else if self.end.is_none() {
            self.end = Some(origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Indexer;

    #[derive(Debug)]
    struct Build(Vec<u8>, Indexer);

    impl ViewSink for Build {
        fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.extend_from_slice(bytes);
            self.1.feed(bytes);
            Ok(())
        }

        fn line(&mut self, origin: u64) {
            self.1.line(origin);
        }
    }

    fn check(raw: &[u8], layout: Layout, show: impl Fn(&[u8]) -> String) {
        let mut build = Build(Vec::new(), Indexer::made(layout));
        if layout == Layout::Json {
            JsonLayout::default().feed(raw, &mut build).unwrap();
        } else {
            let mut sanitizer = Sanitizer::default();
            sanitizer.feed(raw, &mut build).unwrap();
            sanitizer.finish(&mut build).unwrap();
        }
        let Build(text, indexer) = build;
        let source = raw.to_vec();
        let view = View::new(std::sync::Arc::new(text), indexer.finish(), layout);
        assert!(view.index().anchors.len() > 3, "the case is too small");
        for number in (1..=view.lines()).step_by(211).chain([view.lines()]) {
            let line = view
                .lines_from(number)
                .unwrap()
                .next_line()
                .unwrap()
                .unwrap();
            let shown = view.source().bytes(line.start, line.end).unwrap();
            let (start, end) = raw_range(&view, &source, 0, number).unwrap().unwrap();
            let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
            assert_eq!(show(&raw[range]), show(&shown), "line {number}");
        }
        assert_eq!(
            raw_range(&view, &source, 0, view.lines() + 1).unwrap(),
            None
        );
    }

    #[test]
    fn sanitized_lines_lead_back() {
        let raw: String = (0..20_000)
            .map(|i| format!("\x1b[3{}m{i}\x1b[0m 10%\r{i} done\r\n", i % 8))
            .collect();
        check(raw.as_bytes(), Layout::AsIs, |bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.rsplit('\r')
                .map(str::trim)
                .find(|s| !s.is_empty())
                .unwrap_or("")
                .to_owned()
        });
    }

    #[test]
    fn laid_out_json_leads_back() {
        let items: Vec<_> = (0..5000)
            .map(|i| serde_json::json!({"id": i, "tags": ["a", {"deep": [i]}], "none": []}))
            .collect();
        let raw = serde_json::to_vec(&items).unwrap();
        check(&raw, Layout::Json, |bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.chars().filter(|c| !c.is_whitespace()).collect()
        });
    }
}
