//! What becomes of an argument that is given by reference?
//!
//! Where the user allows it for a tool, any value in the arguments of a call may
//! be `{"$spill": HANDLE, "lines"|"bytes"|"query": …}`, or that as a string; the
//! gateway puts in its place what is stored (ADR 10). Only these places of the
//! frame change. What is put in is data: a reference in it stays as it is.

mod check;
mod find;
mod resolve;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use spillgate_artifact::Origin;
use spillgate_mcp::{ByteEdits, span_in};
use spillgate_offload::Offloader;
use spillgate_query::Engine;

use check::{Given, fitted};
use find::{KEY, Place, places};
use spillgate_retrieval::result_of;

/// What a tool's description ends with where references are allowed: at most 40
/// tokens.
pub(crate) const HINT: &str = "Any value may be {\"$spill\":HANDLE} for a stored output, \
    with \"lines\":\"A-B\", \"bytes\":\"A..B\" or \"query\":JQ for a part.";

/// Schemas that are kept at most; a server has some dozens of tools.
const MOST_SCHEMAS: usize = 2000;

/// The upstream schemas by which arguments are checked, by server and tool.
#[derive(Debug, Default)]
pub(crate) struct Schemas(Mutex<HashMap<Named, Arc<str>>>);

/// A tool: its server's name and its own.
type Named = (Option<String>, String);

impl Schemas {
    /// Notes what `tools/list` says of a tool, as the server spells it.
    pub(crate) fn note(&self, server: Option<&str>, tool: &str, schema: &str) {
        let mut schemas = self.0.lock();
        let key = (server.map(str::to_owned), tool.to_owned());
        if schemas.len() < MOST_SCHEMAS || schemas.contains_key(&key) {
            schemas.insert(key, schema.into());
        }
    }

    fn of(&self, origin: &Origin) -> Option<Arc<str>> {
        let key = (origin.server.clone(), origin.tool.clone());
        self.0.lock().get(&key).cloned()
    }
}

/// What a call with references becomes.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// There is none in it, or the tool does not take any.
    AsIs,
    /// The frame that the server gets.
    Frame(Vec<u8>),
    /// The result that the client gets instead, as JSON: a reference was wrong.
    Refused(String),
}

/// Whether a call may have references in it: a look that costs nothing.
pub(crate) fn may_have(offloader: &Offloader, origin: &Origin, arguments: &RawValue) -> bool {
    offloader.policy().by_reference(origin).is_some() && arguments.get().contains(KEY)
}

/// Puts what is stored in the place of every reference in the `arguments` of the
/// call `frame`. Reads files and may run a filter: not for an async thread.
pub(crate) fn resolve(
    offloader: &Offloader,
    engine: &Engine,
    schemas: &Schemas,
    origin: &Origin,
    frame: &[u8],
    arguments: &RawValue,
) -> Resolved {
    let Some(most_bytes) = offloader.policy().by_reference(origin) else {
        return Resolved::AsIs;
    };
    match put_in(offloader, engine, schemas, origin, arguments, most_bytes) {
        Ok(None) => Resolved::AsIs,
        Ok(Some(spliced)) => {
            let mut splice = ByteEdits::default();
            splice.replace(span_in(frame, arguments.get()), spliced);
            Resolved::Frame(splice.apply(frame))
        }
        Err(wrong) => {
            let told = offloader.presented(format!("nothing was sent: {wrong}"));
            Resolved::Refused(result_of(&told, true))
        }
    }
}

/// The arguments with what is stored put in; `None` without a reference.
fn put_in(
    offloader: &Offloader,
    engine: &Engine,
    schemas: &Schemas,
    origin: &Origin,
    arguments: &RawValue,
    most_bytes: u64,
) -> Result<Option<Vec<u8>>, String> {
    let places = places(arguments)?;
    if places.is_empty() {
        return Ok(None);
    }
    let mut given = Vec::new();
    for Place {
        span,
        path,
        reference,
    } in places
    {
        let value = resolve::value(offloader, engine, &reference, most_bytes)
            .map_err(|wrong| format!("`{path}`: {wrong}"))?;
        given.push(Given { span, path, value });
    }
    let schema = schemas.of(origin);
    fitted(arguments.get(), given, schema.as_deref()).map(Some)
}

#[cfg(test)]
mod tests;
