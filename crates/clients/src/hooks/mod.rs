//! The hooks of a client that run `spillgate hook`: adds them to the client's settings, and reports
//! which are there.

mod form;

use std::path::Path;

use serde_json::{Map, Value, json};

use self::form::{Form, Table, form, plain_command};
use crate::document::{Change, Edit};
use crate::entry::Entry;
use crate::file::{Opened, Seen, digest, read};
use crate::plan::{Outcome, Plan, State, Then};
use crate::record::{Kept, Record, Records};
use crate::wrap::{plan, remember};
use crate::{Client, ClientsError, Scope};

pub use self::form::{has_hooks, hook_files};

/// The table of the hooks.
pub(crate) const HOOKS: &str = "hooks";

/// Plans to add the hooks that run `words`, which are quoted for a shell, to `file`. Hooks of ours
/// that are there stay as they are. A file that does not exist is created. Returns `None` if the
/// client's hooks are not supported.
pub fn add_hooks(
    client: Client,
    file: &Path,
    scope: Scope,
    words: &[String],
    records: &Records,
) -> Result<Option<Plan>, ClientsError> {
    match form(client) {
        None => Ok(None),
        Some(Form::Table(table)) => {
            add_to_table(client, file, scope, &table, words, records).map(Some)
        }
        Some(Form::Own(text)) => {
            let text = text(words);
            add_own(client, file, scope, (&text, words), records).map(Some)
        }
    }
}

