//! `spillgate read`: lines or bytes of a stored output.

use serde_json::json;
use spillgate_lookup::{Page, ReadQuery, Span};

use crate::args::Read;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::House;

/// Lines that `--tail` gives unless told.
const TAIL: u64 = 40;

pub(crate) fn read(house: &House, read: &Read, out: &Output) -> Result<u8, Failure> {
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
        budget: house.page(read.max_tokens),
    };
    let page = house.offloader.read(read.handle, query)?;
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
        true => out.text(&numbered(&page))?,
        false => out.text(&page.text)?,
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
        out.note(&format!(
            "next: spillgate read {} {option}{tokens}{}",
            read.handle,
            house.store_option()
        ));
    }
    Ok(0)
}

fn numbered(page: &Page) -> String {
    let lines = (page.lines.first..).zip(page.text.split_inclusive('\n'));
    lines
        .map(|(number, line)| format!("{number:>6} {line}"))
        .collect()
}
