//! Selects the bytes of an artifact that a filter reads, and determines their format.

use spillgate_artifact::{ByteSource, ContentKind, Layout, RawForm};
use spillgate_lookup::Artifact;

use crate::protocol::Format;

/// A byte source. From offset `from` on, it contains documents of one format.
pub(crate) struct Source<'a> {
    pub(crate) bytes: &'a dyn ByteSource,
    pub(crate) from: u64,
    pub(crate) format: Format,
}

/// Returns the bytes that filters run on. Usually this is the view. For a JSON document that was
/// laid out for reading, it is the raw bytes, which contain the same document in fewer bytes.
pub(crate) fn source(artifact: &Artifact) -> Source<'_> {
    let facts = &artifact.manifest().facts;
    let layout = facts.view.layout;
    let format = match facts.stats.kind {
        _ if layout == Layout::Json => Format::Json,
        ContentKind::Json => Format::Json,
        ContentKind::Ndjson => Format::Ndjson,
        ContentKind::Csv => Format::Table { delimiter: b',' },
        ContentKind::Tsv => Format::Table { delimiter: b'\t' },
        _ => Format::Lines { layout },
    };
    let bytes = match (layout, &facts.form) {
        // Only the view of a redacted artifact has marks in place of its secrets.
        (Layout::Json, RawForm::Plain) if !artifact.is_redacted() => artifact.raw(),
        _ => artifact.view().source(),
    };
    Source {
        bytes,
        from: facts.view.prelude,
        format,
    }
}
