//! The calls with which the reader of a message looks into a stored artifact.

use spillgate_artifact::{ContentKind, Handle};
use spillgate_outline::Lead;
use spillgate_untrusted::{is_hidden, shell_word};

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

/// Maximum number of calls in a message that carry the handle.
const CALLS: usize = 2;

/// Maximum characters of an argument in a call. A longer one costs more than it explains.
const ARGUMENT_CHARS: usize = 120;

/// A call that a reader can make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Its purpose.
    pub purpose: Purpose,
    /// The call, with `{handle}` where the handle belongs and names for its arguments.
    pub call: String,
    /// The call with `{handle}`, and `{argument}` or `{path}`, `{start}` and `{lines}` in place of
    /// the arguments.
    pub filled: String,
    /// The short form, shown after another call that has the handle.
    pub short: String,
    /// What stands before the argument, within its quotes.
    pub prefix: &'static str,
}

/// The reader of a message: a message names only calls that its reader can make. The default has no
/// calls, for programs that show their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audience {
    /// The calls, in any order.
    pub ways: Vec<Way>,
    /// Text before the calls without the handle.
    pub others: &'static str,
    /// How an argument is quoted.
    pub quoting: Quoting,
    /// What messages say in place of the handle; `None` if they say the handle.
    pub alias: Option<String>,
}

/// How an argument is quoted in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoting {
    /// As a JSON string.
    #[default]
    Json,
    /// As a word of a POSIX shell.
    Shell,
}

impl Quoting {
    /// Returns the argument between quotes; `None` if it cannot be quoted.
    fn of(self, argument: &str) -> Option<String> {
        match self {
            Self::Json => serde_json::to_string(argument).ok(),
            Self::Shell => (!argument.contains('\0')).then(|| shell_word(argument)),
        }
    }

    /// Returns a path as an argument before other arguments; `None` if it cannot be quoted.
    fn path(self, path: &str) -> Option<String> {
        let quoted = self.of(path)?;
        Some(match self {
            Self::Json => format!("path={quoted}, "),
            Self::Shell => format!("--path {quoted} "),
        })
    }
}

/// The calls at the end of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Calls {
    /// Calls that can be made as they stand.
    pub(crate) calls: Vec<String>,
    /// A line with the names and arguments of the other calls; empty if there are none.
    pub(crate) also: String,
}

impl Audience {
    /// Returns calls with the arguments of `leads`, at most one for each purpose, and names the
    /// other calls that can be made.
    #[must_use]
    pub(crate) fn calls(&self, handle: Handle, kind: ContentKind, leads: &[Lead]) -> Calls {
        let mut used: Vec<Purpose> = Vec::new();
        let mut calls = Vec::new();
        for lead in leads {
            let purpose = purpose_of(lead);
            let way = self.ways.iter().find(|way| way.purpose == purpose);
            if let Some(way) = way.filter(|_| !used.contains(&purpose) && calls.len() < CALLS)
                && let Some(filled) = self.filled(way, lead)
            {
                calls.push(filled.replace("{handle}", &handle.to_string()));
                used.push(purpose);
            }
        }
        let others = self.ways_for(kind);
        let others = others.filter(|way| !used.contains(&way.purpose));
        let others: Vec<&str> = others.map(|way| &*way.short).collect();
        let also = match &*others {
            [] => String::new(),
            others => format!("also, {}{}", self.others, others.join(", ")),
        };
        Calls { calls, also }
    }

    /// Returns the calls that make sense for a kind of content, the most useful first.
    fn ways_for(&self, kind: ContentKind) -> impl Iterator<Item = &Way> {
        use ContentKind::{Binary, Csv, Json, Ndjson, Tsv};
        use Purpose::{Extract, Grep, Query, Read, Search};
        let purposes: &[Purpose] = match kind {
            Json | Ndjson | Csv | Tsv => &[Query, Search, Extract, Grep, Read],
            Binary => &[Grep, Read],
            _ => &[Search, Extract, Grep, Read],
        };
        let find = |purpose| self.ways.iter().find(move |way| way.purpose == purpose);
        purposes.iter().filter_map(move |&purpose| find(purpose))
    }

