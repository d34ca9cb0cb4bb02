//! Which retrieval tools can the reader of a message reach?

use spillgate_artifact::{ContentKind, Handle};

/// Where a message is read. It names no tools but those that its reader can
/// call from there (SPEC 2, invariant 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// The command line, with the option that leads to the store if it is not
    /// the default one.
    CommandLine {
        /// ` --store DIR`, or empty.
        store_option: String,
    },
    /// The gateway's own tools.
    Gateway {
        /// Whether `tool_output` is listed among them.
        extracts: bool,
    },
    /// None: an embedding program shows its own.
    Library,
}

/// A tool, as it is called from both doors.
struct Way {
    command: &'static str,
    call: &'static str,
}

const QUERY: Way = Way {
    command: "query {} JQ_FILTER",
    call: "spillgate_query({}filter=JQ_FILTER)",
};
const SEARCH: Way = Way {
    command: "search {} WORDS",
    call: "spillgate_search({}words=WORDS)",
};
const GREP: Way = Way {
    command: "grep {} REGEX",
    call: "spillgate_grep({}pattern=REGEX)",
};
const READ: Way = Way {
    command: "read {} --start LINE --lines N",
    call: "spillgate_read({}start=LINE, lines=N)",
};

impl Door {
    /// The ways on, the aptest first and with the handle filled in. The others
    /// stand on one line without it: a handle costs some 50 tokens, and four of
    /// them would take half of a preview (ADR 6).
    #[must_use]
    pub fn next(&self, handle: Handle, kind: ContentKind) -> Vec<String> {
        use ContentKind::{Binary, Csv, Json, Ndjson, Tsv};
        let (first, others): (Way, &[Way]) = match kind {
            Json | Ndjson | Csv | Tsv => (QUERY, &[SEARCH, GREP, READ]),
            Binary => (GREP, &[READ]),
            _ => (SEARCH, &[GREP, READ]),
        };
        match self {
            Self::CommandLine { store_option } => {
                let command = |way: &Way, handle: &str| way.command.replace("{}", handle);
                let first = command(&first, &handle.to_string());
                let others: Vec<String> = others.iter().map(|way| command(way, "HANDLE")).collect();
                vec![
                    format!("spillgate {first}{store_option}"),
                    format!("or, likewise: {}", others.join(", ")),
                ]
            }
            Self::Gateway { extracts } => {
                let call = |way: &Way, handle: &str| way.call.replace("{}", handle);
                let mut others: Vec<String> = others.iter().map(|way| call(way, "")).collect();
                if *extracts && kind != Binary {
                    others.push("tool_output(extract=WHAT)".to_owned());
                }
                vec![
                    call(&first, &format!("handle=\"{handle}\", ")),
                    format!("or, with the same handle: {}", others.join(", ")),
                ]
            }
            Self::Library => Vec::new(),
        }
    }
}
