//! The calls of our tools and commands as the messages about stored outputs suggest them.

use spillgate_offload::{Audience, Purpose, Quoting, Way};

use crate::definitions::{GREP, QUERY, READ, SEARCH, TOOL_OUTPUT, listed};

/// A look-up that can be called as a tool and as a command.
struct Lookup {
    purpose: Purpose,
    tool: &'static str,
    arguments: &'static str,
    /// The arguments with slots (`{argument}`, `{path}`, `{start}`, `{lines}`) in place of their values.
    slots: &'static str,
    /// The command with example arguments, and the command with slots. `None` for a look-up that
    /// needs a model, because the command line may not have one.
    command: Option<[&'static str; 2]>,
}

const LOOKUPS: [Lookup; 5] = [
    Lookup {
        purpose: Purpose::Query,
        tool: QUERY,
        arguments: "filter=JQ_FILTER",
        slots: "filter={argument}",
        command: Some(["query {handle} JQ_FILTER", "query {handle} {argument}"]),
    },
    Lookup {
        purpose: Purpose::Search,
        tool: SEARCH,
        arguments: "words=WORDS",
        slots: "words={argument}",
        command: Some(["search {handle} WORDS", "search {handle} {argument}"]),
    },
    Lookup {
        purpose: Purpose::Extract,
        tool: TOOL_OUTPUT,
        arguments: "extract=WHAT",
        slots: "extract={argument}",
        command: None,
    },
    Lookup {
        purpose: Purpose::Grep,
        tool: GREP,
        arguments: "pattern=REGEX",
        slots: "pattern={argument}",
        command: Some(["grep {handle} REGEX", "grep {handle} {argument}"]),
    },
    Lookup {
        purpose: Purpose::Read,
        tool: READ,
        arguments: "start=LINE, lines=N",
        slots: "{path}start={start}, lines={lines}",
        command: Some([
            "read {handle} --start LINE --lines N",
            "read {handle} {path}--start {start} --lines {lines}",
        ]),
    },
];

/// Returns the audience that can call the tools with these names.
#[must_use]
pub fn tools(names: &[&str]) -> Audience {
    let known = LOOKUPS.iter().filter(|one| names.contains(&one.tool));
    let way = |one: &Lookup| Way {
        purpose: one.purpose,
        call: format!("{}(handle=\"{{handle}}\", {})", one.tool, one.arguments),
        filled: format!("{}(handle=\"{{handle}}\", {})", one.tool, one.slots),
        short: format!("{}({})", one.tool, one.arguments),
        prefix: "",
    };
    Audience {
        ways: known.map(way).collect(),
        others: "with the same handle: ",
        quoting: Quoting::Json,
        alias: None,
    }
}

/// Returns the audience that can call the tools that are always listed: they need no model and no
/// profile.
#[must_use]
pub fn usual_tools() -> Audience {
    tools(&listed(false, false))
}

/// Returns the audience that can use the command line. `store_option` names the store if it is not
/// the default store: ` --store DIR`. Otherwise it is empty.
#[must_use]
pub fn command_line(store_option: &str) -> Audience {
    let way = |one: &Lookup| {
        let [command, slots] = one.command?;
        Some(Way {
            purpose: one.purpose,
            call: format!("spillgate {command}{store_option}"),
            filled: format!("spillgate {slots}{store_option}"),
            short: command.replace("{handle}", "HANDLE"),
            prefix: "",
        })
    };
    Audience {
        ways: LOOKUPS.iter().filter_map(way).collect(),
        others: "likewise: ",
        quoting: Quoting::Shell,
        alias: None,
    }
}