    /// Fills the arguments into a call. The placeholder `{handle}` is replaced later, so no
    /// argument may contain it.
    fn filled(&self, way: &Way, lead: &Lead) -> Option<String> {
        let range = |start: &u64, lines: &u64| {
            let filled = way.filled.replace("{start}", &start.to_string());
            filled.replace("{lines}", &lines.to_string())
        };
        match lead {
            Lead::Read { start, lines } => Some(range(start, lines).replace("{path}", "")),
            Lead::ReadInside { path, start, lines } => {
                let is_fit = is_fit(path) && way.filled.contains("{path}");
                let path = is_fit.then(|| self.quoting.path(path))??;
                Some(range(start, lines).replace("{path}", &path))
            }
            Lead::Query(text) | Lead::Search(text) | Lead::Grep(text) => {
                let argument = format!("{}{text}", way.prefix);
                let quoted = is_fit(text).then(|| self.quoting.of(&argument))??;
                Some(way.filled.replace("{argument}", &quoted))
            }
        }
    }

    /// Returns the next calls, the most useful first and with the handle filled in. The others
    /// share one line without it: a handle costs some 50 tokens, and four of them would take half
    /// of a preview (ADR 6).
    #[must_use]
    pub fn next(&self, handle: Handle, kind: ContentKind) -> Vec<String> {
        let mut ways = self.ways_for(kind);
        let Some(first) = ways.next() else {
            return Vec::new();
        };
        let others: Vec<&str> = ways.map(|way| &*way.short).collect();
        vec![
            first.call.replace("{handle}", &handle.to_string()),
            format!("or, {}{}", self.others, others.join(", ")),
        ]
    }
}

/// Returns whether a text can be an argument of a call.
fn is_fit(argument: &str) -> bool {
    argument.chars().count() <= ARGUMENT_CHARS
        && !argument.contains("{handle}")
        && !argument.chars().any(|c| c.is_control() || is_hidden(c))
}

fn purpose_of(lead: &Lead) -> Purpose {
    match lead {
        Lead::Query(_) => Purpose::Query,
        Lead::Search(_) => Purpose::Search,
        Lead::Grep(_) => Purpose::Grep,
        Lead::Read { .. } | Lead::ReadInside { .. } => Purpose::Read,
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_artifact::Word;

    use super::*;

    #[test]
    fn arguments_are_quoted_and_cannot_break_out() {
        let way = |purpose, filled: &str, short: &str| Way {
            purpose,
            call: String::new(),
            filled: filled.to_owned(),
            short: short.to_owned(),
            prefix: "",
        };
        let shell = Audience {
            ways: vec![
                way(Purpose::Search, "find {handle} {argument}", "find WORDS"),
                way(
                    Purpose::Read,
                    "read {handle} {path}{start} {lines}",
                    "read LINE",
                ),
                way(Purpose::Query, "query {handle} {argument}", "query FILTER"),
            ],
            others: "likewise: ",
            quoting: Quoting::Shell,
            alias: None,
        };
        let json = Audience {
            quoting: Quoting::Json,
            ..shell.clone()
        };
        let handle = Handle::Short(Word::random());
        let said = |audience: &Audience, leads: &[Lead]| {
            let calls = audience.calls(handle, ContentKind::Json, leads);
            let all = [calls.calls, vec![calls.also]].concat().join("\n");
            all.replace(&handle.to_string(), "H")
        };
        let search = |words: &str| Lead::Search(words.to_owned());
        let read = Lead::Read {
            start: 3,
            lines: 40,
        };
        let inside = |path: &str| read.clone().inside(path).unwrap();
        let all = [
            said(&shell, &[inside(".files[2].\"a $(b)\""), search("x")]),
            said(&json, &[inside(".files[2].\"a $(b)\"")]),
            said(&shell, &[inside(".\u{202e}")]),
            said(&shell, &[search("it's $(here) \"now\""), read.clone()]),
            said(
                &json,
                &[
                    search("it's $(here) \"now\""),
                    search("again"),
                    read.clone(),
                ],
            ),
            // These texts cannot be quoted as arguments, so the calls are left out.
            said(
                &shell,
                &[
                    search("a\u{1b}[1m"),
                    search("\u{202e}x"),
                    search("{handle}"),
                ],
            ),
            said(&shell, &[search(&"x".repeat(121)), read]),
            said(&Audience::default(), &[search("x")]),
        ];
        assert_snapshot!(all.join("\n--\n"), @r#"
        read H --path '.files[2]."a $(b)"' 3 40
        find H x
        also, likewise: query FILTER
        --
        read H path=".files[2].\"a $(b)\"", 3 40
        also, likewise: query FILTER, find WORDS
        --
        also, likewise: query FILTER, find WORDS, read LINE
        --
        find H 'it'\''s $(here) "now"'
        read H 3 40
        also, likewise: query FILTER
        --
        find H "it's $(here) \"now\""
        read H 3 40
        also, likewise: query FILTER
        --
        also, likewise: query FILTER, find WORDS, read LINE
        --
        read H 3 40
        also, likewise: query FILTER, find WORDS
        --
        "#);
    }
}
