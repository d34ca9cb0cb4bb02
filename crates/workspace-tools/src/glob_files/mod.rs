//! `glob_files`: lists the files that match a glob.
//!
//! The newest files come first, because a caller usually looks for a file that was edited recently.
//! Only as many paths are kept as an answer may contain; all matches are counted. Directories are
//! not listed. A symbolic link is listed if it leads to a file inside the root, with the
//! modification time of that file.

mod directories;
mod newest;
mod search;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::json;
use spillgate_files::Arguments;
use spillgate_offload::{Rejection, estimated_tokens};

use crate::definition::{Definition, schema};
use crate::recovery::{RefusedSearch, for_list};
use crate::rules::Rules;
use crate::tool_result::{Body, Reply, ToolError};
use crate::walk::{
    Base, Deadline, NamePattern, Scope, SearchRoot, SkippedEntries, StopReason, TIME_LIMIT, shown,
    start, walk,
};
use crate::workspace::{OpenedPath, Workspace, shown as named};
use crate::workspace_tools::Shared;
use directories::Directories;
use newest::NewestFiles;
use search::GlobWorker;
use spillgate_artifact::Interrupt;

/// Maximum number of files that are listed if the call does not ask for a page. The specification
/// of the `reject` profile (docs/spec/sources.md) demands a limit but gives no number. This number
/// is ten times the limit of the system that the specification describes. With it, a list of paths
/// of up to 100 bytes stays within 25,000 tokens.
const MOST_FILES: u64 = 1000;

pub(crate) fn definition(_: &Rules) -> Definition {
    let properties = json!({
        "pattern": {"type": "string", "description": "Glob, e.g. *.py (at any depth), src/**/*.{ts,tsx}, docs/* (below path)."},
        "path": {"type": "string", "description": "Directory to look in, from the root.", "default": "."},
        "hidden": {"type": "boolean", "default": false, "description": "Also what begins with a dot."},
        "no_ignore": {"type": "boolean", "default": false, "description": "Also what .gitignore and .ignore leave out."},
        "max_results": {"type": "integer", "minimum": 0, "default": 0, "description": "Most files to list; 0 for all."},
        "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Files to leave out at the beginning."},
    });
    Definition {
        name: "glob_files",
        description: format!(
            "Find files by a glob. Newest first. Directories are not listed; what .gitignore \
             leaves out and hidden files are passed by. More than {MOST_FILES} files are an error \
             that says how many: narrow the pattern, or page with max_results and offset."
        ),
        schema: schema(properties, &["pattern"]),
        is_read_only: true,
        is_open_world: false,
    }
}

pub(crate) fn call(shared: &Shared, arguments: &Arguments, stop: &Interrupt) -> Reply {
    call_within(shared, arguments, stop, TIME_LIMIT)
}

/// The arguments of a call.
struct GlobQuery {
    pattern: String,
    path: String,
    scope: Scope,
    max: Option<u64>,
    offset: u64,
}

impl GlobQuery {
    fn of(arguments: &Arguments) -> Result<Self, String> {
        let pattern = arguments.optional("pattern")?;
        Ok(Self {
            pattern: pattern.ok_or("pattern is missing. Please give a glob, as '*.py'.")?,
            path: arguments.optional("path")?.unwrap_or_default(),
            scope: Scope {
                hidden: arguments.flag("hidden")?,
                no_ignore: arguments.flag("no_ignore")?,
            },
            max: arguments.limit("max_results")?,
            offset: arguments.number("offset")?.unwrap_or(0),
        })
    }

    /// Describes this search for a recovery block; `path` is the searched path.
    fn refused_search(&self, path: String) -> RefusedSearch<'_> {
        let flags = [
            ("hidden", self.scope.hidden),
            ("no_ignore", self.scope.no_ignore),
        ];
        let set = flags.into_iter().filter(|(_, is_set)| *is_set);
        RefusedSearch {
            pattern: &self.pattern,
            path,
            mode: None,
            more: set.map(|(name, is_set)| (name, json!(is_set))).collect(),
        }
    }

    fn is_paged(&self) -> bool {
        self.max.is_some() || self.offset > 0
    }

    /// The number of newest files to keep, and the number of matches beyond which further matches
    /// are only counted.
    fn kept(&self) -> (u64, u64) {
        match self.max {
            Some(max) => (self.offset.saturating_add(max), u64::MAX),
            None if self.is_paged() => (u64::MAX, u64::MAX),
            None => (MOST_FILES, MOST_FILES),
        }
    }
}

