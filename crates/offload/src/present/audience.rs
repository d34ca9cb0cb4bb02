//! Which retrieval tools can the reader of a message reach?

use spillgate_artifact::{ContentKind, Handle};

/// Where a message is read. It names no tools but those that its reader can
/// call from there (SPEC 2, invariant 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// The command line, with the option that leads to the store if it is not
    /// the default one.
    CommandLine {
        /// ` --store DIR`, or empty.
        store_option: String,
    },
    /// The gateway's own tools.
    Gateway {
        /// The names of those that are listed.
        tools: Vec<&'static str>,
    },
    /// None: an embedding program shows its own.
    Library,
}

/// A tool, as it is called from both doors.
struct Way {
    tool: &'static str,
    command: &'static str,
    arguments: &'static str,
}

const QUERY: Way = Way {
    tool: "spillgate_query",
    command: "query {} JQ_FILTER",
    arguments: "filter=JQ_FILTER",
};
const SEARCH: Way = Way {
    tool: "spillgate_search",
    command: "search {} WORDS",
    arguments: "words=WORDS",
};
const GREP: Way = Way {
    tool: "spillgate_grep",
    command: "grep {} REGEX",
    arguments: "pattern=REGEX",
};
const READ: Way = Way {
    tool: "spillgate_read",
    command: "read {} --start LINE --lines N",
    arguments: "start=LINE, lines=N",
};
const EXTRACT: Way = Way {
    tool: "tool_output",
    command: "extract {} WHAT",
    arguments: "extract=WHAT",
};

impl Audience {
    /// A gateway that lists those of its tools that need no model and that no
    /// profile asks for.
    #[must_use]
    pub fn gateway() -> Self {
        Self::Gateway {
            tools: vec![READ.tool, GREP.tool, QUERY.tool, SEARCH.tool],
        }
    }

    /// The ways on, the aptest first and with the handle filled in. The others
    /// stand on one line without it: a handle costs some 50 tokens, and four of
    /// them would take half of a preview (ADR 6).
    #[must_use]
    pub fn next(&self, handle: Handle, kind: ContentKind) -> Vec<String> {
        use ContentKind::{Binary, Csv, Json, Ndjson, Tsv};
        let ways: &[Way] = match kind {
            Json | Ndjson | Csv | Tsv => &[QUERY, SEARCH, EXTRACT, GREP, READ],
            Binary => &[GREP, READ],
            _ => &[SEARCH, EXTRACT, GREP, READ],
        };
        match self {
            Self::CommandLine { store_option } => {
                let command = |way: &Way, handle: &str| way.command.replace("{}", handle);
                // Whether there is a model is not known here.
                let mut ways = ways.iter().filter(|way| way.tool != EXTRACT.tool);
                let Some(first) = ways.next() else {
                    return Vec::new();
                };
                let first = command(first, &handle.to_string());
                let others: Vec<String> = ways.map(|way| command(way, "HANDLE")).collect();
                vec![
                    format!("spillgate {first}{store_option}"),
                    format!("or, likewise: {}", others.join(", ")),
                ]
            }
            Self::Gateway { tools } => {
                let mut ways = ways.iter().filter(|way| tools.contains(&way.tool));
                let Some(first) = ways.next() else {
                    return Vec::new();
                };
                let (tool, arguments) = (first.tool, first.arguments);
                let others: Vec<String> = ways
                    .map(|way| format!("{}({})", way.tool, way.arguments))
                    .collect();
                vec![
                    format!("{tool}(handle=\"{handle}\", {arguments})"),
                    format!("or, with the same handle: {}", others.join(", ")),
                ]
            }
            Self::Library => Vec::new(),
        }
    }
}
