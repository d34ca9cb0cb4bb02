//! `spillgate grep`: prints the matching lines of a stored output or a file.

use std::fmt::Write;

use serde_json::json;
use spillgate_lookup::{Case, GrepPage, GrepQuery, LookupError, PageLine, Seeker};
use spillgate_untrusted::{marked, shell_word};

use crate::args::Grep;
use crate::failure::{Failure, Fault};
use crate::output::{Output, Paint, Painter};
use crate::target::TargetArg;
use crate::wiring::App;

/// The exit code if no line matches, as of `grep`.
const NO_MATCH: u8 = 1;

/// The exit code of an error, as of `grep`.
pub(crate) const ERROR: u8 = 2;

pub(crate) fn grep(app: &App, grep: &Grep, out: &Output) -> Result<u8, Failure> {
    let query = query(app, grep);
    let target = app.target(&grep.target).map_err(|failure| {
        // Who is used to `grep PATTERN FILE` has the two the wrong way round.
        let other = || app.target(&TargetArg(grep.regex.clone())).ok();
        match failure.is_absent().then(other).flatten() {
            None => failure,
            Some(_) => Failure::new("usage", Fault::Caller, failure.text()).hint(format!(
                "the output comes before the pattern: spillgate grep {} {}",
                shell_word(&grep.regex),
                shell_word(&grep.target.0)
            )),
        }
    })?;
    let page = target
        .offloader
        .inside(grep.path.as_deref())
        .grep(target.handle, &query)?;
    let code = if page.total == 0 { NO_MATCH } else { 0 };
    if grep.quiet {
        return Ok(code);
    }
    if out.json {
        out.object(&json!({
            "matches": page.matches,
            "total": page.total,
            "next": page.next.map(|start| json!({"start": start})),
        }))?;
        // Programs take any other code for a failure; they have `total`.
        return Ok(0);
    }
    if grep.count {
        out.text(&format!("{}\n", page.total))?;
        return Ok(code);
    }
    if grep.files_with_matches {
        if page.total > 0 {
            out.text(&format!("{}\n", target.name))?;
        }
        return Ok(code);
    }
    match (grep.no_line_number, out.painter) {
        (false, Painter(false)) => out.text(&page.render())?,
        (without_numbers, painter) => {
            out.raw(written(&page, &query, without_numbers, painter)?.as_bytes())?;
        }
    }
    let (shown, total) = (page.matches.len(), page.total);
    match page.next {
        Some(start) => out.note(&format!(
            "{shown} of {total} matching lines; next: the same with --start {start}"
        )),
        None if out.terminal => {
            let s = if total == 1 { "" } else { "s" };
            out.note(&format!("{total} matching line{s}"));
        }
        None => {}
    }
    Ok(code)
}

fn query<'a>(app: &App, grep: &'a Grep) -> GrepQuery<'a> {
    let around = grep.context.unwrap_or(0);
    let needs_no_text = grep.quiet || grep.count || grep.files_with_matches;
    GrepQuery {
        case: match grep.ignore_case {
            true => Case::Insensitive,
            false => Case::Sensitive,
        },
        before: grep.before_context.unwrap_or(around),
        after: grep.after_context.unwrap_or(around),
        start: grep.start,
        max_matches: match grep.max_matches {
            _ if needs_no_text => 1,
            0 => usize::MAX,
            most => most,
        },
        is_literal: grep.fixed_strings,
        is_word: grep.word_regexp,
        inverts: grep.invert_match,
        only_parts: grep.only_matching,
        count_all: !(grep.quiet || grep.files_with_matches),
        ..GrepQuery::new(&grep.regex, app.page(grep.max_tokens))
    }
}

/// Formats a page with colours, or without the numbers of the lines.
fn written(
    page: &GrepPage,
    query: &GrepQuery<'_>,
    without_numbers: bool,
    painter: Painter,
) -> Result<String, LookupError> {
    let pattern = query.compiled()?;
    let seeker = pattern.seeker(|| Ok(()));
    let mut text = String::new();
    for shown in page.lines() {
        let Some(PageLine {
            line,
            text: one,
            is_match,
        }) = shown
        else {
            writeln!(text, "{}", painter.paint(Paint::Faint, "--")).expect("writing to a string");
            continue;
        };
        if !without_numbers {
            let sign = if is_match { ":" } else { "-" };
            text.push_str(&painter.paint(Paint::Name, &line.to_string()));
            text.push_str(&painter.paint(Paint::Faint, sign));
        }
        match is_match && painter.0 && !query.inverts {
            true => paint_matches(&mut text, one, &seeker, painter)?,
            false => text.push_str(&marked(one)),
        }
        text.push('\n');
    }
    Ok(text)
}

/// Appends a line with its matches in colour.
fn paint_matches(
    text: &mut String,
    line: &str,
    seeker: &Seeker<'_>,
    painter: Painter,
) -> Result<(), LookupError> {
    let mut at = 0;
    for found in seeker.matches(line)? {
        text.push_str(&marked(&line[at..found.start]));
        at = found.end;
        text.push_str(&painter.paint(Paint::Match, &marked(&line[found])));
    }
    text.push_str(&marked(&line[at..]));
    Ok(())
}
