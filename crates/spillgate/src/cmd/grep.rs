//! `spillgate grep`: prints the matching lines of a stored output.

use serde_json::json;
use spillgate_lookup::{Case, GrepQuery};

use crate::args::Grep;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn grep(app: &App, grep: &Grep, out: &Output) -> Result<u8, Failure> {
    let query = GrepQuery {
        case: match grep.ignore_case {
            true => Case::Insensitive,
            false => Case::Sensitive,
        },
        before: grep.before_context,
        after: grep.after_context,
        start: grep.start,
        max_matches: match grep.max_matches {
            0 => usize::MAX,
            most => most,
        },
        ..GrepQuery::new(&grep.regex, app.page(grep.max_tokens))
    };
    let offloader = app.offloader.inside(grep.path.as_deref());
    let page = offloader.grep(app.handle(&grep.handle)?, &query)?;
    if out.json {
        out.object(&json!({
            "matches": page.matches,
            "total": page.total,
            "next": page.next.map(|start| json!({"start": start})),
        }))?;
        return Ok(0);
    }
    out.text(&page.render())?;
    let (shown, total) = (page.matches.len(), page.total);
    match page.next {
        Some(start) => out.note(&format!(
            "{shown} of {total} matching lines; next: the same with --start {start}"
        )),
        None if out.terminal => out.note(&format!("{total} matching lines")),
        None => {}
    }
    Ok(0)
}
