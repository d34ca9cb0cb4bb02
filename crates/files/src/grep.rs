//! `Grep`: finds the lines of a file that match a regular expression.

use std::fmt::Write;
use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::{Case, GrepPage, GrepQuery, LookupError, Match, grep_view};
use spillgate_text::View;

use crate::arguments::Arguments;
use crate::page::PageBudget;

/// Default number of lines before and after a match (docs/spec/texts.md, "Read and Grep").
const CONTEXT: u64 = 10;

/// The arguments of `Grep`.
#[derive(Debug, Clone)]
pub(crate) struct Grep {
    regex: String,
    before: u64,
    after: u64,
    case: Case,
    /// Matching lines to skip from the beginning.
    start: u64,
}

impl Grep {
    /// Parses the arguments.
    pub(crate) fn of(arguments: &Arguments) -> Result<Self, String> {
        let regex = arguments.text("regex")?;
        if regex.is_empty() {
            return Err("regex must be non-empty".to_owned());
        }
        Ok(Self {
            regex: regex.to_owned(),
            before: arguments.number("before")?.unwrap_or(CONTEXT),
            after: arguments.number("after")?.unwrap_or(CONTEXT),
            case: match arguments.flag("caseSensitive")? {
                true => Case::Sensitive,
                false => Case::Insensitive,
            },
            start: arguments.number("start")?.unwrap_or(0),
        })
    }

    /// Returns the formatted matches.
    pub(crate) fn page(
        &self,
        view: &View,
        page: &PageBudget<'_>,
    ) -> io::Result<Result<String, String>> {
        // An error in the pattern is kept here, because the closure can return only I/O errors.
        let pattern_error = std::cell::RefCell::new(None);
        let total = view.lines();
        let hint = page.counter.count(&hint(u64::MAX >> 24, total, total));
        let text = page.within(
            hint,
            &|room| match grep_view(view, &self.query(room), page.counter) {
                Ok(found) => Ok(self.text(&found)),
                Err(LookupError::Io(error)) => Err(error),
                Err(LookupError::Interrupted { why }) => Err(why.into()),
                Err(LookupError::Shortened(missing)) => Err(missing.into()),
                Err(error) => {
                    pattern_error.replace(Some(error.to_string()));
                    Ok(String::new())
                }
            },
        )?;
        Ok(match pattern_error.into_inner() {
            Some(error) => Err(page.cut(error)),
            None => Ok(text),
        })
    }

    fn query(&self, room: TokenBudget) -> GrepQuery<'_> {
        // Every line costs at least one token, so the page can show at most as many lines as it has
        // tokens.
        let lines = |lines: u64| lines.min(room.get());
        GrepQuery {
            case: self.case,
            before: lines(self.before),
            after: lines(self.after),
            start: self.start.saturating_add(1),
            max_matches: usize::try_from(room.get()).unwrap_or(usize::MAX),
            ..GrepQuery::new(&self.regex, room)
        }
    }

    fn text(&self, page: &GrepPage) -> String {
        if page.matches.is_empty() {
            return match page.total {
                0 => "0 matches found".to_owned(),
                before => format!(
                    "0 matches found from start={} on; {before} before",
                    self.start
                ),
            };
        }
        let (mut text, mut last) = (String::new(), None);
        for found in &page.matches {
            rows(found, &mut text, &mut last);
        }
        match page.next {
            Some(next) => text + &hint(page.matches.len() as u64, page.total, next - 1),
            None => text.trim_end_matches('\n').to_owned(),
        }
    }
}

/// Appends a match with the lines around it; `last` is the last line appended so far.
fn rows(found: &Match, text: &mut String, last: &mut Option<u64>) {
    let has_context = !found.before.is_empty() || !found.after.is_empty();
    let first = found.before.first().map_or(found.line, |one| one.line);
    if has_context && last.is_some_and(|last| last + 1 < first) {
        text.push_str("--\n");
    }
    let before = found.before.iter().map(|one| (one.line, '-', &one.text));
    let after = found.after.iter().map(|one| (one.line, '-', &one.text));
    for (line, mark, shown) in before.chain([(found.line, '→', &found.text)]).chain(after) {
        let shown = shown.strip_suffix('\r').unwrap_or(shown);
        writeln!(text, "{line:4}{mark}{shown}").expect("writing to a string");
        *last = Some(line);
    }
}

/// Returns the hint on how to continue after `shown` of `total` matches.
fn hint(shown: u64, total: u64, start: u64) -> String {
    format!(
        "[cut: {shown} of {total} matching lines shown; Grep with start={start}, or a narrower regex or less context]"
    )
}
