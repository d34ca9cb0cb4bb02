//! Finds matching lines.
//!
//! There are two ways to search, with the same results. Ordinary views are searched with ripgrep's
//! searcher; large ones in two parts at the same time ([`scan`]). That searcher holds whole lines
//! in memory, so views with very long lines are searched block by block ([`long`]). Both report the
//! view lines on which a match begins.

mod long;
mod page;
mod pattern;
mod scan;

use std::borrow::Cow;
use std::io;

use spillgate_artifact::{ByteSource, TokenBudget};
use spillgate_text::{LineSpan, Lines, TokenCounter, View};

use crate::{Artifact, LookupError};

pub use page::{Context, GrepPage, Match, PageLine};
pub use pattern::{CostlyBoundary, PATTERN_BYTES, PATTERN_CHARS, Pattern, Seeker, Syntax};

/// Maximum length of a line that is held in memory, in bytes. Views with longer lines are searched
/// block by block.
const LONGEST_HELD: u64 = 256 << 10;

/// How upper-case and lower-case letters are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// As different letters.
    #[default]
    Sensitive,
    /// As equal letters.
    Insensitive,
}

/// What to find, and how much of it to show.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of `grep`, and any of them go together"
)]
pub struct GrepQuery<'a> {
    /// A regular expression in the `regex` crate's syntax.
    pub pattern: &'a str,
    /// How upper-case and lower-case letters are compared.
    pub case: Case,
    /// Number of context lines before each match.
    pub before: u64,
    /// Number of context lines after each match.
    pub after: u64,
    /// The view line, counted from 1, from which matches are shown; 0 counts as 1.
    pub start: u64,
    /// Maximum number of matches on the page.
    pub max_matches: usize,
    /// Maximum size of the page, in tokens.
    pub budget: TokenBudget,
    /// Whether matches in laid-out JSON, HTML and XML are shown with the record or the lines around
    /// them if the page has room for all of them. Only without other context lines.
    pub widens: bool,
    /// Whether to search the whole view in order to count all matching lines. Otherwise, the search
    /// ends at the end of the page.
    pub count_all: bool,
    /// Whether the pattern is a plain text and not a regular expression.
    pub is_literal: bool,
    /// Whether a match must begin and end at the edges of words.
    pub is_word: bool,
    /// Whether the lines without a match are found.
    pub inverts: bool,
    /// Whether only the matching parts of a line are shown.
    pub only_parts: bool,
}

impl<'a> GrepQuery<'a> {
    /// Creates a query for all matches of `pattern` within `budget`, without context. All matches
    /// are counted.
    #[must_use]
    pub fn new(pattern: &'a str, budget: TokenBudget) -> Self {
        Self {
            pattern,
            case: Case::Sensitive,
            before: 0,
            after: 0,
            start: 1,
            max_matches: usize::MAX,
            budget,
            widens: false,
            count_all: true,
            is_literal: false,
            is_word: false,
            inverts: false,
            only_parts: false,
        }
    }

    /// Compiles the pattern.
    ///
    /// # Errors
    ///
    /// Fails if the pattern is not a regular expression, or is too large.
    pub fn compiled(&self) -> Result<Pattern, LookupError> {
        let syntax = Syntax::of_lines(self.case);
        let mut pattern = Cow::Borrowed(self.pattern);
        if self.is_literal {
            pattern = Cow::Owned(regex::escape(&pattern));
        }
        let compiled = Pattern::new(&pattern, syntax)?;
        match self.is_word {
            // The pattern was compiled alone first, so that errors quote it as it was written.
            true => Pattern::new(
                &format!(r"\b{{start-half}}(?:{pattern})\b{{end-half}}"),
                syntax,
            ),
            false => Ok(compiled),
        }
    }
}

/// The number of matching view lines, and the positions of the first of them. If the query inverts,
/// those of the other lines.
#[derive(Default)]
struct MatchOffsets<'a> {
    /// Number of matching view lines found.
    total: u64,
    /// One position on each matching line that is at or after the start of the query.
    offsets: Vec<u64>,
    /// If the query inverts, the lines on which the search has not decided yet.
    others: Option<Others<'a>>,
}

/// Returns the first page of matches.
pub fn grep(
    artifact: &Artifact,
    query: &GrepQuery<'_>,
    counter: &dyn TokenCounter,
) -> Result<GrepPage, LookupError> {
    grep_view(artifact.view(), query, counter)
}

