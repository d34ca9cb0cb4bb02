//! `spillgate query`: applies a jq filter to a stored output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use serde_json::json;
use spillgate_artifact::{ByteSource, TokenBudget};
use spillgate_offload::RetrieveError;
use spillgate_outline::DEFAULT_TOKENS as OUTLINE_TOKENS;
use spillgate_query::{Child, Engine, QueryPage, REQUEST, child_main};
use spillgate_store::FileSource;

use crate::args::Query;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

/// The argument that makes this program the child process of one filter. It is not a command for
/// users. It is handled separately, because a child process that starts often should not spend time
/// on parsing all commands.
pub(crate) const CHILD: &str = "__jq";

pub(crate) fn query(app: &App, query: &Query, out: &Output) -> Result<u8, Failure> {
    let asked = spillgate_query::Query {
        start: query.start,
        byte: query.byte,
        raw: query.raw_output,
        slurp: query.slurp,
        // Other programs read the output of `--json`, so equal results in a row are not folded into
        // one line.
        fold: !out.json,
        ..spillgate_query::Query::new(&query.filter, app.page(query.max_tokens))
    };
    let target = app.target(&query.target)?;
    let (offloader, handle) = (&target.offloader, target.handle);
    let budget = TokenBudget::new(OUTLINE_TOKENS);
    let page = match offloader.query(handle, &asked, &engine()?) {
        Err(RetrieveError::Query(error)) => {
            let message = offloader.query_error(handle, &error, budget);
            return Err(Failure::from(error).message(message.trim_end()));
        }
        page => page?,
    };
    // If a filter finds nothing, the shape of the data is shown, so that the user can write a
    // better filter.
    let shape = match page.missing {
        Some(_) => offloader.outline(handle, budget)?,
        None => Vec::new(),
    };
    match out.json {
        true => out.object(&object(&page, &shape))?,
        false => print(&page, query.raw_output, &shape, out)?,
    }
    Ok(0)
}

/// Returns the engine, which runs each filter in a child process of this program.
pub(crate) fn engine() -> io::Result<Engine> {
    Ok(Engine::new(Child {
        program: std::env::current_exe()?,
        arguments: vec![CHILD.into()],
    }))
}

fn object(page: &QueryPage, shape: &[String]) -> serde_json::Value {
    let mut object = json!({
        "text": page.text,
        "results": page.results,
        "total": page.total,
        "next": page.next,
        "notes": page.notes,
        "missing": page.missing,
    });
    if page.missing.is_some() {
        object["outline"] = json!(shape.join("\n"));
    }
    object
}

fn print(page: &QueryPage, is_raw: bool, shape: &[String], out: &Output) -> io::Result<()> {
    // Strings for another program are printed unchanged, as `jq -r` prints them.
    let text = match is_raw && !out.terminal {
        true => page.text.clone(),
        false => page.render(is_raw),
    };
    // The rest of a result that is cut follows on the next page.
    match page.next.is_some_and(|next| next.byte > 0) {
        true => out.text(&text)?,
        false => out.ended(&text)?,
    }
    for note in &page.notes {
        out.note(&format!("note: {note}"));
    }
    if let Some(missing) = &page.missing {
        out.note(&format!("note: {missing}"));
    }
    if !shape.is_empty() {
        out.note(&format!("shape:\n{}", shape.join("\n")));
    }
    let shown = page.results;
    let of = page
        .total
        .map_or("many".to_owned(), |total| total.to_string());
    match page.next {
        Some(next) => {
            let byte = match next.byte {
                0 => String::new(),
                byte => format!(" --byte {byte}"),
            };
            let start = next.start;
            out.note(&format!(
                "{shown} of {of} results; next: the same with --start {start}{byte}"
            ));
        }
        None if out.terminal => {
            let s = if page.total == Some(1) { "" } else { "s" };
            out.note(&format!("{of} result{s}"));
        }
        None => {}
    }
    Ok(())
}

/// Runs as the child process of one filter. The request is in the environment and the data on
/// standard input. Neither is in the arguments, which every user of the machine can read.
pub(crate) fn child(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let (None, Ok(request)) = (arguments.next(), std::env::var(REQUEST)) else {
        return 1;
    };
    let Ok(input) = standard_input() else {
        return 1;
    };
    child_main(&request, &*input, &mut io::stdout())
}

/// Opens standard input: a file directly, anything else read to its end.
fn standard_input() -> io::Result<Box<dyn ByteSource>> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if file.metadata()?.is_file() {
        let source = FileSource::of(file, Path::new("standard input"));
        return Ok(Box::new(source.map_err(io::Error::other)?));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Box::new(bytes))
}
