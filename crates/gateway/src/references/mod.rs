//! Resolves arguments that refer to stored results.
//!
//! If the user allows this for a tool, any value in the arguments of a call may be `{"$spill":
//! HANDLE, "lines"|"bytes"|"query": …}`, or a string that contains this object. The gateway
//! replaces it by the stored content (ADR 10). The rest of the frame does not change. The inserted
//! content is data: a reference inside it is not resolved.

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

/// Appended to a tool's description if the tool accepts references. At most 40 tokens.
pub(crate) const HINT: &str = "Any value may be {\"$spill\":HANDLE} for a stored output, \
    with \"lines\":\"A-B\", \"bytes\":\"A..B\" or \"query\":JQ for a part.";

/// Maximum number of schemas that are kept. A typical server has some dozens of tools.
const MOST_SCHEMAS: usize = 2000;

/// The servers' input schemas, by server and tool, against which arguments are checked.
#[derive(Debug, Default)]
pub(crate) struct Schemas(Mutex<HashMap<Named, Arc<str>>>);

/// A tool: its server's name and its own name.
type Named = (Option<String>, String);

impl Schemas {
    /// Records the exact text of a tool's schema from `tools/list`.
    pub(crate) fn note(&self, server: Option<&str>, tool: &str, schema: &str) {
        let mut schemas = self.0.lock();
        let key = (server.map(str::to_owned), tool.to_owned());
        if schemas.len() < MOST_SCHEMAS || schemas.contains_key(&key) {
            schemas.insert(key, schema.into());
        }
    }

    /// Whether no schema is known, because nobody has asked this process for a list of tools.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    fn of(&self, origin: &Origin) -> Option<Arc<str>> {
        let key = (origin.server.clone(), origin.tool.clone());
        self.0.lock().get(&key).cloned()
    }
}

/// The outcome of resolving a call.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// The call contains no references, or the tool does not accept them.
    AsIs,
    /// The frame to send to the server.
    Frame(Vec<u8>),
    /// A reference was invalid. Send this result, as JSON, to the client.
    Refused(String),
}

/// Whether a call may contain references. This check is cheap.
pub(crate) fn may_have(offloader: &Offloader, origin: &Origin, arguments: &RawValue) -> bool {
    offloader.policy().by_reference(origin).is_some() && arguments.get().contains(KEY)
}

/// Replaces every reference in the `arguments` of the call `frame` by the stored content. Must not
/// run on an async thread, because it reads files and may run a filter.
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

/// Returns the arguments with the references resolved; `None` if there are none.
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
        let reveals = offloader.policy().reveals_secrets(origin);
        let value = resolve::value(offloader, engine, &reference, most_bytes, reveals)
            .map_err(|wrong| format!("`{path}`: {wrong}"))?;
        given.push(Given { span, path, value });
    }
    let schema = schemas.of(origin);
    fitted(arguments.get(), given, schema.as_deref()).map(Some)
}

#[cfg(test)]
mod tests;
