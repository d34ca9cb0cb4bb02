//! The calls with which the reader of a message looks into a stored artifact.

use spillgate_artifact::{ContentKind, Handle};

/// The purpose of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Filter by structure.
    Query,
    /// Find passages that answer a question.
    Search,
    /// Have a model read it.
    Extract,
    /// Find lines by a pattern.
    Grep,
    /// Read lines.
    Read,
}

/// A call that a reader can make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Its purpose.
    pub purpose: Purpose,
    /// The call, with `{handle}` where the handle belongs.
    pub call: String,
    /// The short form, shown after another call that has the handle.
    pub short: String,
}

/// The reader of a message: a message names only calls that its reader can make. The default has no
/// calls, for programs that show their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audience {
    /// The calls, in any order.
    pub ways: Vec<Way>,
    /// Text before the calls without the handle.
    pub others: &'static str,
}

impl Audience {
    /// Returns the next calls, the most useful first and with the handle filled in. The others
    /// share one line without it: a handle costs some 50 tokens, and four of them would take half
    /// of a preview (ADR 6).
    #[must_use]
    pub fn next(&self, handle: Handle, kind: ContentKind) -> Vec<String> {
        use ContentKind::{Binary, Csv, Json, Ndjson, Tsv};
        use Purpose::{Extract, Grep, Query, Read, Search};
        let purposes: &[Purpose] = match kind {
            Json | Ndjson | Csv | Tsv => &[Query, Search, Extract, Grep, Read],
            Binary => &[Grep, Read],
            _ => &[Search, Extract, Grep, Read],
        };
        let find = |purpose| self.ways.iter().find(|way| way.purpose == purpose);
        let mut ways = purposes.iter().filter_map(|&purpose| find(purpose));
        let Some(first) = ways.next() else {
            return Vec::new();
        };
        let others: Vec<&str> = ways.map(|way| &*way.short).collect();
        vec![
            first.call.replace("{handle}", &handle.to_string()),
            format!("{}{}", self.others, others.join(", ")),
        ]
    }
}
