//! The parsed arguments of `grep_content`.

use std::io;

use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use serde_json::json;
use spillgate_files::{ArgumentError, Arguments};
use spillgate_lookup::{Case, LookupError, PATTERN_BYTES, PATTERN_CHARS, Pattern, Seeker, Syntax};

use crate::recovery::RefusedSearch;
use crate::walk::{Deadline, Scope};
use crate::workspace::shown as named;

/// Maximum number of context lines on each side of a match. To see more, a model should use
/// `read_file`.
const MOST_CONTEXT: u64 = 1000;

/// Maximum bytes that a searching thread may allocate (64 MiB). This bounds the longest line that
/// is searched, or the largest file if matches may span lines.
pub(super) const HEAP_LIMIT: usize = 64 << 20;

/// What the answer lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Matching lines.
    Lines,
    /// Files with matches.
    Files,
    /// Files with the number of matching lines.
    Count,
}

/// The arguments of a call.
#[derive(Debug)]
pub(super) struct ContentQuery {
    compiled: Pattern,
    /// The pattern as the model wrote it.
    pub(super) pattern: String,
    pub(super) ignore_case: bool,
    pub(super) path: String,
    pub(super) glob: Option<String>,
    pub(super) mode: Mode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) multiline: bool,
    pub(super) scope: Scope,
    /// Maximum number of results on a page; `None` for all results.
    pub(super) max: Option<u64>,
    /// Number of results to skip before the page.
    pub(super) offset: u64,
}

impl ContentQuery {
    /// Parses arguments. Also accepts the argument names of similar tools.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, String> {
        let pattern = pattern(arguments)?;
        let multiline = arguments.flag("multiline")?;
        let context = number(arguments, &["context", "-C"])?;
        let around = |names| match number(arguments, names)?.or(context) {
            Some(lines) if lines > MOST_CONTEXT => Err(format!(
                "context is at most {MOST_CONTEXT} lines; read_file reads more around a match"
            )),
            lines => Ok(usize::try_from(lines.unwrap_or(0)).unwrap_or(usize::MAX)),
        };
        let mode = text(arguments, &["mode", "output_mode"])?;
        let ignore_case = arguments.flag("ignore_case")? || arguments.flag("-i")?;
        Ok(Self {
            compiled: compiled(&pattern, ignore_case, multiline)?,
            pattern,
            ignore_case,
            path: arguments.optional("path")?.unwrap_or_default(),
            glob: text(arguments, &["glob", "file_pattern"])?,
            mode: match mode.as_deref().map(str::trim) {
                None | Some("lines" | "content") => Mode::Lines,
                Some("files" | "files_with_matches") => Mode::Files,
                Some("count") => Mode::Count,
                Some(_) => return Err("mode must be lines, files or count".to_owned()),
            },
            before: around(&["before", "-B"])?,
            after: around(&["after", "-A"])?,
            multiline,
            scope: Scope {
                hidden: arguments.flag("hidden")?,
                no_ignore: arguments.flag("no_ignore")?,
            },
            max: match arguments.limit("max_results")? {
                None => arguments.limit("head_limit")?,
                max => max,
            },
            offset: arguments.number("offset")?.unwrap_or(0),
        })
    }

    /// Describes this search for a recovery block; `path` is where it ran.
    pub(super) fn refused_search(&self, path: String) -> RefusedSearch<'_> {
        let flags = [
            ("ignore_case", self.ignore_case),
            ("multiline", self.multiline),
            ("hidden", self.scope.hidden),
            ("no_ignore", self.scope.no_ignore),
        ];
        let glob = self.glob.as_ref().map(|glob| ("glob", json!(glob)));
        let set = flags.into_iter().filter(|(_, is_set)| *is_set);
        let set = set.map(|(name, is_set)| (name, json!(is_set)));
        RefusedSearch {
            pattern: &self.pattern,
            path,
            mode: match self.mode {
                Mode::Lines => None,
                Mode::Files => Some("files"),
                Mode::Count => Some("count"),
            },
            more: glob.into_iter().chain(set).collect(),
        }
    }

    /// Whether the call asks for a page.
    pub(super) fn is_paged(&self) -> bool {
        self.max.is_some() || self.offset > 0
    }

    /// Whether the answer includes lines around matches.
    pub(super) fn has_context(&self) -> bool {
        self.before > 0 || self.after > 0
    }

    /// Returns the searcher for a file. A file that a walk found is searched up to its first NUL,
    /// as in ripgrep; a file that the call names is searched completely. Lines are not numbered if
    /// the caller needs only counts.
    pub(super) fn searcher<'a>(
        &self,
        is_named: bool,
        only_counts: bool,
        deadline: &'a Deadline<'a>,
    ) -> FileSearcher<'a> {
        let mut builder = SearcherBuilder::new();
        builder
            .heap_limit(Some(HEAP_LIMIT))
            // With a memory map, truncating the file would kill our process.
            .memory_map(MmapChoice::never())
            .multi_line(self.multiline)
            .binary_detection(match is_named {
                true => BinaryDetection::convert(0),
                false => BinaryDetection::quit(0),
            })
            .line_number(!only_counts);
        if !only_counts {
            builder
                .before_context(self.before)
                .after_context(self.after);
        }
        let over = || Err(io::Error::other("the search is over"));
        FileSearcher {
            searcher: builder.build(),
            seeker: self
                .compiled
                .seeker(move || deadline.stop_reason().map_or(Ok(()), |_| over())),
        }
    }
}

