//! The hooks of a client that run `spillgate hook`, in the client's settings.
//!
//! Claude Code keeps its hooks beside its permissions, in `settings.json`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::document::{Change, Edit};
use crate::entry::Entry;
use crate::file::Opened;
use crate::places::all_permissions;
use crate::plan::{Outcome, Plan, State};
use crate::record::{Kept, Records};
use crate::wrap::{plan, remember};
use crate::{Client, ClientsError, Scope, Surroundings};

/// The table of the hooks.
pub(crate) const HOOKS: &str = "hooks";

/// The events, each with the tools for which the hook runs. The tools whose results can be replaced
/// are those of `spillgate hook`.
const EVENTS: [(&str, Option<&str>); 2] = [
    ("SessionStart", None),
    ("PostToolUse", Some("Bash|WebFetch|Grep|Agent|Task|mcp__.*")),
];

/// Time limit of a hook, in seconds.
const TIMEOUT: u64 = 60;

/// Returns the files of `client` that can hold hooks, with their scopes. There are none for a client
/// whose hooks are not supported.
#[must_use]
pub fn hook_files(client: Client, of: &Surroundings) -> Vec<(Scope, PathBuf)> {
    let scopes = [Scope::User, Scope::Project, Scope::Local];
    let files = all_permissions(client, of);
    scopes.into_iter().zip(files).collect()
}

/// Plans to add the hooks that run `command` to `file`. Hooks of ours that are there stay as they
/// are. Returns `None` if the file does not exist.
pub fn add_hooks(
    client: Client,
    file: &Path,
    scope: Scope,
    command: &str,
    records: &Records,
) -> Result<Option<Plan>, ClientsError> {
    let Some(Opened { seen, values }) = Opened::open(file)? else {
        return Ok(None);
    };
    let (mut outcomes, mut kept) = (Vec::new(), Vec::new());
    let mut changes = Vec::new();
    for (event, matcher) in EVENTS {
        let is_there = groups(&values, event).any(|group| !commands(group).is_empty());
        outcomes.push(Outcome {
            server: format!("{HOOKS}.{event}"),
            scope,
            state: match is_there {
                true => State::Already,
                false => State::Added,
            },
            note: (!is_there).then(|| format!("runs `{command}`")),
        });
        if is_there {
            continue;
        }
        let had: Vec<&Value> = groups(&values, event).collect();
        let new = group(command, matcher);
        let list = json!([&[&new], &had[..]].concat());
        let entry = |list: &Value| Entry::from_iter([(event.to_owned(), list.clone())]);
        kept.push(Kept {
            at: vec![HOOKS.to_owned()],
            before: entry(&json!(had)),
            after: entry(&list),
            is_list: true,
        });
        changes.push(Change {
            field: event.to_owned(),
            to: Some(list),
        });
    }
    let edits: Vec<Edit> = edit(&values, changes).into_iter().collect();
    let after = seen.edited(&edits)?;
    let then = remember(client, &seen, &values, &after, kept, records)?;
    let parts = (seen, after, then);
    Ok(Some(plan(file, outcomes, Vec::new(), records, parts)))
}

/// Returns the edit that makes the changes to the table of the hooks, which may be missing.
fn edit(values: &Value, changes: Vec<Change>) -> Option<Edit> {
    if changes.is_empty() {
        return None;
    }
    if values.get(HOOKS).is_some() {
        let at = vec![HOOKS.to_owned()];
        return Some(Edit { at, changes });
    }
    let table = changes
        .into_iter()
        .filter_map(|change| Some((change.field, change.to?)));
    Some(Edit {
        at: Vec::new(),
        changes: vec![Change {
            field: HOOKS.to_owned(),
            to: Some(Value::Object(table.collect())),
        }],
    })
}

/// Returns a group with the hook.
fn group(command: &str, matcher: Option<&str>) -> Value {
    let hooks = json!([{"type": "command", "command": command, "timeout": TIMEOUT}]);
    match matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": hooks}),
        None => json!({"hooks": hooks}),
    }
}

/// Returns the groups of hooks of an event.
fn groups<'v>(values: &'v Value, event: &str) -> impl Iterator<Item = &'v Value> {
    let list = values.get(HOOKS).and_then(|hooks| hooks.get(event));
    list.and_then(Value::as_array).into_iter().flatten()
}

/// Returns the commands of a group that run `spillgate hook`.
fn commands(group: &Value) -> Vec<&str> {
    let hooks = group.get(HOOKS).and_then(Value::as_array);
    let commands = hooks.into_iter().flatten();
    let commands = commands.filter_map(|hook| hook.get("command")?.as_str());
    commands
        .filter(|command| command.contains("spillgate") && command.contains(" hook claude-code"))
        .collect()
}

/// The hooks of a file that run `spillgate hook`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// The different commands.
    pub commands: Vec<String>,
    /// The events that lack a hook.
    pub missing: Vec<&'static str>,
    /// Whether the file turns off all hooks (`disableAllHooks`).
    pub is_off: bool,
}

/// Returns the hooks of `file` that run `spillgate hook`; `None` if there are none or the file does
/// not exist.
pub fn inspect_hooks(file: &Path) -> Result<Option<HookReport>, ClientsError> {
    let Some(Opened { values, .. }) = Opened::open(file)? else {
        return Ok(None);
    };
    let mut report = HookReport {
        commands: Vec::new(),
        missing: Vec::new(),
        is_off: values.get("disableAllHooks") == Some(&Value::Bool(true)),
    };
    for (event, _) in EVENTS {
        let found: Vec<&str> = groups(&values, event).flat_map(commands).collect();
        if found.is_empty() {
            report.missing.push(event);
        }
        report.commands.extend(found.into_iter().map(str::to_owned));
    }
    report.commands.sort();
    report.commands.dedup();
    Ok(Some(report).filter(|report| !report.commands.is_empty()))
}