/// Returns the first page of matches in a view. The view need not be stored.
pub fn grep_view(
    view: &View,
    query: &GrepQuery<'_>,
    counter: &dyn TokenCounter,
) -> Result<GrepPage, LookupError> {
    let pattern = query.compiled()?;
    // A match costs at least a quarter of a token for its line number and newline.
    let most = query.budget.get().saturating_mul(4).saturating_add(1);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let search = Search {
        view,
        pattern: &pattern,
        // One more match than the page holds, so that the start of the next page is known.
        wanted: query.max_matches.clamp(1, most).saturating_add(1),
        start: view.offset_of_line(query.start.max(1))?,
        count_all: query.count_all,
        inverts: query.inverts,
    };
    let mut found = match view.index().longest_line > LONGEST_HELD {
        true => long::search(&search)?,
        false => scan::search(&search)?,
    };
    search.note_rest(&mut found)?;
    page::page(view, &pattern, query, &found, counter)
}

/// Returns the seeker that finds `pattern` in a source.
fn seeker<'a>(pattern: &Pattern, source: &'a dyn ByteSource) -> Seeker<'a> {
    pattern.seeker(|| Ok(source.check()?))
}

/// A running search.
struct Search<'a> {
    view: &'a View,
    pattern: &'a Pattern,
    /// Maximum number of offsets to collect.
    wanted: usize,
    /// Matches before this byte are counted, but their offsets are not collected.
    start: u64,
    count_all: bool,
    /// Whether the lines without a match are found.
    inverts: bool,
}

/// The lines of a view from one position on, to note those between two matching lines.
struct Others<'a> {
    lines: Lines<'a>,
    next: Option<LineSpan>,
}

impl<'a> Others<'a> {
    fn new(view: &'a View) -> io::Result<Self> {
        let mut lines = view.lines_from(1)?;
        let next = lines.next_line()?;
        Ok(Self { lines, next })
    }

    /// Returns the next line if it ends at or before `offset`.
    fn before(&mut self, offset: u64) -> io::Result<Option<LineSpan>> {
        match self.next {
            Some(line) if line.end <= offset => {
                self.next = self.lines.next_line()?;
                Ok(Some(line))
            }
            _ => Ok(None),
        }
    }
}

