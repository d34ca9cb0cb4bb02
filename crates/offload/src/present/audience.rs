//! The calls by which the reader of a message looks into what is stored.

use spillgate_artifact::{ContentKind, Handle};

/// What a look-up is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To filter by structure.
    Query,
    /// To find what answers a question.
    Search,
    /// To have a model read it.
    Extract,
    /// To find lines by a pattern.
    Grep,
    /// To read lines.
    Read,
}

/// A call that a reader can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// What it is for.
    pub purpose: Purpose,
    /// The call, with `{handle}` where the handle belongs.
    pub call: String,
    /// The same as it is named behind another call that has the handle.
    pub short: String,
}

/// Where a message is read: it names no calls but those that its reader can make from
/// there. The default can make none, as in a program that shows its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audience {
    /// The calls, in any order.
    pub ways: Vec<Way>,
    /// What stands before the calls without the handle.
    pub others: &'static str,
}

impl Audience {
    /// The ways on, the aptest first and with the handle filled in. The others
    /// stand on one line without it: a handle costs some 50 tokens, and four of
    /// them would take half of a preview (ADR 6).
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