/// Searches files, one after another.
#[derive(Debug)]
pub(super) struct FileSearcher<'a> {
    pub(super) searcher: Searcher,
    pub(super) seeker: Seeker<'a>,
}

fn pattern(arguments: &Arguments) -> Result<String, String> {
    // `optional` treats spaces as missing, but a pattern may consist of spaces.
    let pattern = match arguments.optional("pattern")? {
        Some(pattern) => pattern,
        None => arguments.text("pattern")?.to_owned(),
    };
    match pattern.chars().count() {
        0 => {
            Err("pattern is missing. Please give the regular expression to search for.".to_owned())
        }
        length if length > PATTERN_CHARS => Err(format!(
            "pattern has {length} characters; {PATTERN_CHARS} are allowed. Please use a shorter one."
        )),
        _ => Ok(pattern),
    }
}

fn compiled(pattern: &str, ignore_case: bool, is_multiline: bool) -> Result<Pattern, String> {
    let syntax = Syntax {
        case: match ignore_case {
            true => Case::Insensitive,
            false => Case::Sensitive,
        },
        crlf: pattern.contains('$'),
        is_multiline,
    };
    Pattern::new(pattern, syntax).map_err(|error| {
        let is_too_large = matches!(error, LookupError::PatternTooLarge);
        let error = match error {
            LookupError::BadPattern { message } => message,
            LookupError::PatternTooLarge => {
                format!("compiled, it takes more than {} MiB", PATTERN_BYTES >> 20)
            }
            error => error.to_string(),
        };
        let what = error.lines().last().unwrap_or_default();
        let what = what.trim().strip_prefix("error: ").unwrap_or(what);
        let help = match () {
            () if error.contains("\"\\n\" is not allowed") => {
                "Please set multiline: true to search over lines."
            }
            () if error.contains("look-around") || error.contains("backreferences") => {
                "Please search for a part of it without them."
            }
            () if is_too_large => "Please use smaller repetitions.",
            () => "Please escape special characters to search for them as they are, as in 'f\\('.",
        };
        format!(
            "Pattern '{}' cannot be read: {what}. {help}",
            named(pattern)
        )
    })
}

fn number(arguments: &Arguments, names: &[&str]) -> Result<Option<u64>, ArgumentError> {
    let mut numbers = names.iter().map(|name| arguments.number(name));
    numbers.find_map(Result::transpose).transpose()
}

fn text(arguments: &Arguments, names: &[&str]) -> Result<Option<String>, ArgumentError> {
    let mut texts = names.iter().map(|name| arguments.optional(name));
    texts.find_map(Result::transpose).transpose()
}