fn add_to_table(
    client: Client,
    file: &Path,
    scope: Scope,
    table: &Table,
    words: &[String],
    records: &Records,
) -> Result<Plan, ClientsError> {
    let Opened { seen, values } = Opened::open_or_new(file)?;
    let (mut outcomes, mut kept) = (Vec::new(), Vec::new());
    let mut changes = Vec::new();
    for &(event, matcher) in table.events {
        let is_there = hooks(&values, event).any(|one| !commands(client, one).is_empty());
        outcomes.push(outcome(
            format!("{HOOKS}.{event}"),
            scope,
            is_there,
            words,
            table.also,
        ));
        if is_there {
            continue;
        }
        let had: Vec<&Value> = hooks(&values, event).collect();
        let new = table.element(words, matcher);
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
    let after = match seen.exists {
        true => seen.edited(&edit(&values, changes).into_iter().collect::<Vec<Edit>>())?,
        false => new_file(table, changes),
    };
    let then = remember(client, &seen, &values, &after, kept, records)?;
    let parts = (seen, after, then);
    Ok(plan(file, outcomes, Vec::new(), records, parts))
}

fn outcome(
    name: String,
    scope: Scope,
    is_there: bool,
    words: &[String],
    also: Option<&str>,
) -> Outcome {
    let also = also.map(|also| format!("; {also}")).unwrap_or_default();
    Outcome {
        server: name,
        scope,
        state: match is_there {
            true => State::Already,
            false => State::Added,
        },
        note: (!is_there).then(|| format!("runs `{}`{also}", words.join(" "))),
    }
}

/// Returns a new file with only the hooks.
fn new_file(table: &Table, changes: Vec<Change>) -> Vec<u8> {
    let lists = changes
        .into_iter()
        .filter_map(|change| Some((change.field, change.to?)));
    let mut top = Map::new();
    top.extend(
        table
            .top
            .map(|(name, value)| (name.to_owned(), json!(value))),
    );
    top.insert(HOOKS.to_owned(), Value::Object(lists.collect()));
    format!("{:#}\n", Value::Object(top)).into_bytes()
}

/// Plans to write the file that holds only the hook. A file of this name that is not ours stays.
fn add_own(
    client: Client,
    file: &Path,
    scope: Scope,
    (text, words): (&str, &[String]),
    records: &Records,
) -> Result<Plan, ClientsError> {
    let seen = read(file)?.unwrap_or_else(|| Seen::missing(file));
    let had = records.load(&seen.file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut one = outcome(name.into_owned(), scope, false, words, None);
    let is_ours = |had: &Record| had.written == digest(&seen.bytes);
    let (after, then) = if seen.exists && !had.as_ref().is_some_and(is_ours) {
        let is_there = seen.bytes == text.as_bytes();
        one.note = None;
        one.state = match is_there {
            true => State::Already,
            false => State::Left("there is another file of this name".to_owned()),
        };
        (seen.bytes.clone(), Then::Leave)
    } else {
        if seen.bytes == text.as_bytes() {
            (one.state, one.note) = (State::Already, None);
        }
        let record = Record {
            client,
            file: seen.file.clone(),
            original: digest(b""),
            written: digest(text.as_bytes()),
            entries: Vec::new(),
            created: true,
        };
        let original = Vec::new();
        let save = Then::Save {
            record,
            original,
            had,
        };
        (text.as_bytes().to_vec(), save)
    };
    let parts = (seen, after, then);
    Ok(plan(file, vec![one], Vec::new(), records, parts))
}

/// Plans to remove the file that holds only the hook, unless it was changed.
pub(crate) fn remove_own(file: &Path, seen: Seen, record: Record) -> Plan {
    let exact = record.written == digest(&seen.bytes);
    let state = match exact {
        true => State::Removed,
        false => State::Left("it was changed since `wrap` wrote it; remove it by hand".to_owned()),
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Plan {
        file: file.to_owned(),
        outcomes: vec![Outcome {
            server: name.into_owned(),
            scope: Scope::User,
            state,
            note: None,
        }],
        names: Vec::new(),
        wraps: false,
        exact,
        backup: None,
        after: match exact {
            true => Vec::new(),
            false => seen.bytes.clone(),
        },
        removes: exact,
        seen,
        then: match exact {
            true => Then::Forget {
                record,
                keep_backup: false,
            },
            false => Then::Leave,
        },
    }
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

/// Returns the hooks, or groups of hooks, of an event.
fn hooks<'v>(values: &'v Value, event: &str) -> impl Iterator<Item = &'v Value> {
    let list = values.get(HOOKS).and_then(|hooks| hooks.get(event));
    list.and_then(Value::as_array).into_iter().flatten()
}

/// Returns the commands of a hook, or of a group, that run `spillgate hook`.
fn commands(client: Client, one: &Value) -> Vec<&str> {
    let inner = one.get(HOOKS).and_then(Value::as_array);
    let all = inner.into_iter().flatten().chain([one]);
    let ours = format!(" hook {client}");
    let commands = all.filter_map(|hook| {
        let command = hook.get("command").or_else(|| hook.get("bash"))?;
        Some(plain_command(command.as_str()?))
    });
    commands
        .filter(|command| command.contains("spillgate") && command.contains(&ours))
        .collect()
}

/// The hooks of a file that run `spillgate hook`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// The different commands.
    pub commands: Vec<String>,
    /// The events that lack a hook.
    pub missing: Vec<&'static str>,
    /// What turns off all hooks in this file, if anything does.
    pub off: Option<&'static str>,
}

/// Returns the hooks of `file` that run `spillgate hook`; `None` if there are none or the file does
/// not exist.
pub fn inspect_hooks(client: Client, file: &Path) -> Result<Option<HookReport>, ClientsError> {
    let report = match form(client) {
        None => None,
        Some(Form::Own(_)) => own_report(client, file)?,
        Some(Form::Table(table)) => table_report(client, file, &table)?,
    };
    Ok(report.filter(|report| !report.commands.is_empty()))
}

fn own_report(client: Client, file: &Path) -> Result<Option<HookReport>, ClientsError> {
    let Some(seen) = read(file)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&seen.bytes);
    // The only text in the file that is a JSON string and contains the command.
    let ours = format!(" hook {client}");
    let mut strings = text.match_indices('"').filter_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<String>();
        values.next()?.ok()
    });
    let found = strings.find(|one| one.ends_with(&ours));
    let command = found.map(|one| plain_command(&one).to_owned());
    Ok(Some(HookReport {
        commands: command.into_iter().collect(),
        missing: Vec::new(),
        off: None,
    }))
}

fn table_report(
    client: Client,
    file: &Path,
    table: &Table,
) -> Result<Option<HookReport>, ClientsError> {
    let Some(Opened { values, .. }) = Opened::open(file)? else {
        return Ok(None);
    };
    let is = |at: &str, value: bool| values.pointer(at) == Some(&Value::Bool(value));
    let mut report = HookReport {
        commands: Vec::new(),
        missing: Vec::new(),
        off: match client {
            Client::ClaudeCode if is("/disableAllHooks", true) => Some("disableAllHooks"),
            Client::Gemini if is("/hooksConfig/enabled", false) => Some("hooksConfig.enabled"),
            _ => None,
        },
    };
    for (event, _) in table.events {
        let all = hooks(&values, event).flat_map(|one| commands(client, one));
        let found: Vec<&str> = all.collect();
        if found.is_empty() {
            report.missing.push(event);
        }
        report.commands.extend(found.into_iter().map(str::to_owned));
    }
    report.commands.sort();
    report.commands.dedup();
    Ok(Some(report))
}
