//! `spillgate query`: a jq filter over a stored output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use serde_json::json;
use spillgate_artifact::ByteSource;
use spillgate_query::{Child, Engine, QueryPage, child_main};
use spillgate_store::FileSource;

use crate::args::Query;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::House;

/// The argument that makes this program the child that runs one filter. It is
/// no command: nobody types it, and a child that starts often need not know
/// the others.
pub(crate) const CHILD: &str = "__jq";

pub(crate) fn query(house: &House, query: &Query, out: &Output) -> Result<u8, Failure> {
    let asked = spillgate_query::Query {
        start: query.start,
        byte: query.byte,
        raw: query.raw_output,
        slurp: query.slurp,
        ..spillgate_query::Query::new(&query.filter, house.page(query.max_tokens))
    };
    let page = house.offloader.query(query.handle, &asked, &engine()?)?;
    match out.json {
        true => out.object(&object(&page))?,
        false => print(&page, out)?,
    }
    Ok(0)
}

/// Filters run in another process of this program.
pub(crate) fn engine() -> io::Result<Engine> {
    Ok(Engine::new(Child {
        program: std::env::current_exe()?,
        arguments: vec![CHILD.into()],
    }))
}

fn object(page: &QueryPage) -> serde_json::Value {
    json!({
        "text": page.text,
        "results": page.results,
        "total": page.total,
        "next": page.next,
        "notes": page.notes,
        "missing": page.missing,
    })
}

fn print(page: &QueryPage, out: &Output) -> io::Result<()> {
    out.text(&page.text)?;
    for note in &page.notes {
        out.note(&format!("note: {note}"));
    }
    if let Some(missing) = &page.missing {
        out.note(&format!("note: {missing}"));
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
        None if out.terminal => out.note(&format!("{of} results")),
        None => {}
    }
    Ok(())
}

/// The child: the request is its only argument, the data its standard input.
pub(crate) fn child(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let request = arguments.next().unwrap_or_default();
    let Ok(input) = standard_input() else {
        return 1;
    };
    child_main(&request.to_string_lossy(), &*input, &mut io::stdout())
}

/// Standard input: a file as it is, anything else read to its end.
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