impl<'a> Search<'a> {
    /// Returns the record of a search that begins at the start of the view.
    fn offsets(&self) -> io::Result<MatchOffsets<'a>> {
        let others = match self.inverts {
            true => Some(Others::new(self.view)?),
            false => None,
        };
        Ok(MatchOffsets {
            others,
            ..MatchOffsets::default()
        })
    }

    /// Records the view line of a match, which begins at `offset`; if the query inverts, the lines
    /// before it on which no match begins. Returns whether the search continues.
    fn note(&self, found: &mut MatchOffsets<'a>, offset: u64) -> io::Result<bool> {
        let Some(mut others) = found.others.take() else {
            return Ok(self.take(found, offset));
        };
        let mut goes_on = true;
        while goes_on && let Some(line) = others.before(offset)? {
            goes_on = self.take(found, line.start);
        }
        if goes_on && others.next.is_some_and(|line| line.start <= offset) {
            others.next = others.lines.next_line()?;
        }
        found.others = Some(others);
        Ok(goes_on)
    }

    /// If the query inverts, records the lines after the last match. Does nothing if the search
    /// ended before.
    fn note_rest(&self, found: &mut MatchOffsets<'a>) -> io::Result<()> {
        let is_done = !self.count_all && found.offsets.len() >= self.wanted;
        if found.others.is_some() && !is_done {
            self.note(found, u64::MAX)?;
        }
        Ok(())
    }

    /// Records a line that is found. Returns whether the search continues.
    fn take(&self, found: &mut MatchOffsets<'a>, offset: u64) -> bool {
        found.total += 1;
        if offset >= self.start && found.offsets.len() < self.wanted {
            found.offsets.push(offset);
        }
        self.count_all || found.offsets.len() < self.wanted
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_artifact::Layout;
    use spillgate_text::Tokenizer;

    use super::*;
    use crate::artifact::tests::{artifact, artifact_as};

    const BUDGET: u64 = 100_000;

    fn query(pattern: &str) -> GrepQuery<'_> {
        GrepQuery::new(pattern, TokenBudget::new(BUDGET))
    }

    fn run(artifact: &Artifact, query: &GrepQuery<'_>) -> GrepPage {
        grep(artifact, query, &*Tokenizer::O200kBase.counter()).unwrap()
    }

    fn lines(page: &GrepPage) -> Vec<(u64, &str)> {
        let shown = page.matches.iter();
        shown
            .map(|found| (found.line, found.text.as_str()))
            .collect()
    }

    #[test]
    fn patterns() {
        type Lines = &'static [(u64, &'static str)];
        let artifact = artifact("one\nTwo two\nthree\n\nétwo\nCR\r\n");
        let cases: [(&str, Case, Lines); 8] = [
            ("R$", Case::Sensitive, &[(6, "CR\r")]),
            ("two", Case::Sensitive, &[(2, "Two two"), (5, "étwo")]),
            ("two", Case::Insensitive, &[(2, "Two two"), (5, "étwo")]),
            ("^T", Case::Sensitive, &[(2, "Two two")]),
            ("^t", Case::Insensitive, &[(2, "Two two"), (3, "three")]),
            ("e$", Case::Sensitive, &[(1, "one"), (3, "three")]),
            ("^$", Case::Sensitive, &[(4, "")]),
            (r"\bnone\b", Case::Sensitive, &[]),
        ];
        for (pattern, case, want) in cases {
            let page = run(
                &artifact,
                &GrepQuery {
                    case,
                    ..query(pattern)
                },
            );
            assert_eq!(lines(&page), want, "{pattern}");
            assert_eq!((page.total, page.next), (want.len() as u64, None));
        }
    }

    #[test]
    fn context_is_the_lines_around() {
        let artifact = artifact("a\nb\nX\nc\nX\nd\n");
        let page = run(
            &artifact,
            &GrepQuery {
                before: 2,
                after: 1,
                ..query("X")
            },
        );
        let context = |lines: &[Context]| -> Vec<(u64, String)> {
            lines
                .iter()
                .map(|one| (one.line, one.text.clone()))
                .collect()
        };
        let first = &page.matches[0];
        assert_eq!(context(&first.before), [(1, "a".into()), (2, "b".into())]);
        assert_eq!(context(&first.after), [(4, "c".into())]);
        // A line is shown only once, and a match is never shown as context.
        assert_eq!(context(&page.matches[1].before), []);
        assert_eq!(context(&page.matches[1].after), [(6, "d".into())]);
    }

    #[test]
    fn how_a_page_is_written() {
        let artifact = artifact("a\nX1\nb\nc\nX2\nX3\nd\ne\nf\nX4\n");
        let written = |before, after| {
            let query = GrepQuery {
                before,
                after,
                ..query("X")
            };
            run(&artifact, &query).render().replace('\n', " ")
        };
        assert_eq!(written(0, 0), "2:X1 5:X2 6:X3 10:X4 ");
        assert_eq!(written(1, 0), "1-a 2:X1 -- 4-c 5:X2 6:X3 -- 9-f 10:X4 ");
        assert_eq!(
            written(1, 1),
            "1-a 2:X1 3-b 4-c 5:X2 6:X3 7-d -- 9-f 10:X4 "
        );
    }

    #[test]
    fn matches_stand_in_their_record_if_there_is_room() {
        let record =
            |at: u64| format!("  {{\n    \"id\": {at},\n    \"name\": \"lamp {at}\"\n  }}");
        let records: Vec<String> = (0..40).map(record).collect();
        let text = format!("[\n{}\n]\n", records.join(",\n"));
        let shown = |layout, pattern: &str, budget| {
            let query = GrepQuery {
                budget: TokenBudget::new(budget),
                widens: true,
                ..query(pattern)
            };
            let page = run(&artifact_as(&text, layout), &query);
            (page.render(), page.is_widened)
        };
        let (json, is_widened) = shown(Layout::Json, "lamp 1[23]", 500);
        let want = "50-  {\n51-    \"id\": 12,\n52:    \"name\": \"lamp 12\"\n53-  },\n\
            54-  {\n55-    \"id\": 13,\n56:    \"name\": \"lamp 13\"\n57-  },\n";
        assert_eq!((json.as_str(), is_widened), (want, true));
        assert!(
            shown(Layout::Json, r"lamp 7\W", 500)
                .0
                .starts_with("30-  {\n")
        );
        let (markup, _) = shown(Layout::Markup, r"lamp 7\W", 500);
        assert!(markup.starts_with("29-  },\n"), "{markup}");
        // There is no room for all matches with their records.
        let bare = "52:    \"name\": \"lamp 12\"\n56:    \"name\": \"lamp 13\"\n";
        assert_eq!(
            shown(Layout::Json, "lamp 1[23]", 40),
            (bare.to_owned(), false)
        );
        assert_eq!(
            shown(Layout::AsIs, "lamp 1[23]", 500),
            (bare.to_owned(), false)
        );
        assert!(shown(Layout::Json, "lamp", 5000).0.starts_with("4:"));
    }

    #[test]
    fn context_gives_way_to_the_match() {
        let around = "a long line beside it, of many words ".repeat(4);
        let artifact = artifact(&format!("{around}\nneedle\n{around}\n"));
        let query = GrepQuery {
            before: 1,
            after: 1,
            budget: TokenBudget::new(30),
            ..query("needle")
        };
        let page = run(&artifact, &query);
        assert_eq!(page.render(), "2:needle\n");
    }

    #[test]
    fn pages_follow_each_other() {
        let text: String = (1..=500).map(|i| format!("hit {i}\nmiss\n")).collect();
        let artifact = artifact(&text);
        let (mut start, mut seen) = (1, Vec::new());
        loop {
            let page = run(
                &artifact,
                &GrepQuery {
                    start,
                    max_matches: 30,
                    ..query("hit")
                },
            );
            assert_eq!(page.total, 500);
            assert!(page.matches.len() <= 30);
            seen.extend(page.matches.iter().map(|found| found.line));
            match page.next {
                Some(next) => start = next,
                None => break,
            }
        }
        assert_eq!(seen, (0..500).map(|i| i * 2 + 1).collect::<Vec<u64>>());
    }

    #[test]
    fn the_budget_holds_and_every_page_shows_a_match() {
        let artifact = artifact(&format!("{}\n", "needle word ".repeat(80)).repeat(40));
        let counter = Tokenizer::O200kBase.counter();
        for budget in [1, 50, 300, 2000] {
            let query = GrepQuery {
                budget: TokenBudget::new(budget),
                before: 1,
                ..query("needle")
            };
            let page = grep(&artifact, &query, &*counter).unwrap();
            assert!(!page.matches.is_empty());
            let cost = counter.count(&page.render());
            assert!(cost <= query.budget.get(), "{cost} of {budget}");
            assert_eq!(page.total, 40);
        }
    }

    #[test]
    fn a_bad_pattern_is_the_callers() {
        let artifact = artifact("x");
        for pattern in ["(", "a\nb", &"x".repeat(10_001)] {
            let error = grep(&artifact, &query(pattern), &*Tokenizer::Heuristic.counter());
            assert!(error.unwrap_err().is_callers(), "{pattern:.10}");
        }
    }

    #[test]
    fn a_needle_in_a_line_of_megabytes() {
        // Positions on both sides of each offset where blocks and view lines could meet.
        let mut text = "x".repeat(5 << 20);
        let places = [
            0,
            3997,
            6000,
            (1 << 20) - 3,
            (1 << 20) + 2003,
            (3 << 20) - 1,
            (5 << 20) - 6,
        ];
        for at in places {
            text.replace_range(at..at + 6, "NEEDLE");
        }
        let artifact = artifact(&text);
        let page = run(&artifact, &query("NEEDLE"));
        let found: Vec<u64> = page.matches.iter().map(|found| found.byte).collect();
        assert_eq!(found, places.map(|at| at as u64));
        assert_eq!(page.total, places.len() as u64);
        let anchored = run(&artifact, &query("^NEEDLE"));
        assert_eq!(anchored.total, 1);
        assert_eq!(run(&artifact, &query("NEEDLE$")).total, 1);
    }

    #[test]
    fn ways_to_find_and_to_show() {
        let artifact = artifact("cat\nconcat cat\na.c abc\n\nthe end\n");
        let base = |pattern| GrepQuery {
            max_matches: 10,
            ..query(pattern)
        };
        let word = |pattern| GrepQuery {
            is_word: true,
            ..base(pattern)
        };
        let literal = |pattern| GrepQuery {
            is_literal: true,
            ..base(pattern)
        };
        let others = |pattern| GrepQuery {
            inverts: true,
            ..base(pattern)
        };
        let parts = |pattern| GrepQuery {
            only_parts: true,
            ..base(pattern)
        };
        for (name, query, want) in [
            ("word", word("cat|the"), "1:cat 2:concat cat 5:the end "),
            ("part of a word", word("conc|en"), ""),
            ("literal", literal("a.c"), "3:a.c abc "),
            (
                "literal word",
                GrepQuery {
                    is_word: true,
                    ..literal("a.c")
                },
                "3:a.c abc ",
            ),
            ("others", others("cat"), "3:a.c abc 4: 5:the end "),
            (
                "others of none",
                others("x"),
                "1:cat 2:concat cat 3:a.c abc 4: 5:the end ",
            ),
            ("others of all", others("^"), ""),
            (
                "from a line",
                GrepQuery {
                    start: 4,
                    ..others("cat")
                },
                "4: 5:the end ",
            ),
            (
                "around",
                GrepQuery {
                    before: 1,
                    ..others("cat|^$|end")
                },
                "2-concat cat 3:a.c abc ",
            ),
            ("parts", parts("c[ao.]?"), "1:ca 2:co 2:ca 2:ca 3:c 3:c "),
            ("empty parts", parts("x*"), "1: 2: 3: 4: 5: "),
        ] {
            let page = run(&artifact, &query);
            assert_eq!(page.render().replace('\n', " "), want, "{name}");
        }
        let bad = grep(&artifact, &word("(a"), &*Tokenizer::Heuristic.counter());
        assert!(!bad.unwrap_err().to_string().contains("half"));
    }

    proptest! {
        #[test]
        fn a_line_is_found_or_is_one_of_the_others(
            lines in proptest::collection::vec("[abx ]{0,12}|(ab ){300,500}|x{2100}", 0..40),
            pattern in prop_oneof![Just("ab"), Just("x"), Just("b a"), Just("^a"), Just("a*")],
            markup: bool,
        ) {
            let layout = if markup { Layout::Markup } else { Layout::AsIs };
            let artifact = artifact_as(&lines.join("\n"), layout);
            let compiled = query(pattern).compiled().unwrap();
            let search = |inverts| Search {
                view: artifact.view(),
                pattern: &compiled,
                wanted: usize::MAX,
                start: 0,
                count_all: true,
                inverts,
            };
            let numbers = |found: &MatchOffsets<'_>| -> Vec<u64> {
                let line = |&offset| artifact.view().line_of_offset(offset).unwrap();
                found.offsets.iter().map(line).collect()
            };
            let mut all = numbers(&scan::search(&search(false)).unwrap());
            let mut others = scan::search(&search(true)).unwrap();
            search(true).note_rest(&mut others).unwrap();
            let mut by_block = long::search(&search(true)).unwrap();
            search(true).note_rest(&mut by_block).unwrap();
            prop_assert_eq!(numbers(&others), numbers(&by_block));
            prop_assert_eq!(others.total, numbers(&others).len() as u64);
            all.extend(numbers(&others));
            all.sort_unstable();
            let mut want = Vec::new();
            let mut every = artifact.view().lines_from(1).unwrap();
            while let Some(line) = every.next_line().unwrap() {
                want.push(line.number);
            }
            prop_assert_eq!(all, want);
        }
    }

    proptest! {
        #[test]
        fn both_ways_and_both_threads_agree(
            lines in proptest::collection::vec("[abx ]{0,12}|(ab ){300,500}|x{2100}", 0..40),
            pattern in prop_oneof![Just("ab"), Just("x"), Just("b a"), Just("^a"), Just("a+b?"), Just("x$")],
            markup: bool,
        ) {
            let text = lines.join("\n");
            let layout = if markup { Layout::Markup } else { Layout::AsIs };
            let artifact = artifact_as(&text, layout);
            let query = query(pattern);
            let pattern = Pattern::new(query.pattern, Syntax::of_lines(query.case)).unwrap();
            let search = Search {
                view: artifact.view(),
                pattern: &pattern,
                wanted: usize::MAX,
                start: 0,
                count_all: true,
                inverts: false,
            };
            let one = scan::search(&search).unwrap();
            let two = long::search(&search).unwrap();
            let split = scan::search_parts(&search, 3).unwrap();
            let lines = |found: &MatchOffsets<'_>| -> Vec<u64> {
                let line = |&offset| artifact.view().line_of_offset(offset).unwrap();
                found.offsets.iter().map(line).collect()
            };
            prop_assert_eq!(lines(&one), lines(&two));
            prop_assert_eq!(&one.offsets, &split.offsets);
            prop_assert_eq!((one.total, one.total), (two.total, split.total));
        }
    }
}