fn call_within(shared: &Shared, arguments: &Arguments, stop: &Interrupt, limit: Duration) -> Reply {
    let query = GlobQuery::of(arguments)?;
    let deadline = Deadline::new(stop, limit);
    let base = match start(&shared.workspace, &query.path).map_err(ToolError::new)? {
        SearchRoot::Directory(base) => base,
        SearchRoot::File(_, path) => {
            return Err(ToolError::new(format!(
                "'{}' is a file, not a directory. Please give the directory that it is in.",
                shown(&path)
            )));
        }
    };
    let pattern = NamePattern::new(&query.pattern, false, &shared.workspace, &base)?;
    let mut scope = query.scope;
    scope.hidden |= pattern.is_hidden;
    let search = search::GlobSearch::new(
        &shared.workspace,
        &pattern,
        base.path.len(),
        query.kept(),
        shared.rules.detailed_recovery,
    );
    let walked = walk(&base, scope, &deadline, || GlobWorker::new(&search));
    let (mut newest, mut passed) = (NewestFiles::new(query.kept().0), 0);
    let mut directories = Directories::new(base.path.len());
    for seeker in walked.visitors {
        newest.join(seeker.newest);
        passed += seeker.passed;
        if let Some(seen) = seeker.directories {
            directories.join(seen);
        }
    }
    match walked.stop_reason {
        Some(StopReason::Stopped) => {
            Err(ToolError::new("Search was stopped, nobody waited for it."))
        }
        Some(StopReason::TimeOut) => Err(ToolError::new(format!(
            "Search took longer than {} s: {} of {} files match so far. \
             Please narrow it with path parameter.",
            limit.as_secs(),
            newest.total,
            passed + newest.total
        ))),
        None if newest.total == 0 => {
            let there = there(&shared.workspace, &base, &query.pattern);
            Ok(Body::Text(nothing(passed, &walked.skipped, &there)))
        }
        None => {
            let files = newest.total;
            let told = reply(shared, &query, newest, &walked.skipped);
            told.map_err(|why| match why {
                GlobError::TooMuch(refused) => {
                    let asked = query.refused_search(base.shown());
                    refused.with(&for_list(shared, &asked, files, &directories.sorted()))
                }
                GlobError::Other(refused) => refused,
            })
        }
    }
}

/// Why a search has no answer.
enum GlobError {
    /// The answer is too large.
    TooMuch(ToolError),
    Other(ToolError),
}

/// The answer of a search with matches.
fn reply(
    shared: &Shared,
    query: &GlobQuery,
    newest: NewestFiles,
    skipped: &SkippedEntries,
) -> Result<Body, GlobError> {
    let total = newest.total;
    let notes = notes(skipped);
    if !query.is_paged() && total > MOST_FILES {
        let limit = MOST_FILES;
        let rejection = Rejection::FileCount {
            files: total,
            limit,
        };
        return Err(GlobError::TooMuch(rejection.into()));
    }
    let first = query.offset;
    if first >= total {
        return Err(GlobError::Other(ToolError::new(format!(
            "offset {first} is past the last file: there are {total}. Please use a smaller offset."
        ))));
    }
    let end = query.max.map_or(total, |max| first.saturating_add(max));
    let part = first..end.min(total);
    let mut text = match part == (0..total) {
        true => String::new(),
        false => format!("[Files {}-{} of {total}]\n", part.start + 1, part.end),
    };
    let rules = &shared.rules;
    let mut bytes = (text.len() + notes.len()) as u64;
    for path in newest.sorted(part) {
        let row = shown(&path) + "\n";
        bytes += row.len() as u64;
        // Rows beyond the limit are only counted.
        if !rules.exceeds(bytes) {
            text += &row;
        }
    }
    match rules.exceeds(bytes) {
        true => Err(GlobError::TooMuch(too_much(bytes, rules))),
        false => Ok(Body::Text(text + &notes)),
    }
}

/// The error for a list that is too large in bytes, although its number of paths is allowed.
fn too_much(bytes: u64, rules: &Rules) -> ToolError {
    let rejection = Rejection::FileList {
        tokens: estimated_tokens(bytes),
        limit: rules.max_tokens,
    };
    ToolError::new(format!(
        "{rejection} Or list fewer at a time with max_results and offset parameters."
    ))
}

/// A note on directories that may hold unlisted files.
fn notes(skipped: &SkippedEntries) -> String {
    let unreadable = skipped.unreadable.note("directory", "directories");
    unreadable.map_or(String::new(), |names| format!("[Not read: {names}]\n"))
}

/// Reports what `pattern` leads to if it is a plain path: a directory, or a file that was
/// skipped.
fn there(workspace: &Workspace, base: &Base, pattern: &str) -> String {
    let Ok(below) = std::str::from_utf8(&base.path) else {
        return String::new();
    };
    let name = match pattern.starts_with('/') {
        true => pattern.to_owned(),
        false => format!("{below}{pattern}"),
    };
    let told = named(name.trim_end_matches('/'));
    match workspace.open_path(&name) {
        Ok(OpenedPath::Directory(..)) => {
            format!(" '{told}' is a directory: path '{told}' and pattern '*' find what is in it.")
        }
        Ok(OpenedPath::File(..)) => format!(" '{told}' is there, but passed by."),
        Err(_) => String::new(),
    }
}

/// The answer of a search without matches; lists what was skipped.
fn nothing(passed: u64, skipped: &SkippedEntries, there: &str) -> String {
    let mut text = format!("No files found. {passed} files do not match.{there}");
    let passed_by = skipped.notes();
    if !passed_by.is_empty() {
        text += &format!(" Passed by: {}.", passed_by.join(", "));
    }
    let notes = notes(skipped);
    if !notes.is_empty() {
        text.push('\n');
        text += notes.trim_end();
    }
    text
}
