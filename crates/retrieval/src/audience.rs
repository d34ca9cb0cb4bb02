//! The calls of our tools and commands, as messages name them.

use spillgate_offload::{Audience, Purpose, Way};

use crate::definitions::{GREP, QUERY, READ, SEARCH, TOOL_OUTPUT, listed};

/// A look-up, as a tool and as a command.
struct Lookup {
    purpose: Purpose,
    tool: &'static str,
    arguments: &'static str,
    /// `None` if it is not known whether there is a model.
    command: Option<&'static str>,
}

const LOOKUPS: [Lookup; 5] = [
    Lookup {
        purpose: Purpose::Query,
        tool: QUERY,
        arguments: "filter=JQ_FILTER",
        command: Some("query {handle} JQ_FILTER"),
    },
    Lookup {
        purpose: Purpose::Search,
        tool: SEARCH,
        arguments: "words=WORDS",
        command: Some("search {handle} WORDS"),
    },
    Lookup {
        purpose: Purpose::Extract,
        tool: TOOL_OUTPUT,
        arguments: "extract=WHAT",
        command: None,
    },
    Lookup {
        purpose: Purpose::Grep,
        tool: GREP,
        arguments: "pattern=REGEX",
        command: Some("grep {handle} REGEX"),
    },
    Lookup {
        purpose: Purpose::Read,
        tool: READ,
        arguments: "start=LINE, lines=N",
        command: Some("read {handle} --start LINE --lines N"),
    },
];

/// Returns the audience that can call these of our tools.
#[must_use]
pub fn tools(names: &[&str]) -> Audience {
    let known = LOOKUPS.iter().filter(|one| names.contains(&one.tool));
    let way = |one: &Lookup| Way {
        purpose: one.purpose,
        call: format!("{}(handle=\"{{handle}}\", {})", one.tool, one.arguments),
        short: format!("{}({})", one.tool, one.arguments),
    };
    Audience {
        ways: known.map(way).collect(),
        others: "or, with the same handle: ",
    }
}

/// Returns the audience that can call the tools that need no model and that no profile asks for.
#[must_use]
pub fn usual_tools() -> Audience {
    tools(&listed(false, false))
}

/// Returns the audience that has the command line. `store_option` names the store if that is not
/// the default one: ` --store DIR`, or nothing.
#[must_use]
pub fn command_line(store_option: &str) -> Audience {
    let way = |one: &Lookup| {
        let command = one.command?;
        Some(Way {
            purpose: one.purpose,
            call: format!("spillgate {command}{store_option}"),
            short: command.replace("{handle}", "HANDLE"),
        })
    };
    Audience {
        ways: LOOKUPS.iter().filter_map(way).collect(),
        others: "or, likewise: ",
    }
}
