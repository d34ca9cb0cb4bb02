//! `spillgate read`: prints lines or bytes of a stored output.

use std::fmt::Write;

use serde_json::json;
use spillgate_artifact::Handle;
use spillgate_lookup::{Page, ReadQuery, Span};
use spillgate_offload::Offloader;
use spillgate_untrusted::{marked, shell_word};

use crate::args::Read;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

/// Default number of lines of `--tail`.
const TAIL: u64 = 40;

pub(crate) fn read(app: &App, read: &Read, out: &Output) -> Result<u8, Failure> {
    let lines = read.lines.filter(|&lines| lines > 0);
    let span = match read.bytes {
        Some(range) => Span::Bytes(range),
        None if read.tail => Span::Tail {
            lines: lines.unwrap_or(TAIL),
        },
        None => Span::Lines {
            start: read.start.unwrap_or(1),
            lines,
        },
    };
    let query = ReadQuery {
        span,
        budget: app.page(read.max_tokens),
    };
    let target = app.target(&read.target)?;
    let handle = target.handle;
    let offloader = target.offloader.inside(read.path.as_deref());
    let page = offloader.read(handle, query)?;
    if out.json {
        out.object(&json!({
            "text": page.text,
            "lines": page.lines,
            "total_lines": page.total_lines,
            "bytes": page.bytes,
            "next": page.next,
        }))?;
        return Ok(0);
    }
    match read.number {
        true => out.text(&numbered(&offloader, handle, &page)?)?,
        // A text inside a document seldom ends with a newline.
        false if read.path.is_some() && page.next.is_none() => out.ended(&page.render())?,
        false => out.text(&page.render())?,
    }
    if let Some(next) = page.next {
        let option = match next {
            Span::Lines { start, lines: None } => format!("--start {start}"),
            Span::Lines {
                start,
                lines: Some(lines),
            } => format!("--start {start} --lines {lines}"),
            Span::Tail { lines } => format!("--tail --lines {lines}"),
            Span::Bytes(range) => format!("--bytes {range}"),
        };
        let tokens = read
            .max_tokens
            .map(|n| format!(" --max-tokens {n}"))
            .unwrap_or_default();
        let path = read.path.as_deref();
        let path = path
            .map(|path| format!("--path {} ", shell_word(path)))
            .unwrap_or_default();
        out.note(&format!(
            "next: spillgate read {} {path}{option}{tokens}{}",
            target.name,
            app.store_option()
        ));
    }
    Ok(0)
}

/// Formats each view line of the page with its number. A long line of the text consists of several
/// view lines.
fn numbered(offloader: &Offloader, handle: Handle, page: &Page) -> Result<String, Failure> {
    let artifact = offloader.artifact(handle)?;
    let mut lines = artifact.view().lines_from(page.lines.first)?;
    let (mut text, mut shown) = (String::new(), page.bytes.start);
    while let Some(line) = lines.next_line()? {
        let (start, end) = (shown, line.end.min(page.bytes.end.unwrap_or(u64::MAX)));
        if start >= end {
            break;
        }
        let at = |offset: u64| usize::try_from(offset - page.bytes.start).unwrap_or(usize::MAX);
        let part = page.text.get(at(start)..at(end)).unwrap_or_default();
        let part = part.trim_end_matches('\n');
        writeln!(text, "{:>6} {}", line.number, marked(part)).expect("writing to a string");
        shown = end;
    }
    Ok(text)
}
