//! `grep_content`: lists the lines that match a regular expression.
//!
//! Runs ripgrep's searcher on our own walk ([`crate::walk`]). Several threads search files, and the
//! answer is sorted by path, so it is the same each time. Results are counted as they arrive;
//! results beyond the limit of an answer are only counted. A page takes two passes: the first pass
//! counts the matches of all files, the second pass searches the files of the page again to produce
//! their rows.

mod page;
mod query;
mod report;
mod rows;
mod search;

#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use spillgate_files::Arguments;

use crate::definition::{Definition, schema};
use crate::rules::Rules;
use crate::tool_result::{Reply, ToolError};
use crate::walk::{Base, Deadline, NamePattern, SearchRoot, TIME_LIMIT, start, walk};
use crate::workspace_tools::Shared;
use spillgate_artifact::Interrupt;

use page::Pager;
use query::ContentQuery;
use report::SearchReport;
use search::{GrepSearch, GrepWorker, SearchResults};

pub(crate) fn definition(_: &Rules) -> Definition {
    let properties = json!({
        "pattern": {"type": "string", "description": "Regular expression (Rust syntax, as ripgrep has)."},
        "path": {"type": "string", "description": "File or directory to search, from the root.", "default": "."},
        "glob": {"type": "string", "description": "Only files whose names match, e.g. *.py, src/**/*.{ts,tsx}; !*.min.js leaves out."},
        "mode": {"type": "string", "enum": ["lines", "files", "count"], "default": "lines",
            "description": "path:line:text of matching lines, names of files only, or lines per file."},
        "ignore_case": {"type": "boolean", "default": false},
        "context": {"type": "integer", "minimum": 0, "default": 0, "description": "Lines to show around each match."},
        "before": {"type": "integer", "minimum": 0, "description": "Lines before, instead of context."},
        "after": {"type": "integer", "minimum": 0, "description": "Lines after, instead of context."},
        "multiline": {"type": "boolean", "default": false, "description": "Whether a match may go over lines (\\n; (?s) lets . match it)."},
        "hidden": {"type": "boolean", "default": false, "description": "Also what begins with a dot."},
        "no_ignore": {"type": "boolean", "default": false, "description": "Also what .gitignore and .ignore leave out."},
        "max_results": {"type": "integer", "minimum": 0, "default": 0, "description": "Most results to show; 0 for all."},
        "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Results to leave out at the beginning."},
    });
    Definition {
        name: "grep_content",
        description:
            "Search file contents with a regular expression. Sorted by path. What .gitignore \
             leaves out, hidden and binary files are passed by. An answer that would be too large \
             is an error that says how large: narrow the pattern, or page with max_results and offset."
                .to_owned(),
        schema: schema(properties, &["pattern"]),
        is_read_only: true,
        is_open_world: false,
    }
}

pub(crate) fn call(shared: &Shared, arguments: &Arguments, stop: &Interrupt) -> Reply {
    call_within(shared, arguments, stop, TIME_LIMIT)
}

fn call_within(shared: &Shared, arguments: &Arguments, stop: &Interrupt, limit: Duration) -> Reply {
    let query = ContentQuery::of(arguments)?;
    let deadline = Deadline::new(stop, limit);
    match start(&shared.workspace, &query.path).map_err(ToolError::new)? {
        SearchRoot::File(file, path) => page::file(shared, &query, &file, &path, &deadline),
        SearchRoot::Directory(base) => directory(shared, &query, &base, &deadline),
    }
}

/// Searches a directory.
fn directory(shared: &Shared, query: &ContentQuery, base: &Base, deadline: &Deadline<'_>) -> Reply {
    let glob = query.glob.as_deref();
    let glob = glob.map(|glob| NamePattern::new(glob, true, &shared.workspace, base));
    let glob = glob.transpose()?;
    let mut scope = query.scope;
    scope.hidden |= glob.as_ref().is_some_and(|glob| glob.is_hidden);
    let search = GrepSearch::new(query, &shared.rules);
    let seeker = || GrepWorker::new(&search, base, glob.as_ref(), deadline);
    let walked = walk(base, scope, deadline, seeker);
    let mut found = SearchResults::default();
    for seeker in walked.visitors {
        found.join(seeker.found);
    }
    found.hits.sort_unstable();
    let pager = Pager {
        report: SearchReport {
            query,
            found: &found,
            skipped: &walked.skipped,
            shared,
            path: &|| base.shown(),
        },
        deadline,
        reopen: &|path| base.reopen(path),
    };
    pager.reply(search.bytes.load(Ordering::Relaxed))
}
