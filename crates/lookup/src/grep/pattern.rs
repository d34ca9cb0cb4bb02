//! Compiles the patterns of callers within limits, and finds matches.
//!
//! Almost all patterns compile to small programs. They run in the engines of `regex`, which search
//! a block without interruption. The time for a block grows with the size of the program: with a
//! program of megabytes, it can take up to a millisecond per byte. Therefore large programs are run
//! byte by byte here, so that lookups with them can be ended, too.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::Case;
use crate::LookupError;

/// Maximum length of a pattern, in characters (docs/spec/limits.md, "Look-ups").
pub const PATTERN_CHARS: usize = 10_000;

/// Maximum size, in bytes, of a compiled pattern, and of the states that an engine keeps while it
/// searches. Useful patterns of ten thousand characters need that much.
pub const PATTERN_BYTES: usize = 16 << 20;

/// Maximum size, in bytes, of a compiled pattern that may search [`QUICK_TEXT`] without
/// interruption. Such a pattern has about ten thousand states. A byte visits each of them at most
/// once, which takes about 20 µs.
const QUICK_BYTES: usize = 256 << 10;

/// Number of bytes of text that a quick pattern may search without interruption.
const QUICK_TEXT: usize = 256 << 10;

/// Maximum work without interruption, as bytes of the compiled pattern times bytes of text. It
/// takes about five seconds.
const MOST_WORK: usize = QUICK_BYTES * QUICK_TEXT;

/// Number of bytes between two checks whether to continue. With the largest program, they take
/// about 0.1 s.
const STEPS: usize = 128;

/// How a pattern is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syntax {
    /// How upper-case and lower-case letters are compared.
    pub case: Case,
    /// Whether `$` also matches before `\r\n`.
    pub crlf: bool,
    /// Whether a match may extend over several lines.
    pub is_multiline: bool,
}

impl Syntax {
    /// Returns the syntax for lookups in stored text.
    pub(super) fn of_lines(case: Case) -> Self {
        Self {
            case,
            crlf: true,
            is_multiline: false,
        }
    }
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern(Arc<CompiledPattern>);

#[derive(Debug)]
struct CompiledPattern {
    pattern: String,
    syntax: Syntax,
    engine: RegexMatcher,
    is_quick: bool,
    /// The automata, built when they are first needed; `None` if they are too large.
    automata: OnceLock<Option<Automata>>,
}

/// A pattern as two automata. Their states are built only when they are reached.
#[derive(Debug)]
struct Automata {
    /// Finds the end of a match.
    forward: DFA,
    /// Finds the start of a match from its end.
    backward: DFA,
}

impl Pattern {
    /// Compiles a pattern within the limits [`PATTERN_CHARS`] and [`PATTERN_BYTES`].
    pub fn new(pattern: &str, syntax: Syntax) -> Result<Self, LookupError> {
        let length = pattern.chars().count();
        if length > PATTERN_CHARS {
            return Err(LookupError::BadPattern {
                message: format!("it is {length} characters long; {PATTERN_CHARS} are allowed"),
            });
        }
        let compiled = |engine, is_quick| CompiledPattern {
            pattern: pattern.to_owned(),
            syntax,
            engine,
            is_quick,
            automata: OnceLock::new(),
        };
        let too_large = || LookupError::PatternTooLarge;
        let compiled = match matcher(pattern, syntax, QUICK_BYTES) {
            Ok(quick) => compiled(quick, true),
            Err(error) if is_too_large(&error) => {
                let engine = matcher(pattern, syntax, PATTERN_BYTES).map_err(|_| too_large())?;
                compiled(engine, false)
            }
            Err(error) => {
                let message = what_is_wrong(pattern).unwrap_or_else(|| error.to_string());
                return Err(LookupError::BadPattern { message });
            }
        };
        if !compiled.is_quick {
            compiled.automata().ok_or_else(too_large)?;
        }
        Ok(Self(Arc::new(compiled)))
    }

    /// Returns a seeker for this pattern. Each thread needs its own. While the seeker works, it
    /// calls `check` repeatedly, and an error from `check` ends the work.
    pub fn seeker<'a>(&self, check: impl Fn() -> io::Result<()> + Send + 'a) -> Seeker<'a> {
        Seeker {
            // Each thread has its own engine, because threads would wait for each other at a shared
            // one.
            engine: self.0.engine.clone(),
            pattern: Arc::clone(&self.0),
            caches: RefCell::new(None),
            check: Box::new(check),
        }
    }
}

impl CompiledPattern {
    fn automata(&self) -> Option<&Automata> {
        let make = || {
            Some(Automata {
                forward: automaton(&self.pattern, self.syntax, false)?,
                backward: automaton(&self.pattern, self.syntax, true)?,
            })
        };
        self.automata.get_or_init(make).as_ref()
    }

    /// Returns whether an engine may search `text` bytes without interruption.
    fn may_run(&self, text: usize) -> bool {
        let is_little = |automata: &Automata| {
            let program = automata.forward.get_nfa().memory_usage();
            program.saturating_mul(text) <= MOST_WORK
        };
        self.is_quick && text <= QUICK_TEXT || self.automata().is_some_and(is_little)
    }
}

fn matcher(pattern: &str, syntax: Syntax, size: usize) -> Result<RegexMatcher, grep_regex::Error> {
    RegexMatcherBuilder::new()
        .case_insensitive(syntax.case == Case::Insensitive)
        .multi_line(true)
        .crlf(syntax.crlf)
        .line_terminator((!syntax.is_multiline).then_some(b'\n'))
        .size_limit(size)
        .dfa_size_limit(PATTERN_BYTES)
        .build(pattern)
}

/// Returns whether a pattern was refused only because its compiled form is too large.
fn is_too_large(error: &grep_regex::Error) -> bool {
    // The library has no error kind for this case, so the message is examined.
    error.to_string().contains("size limit")
}

/// Builds an automaton; `None` if it is too large. The pattern must be well-formed.
fn automaton(pattern: &str, syntax: Syntax, is_backward: bool) -> Option<DFA> {
    let syntax = syntax::Config::new()
        .case_insensitive(syntax.case == Case::Insensitive)
        .multi_line(true)
        .crlf(syntax.crlf)
        .utf8(false);
    let program = thompson::Config::new()
        .reverse(is_backward)
        .utf8(false)
        .nfa_size_limit(Some(PATTERN_BYTES));
    let states = DFA::config()
        .unicode_word_boundary(true)
        .cache_capacity(PATTERN_BYTES)
        .skip_cache_capacity_check(true)
        .match_kind(match is_backward {
            // Find the earliest start that leads to the given end.
            true => MatchKind::All,
            false => MatchKind::LeftmostFirst,
        });
    DFA::builder()
        .syntax(syntax)
        .thompson(program)
        .configure(states)
        .build(pattern)
        .ok()
}

/// Returns what is wrong with the pattern, in terms of the pattern as it was given. The searcher's
/// own message shows it inside a group that the searcher adds.
fn what_is_wrong(pattern: &str) -> Option<String> {
    let fault = regex::Regex::new(pattern).err()?;
    Some(fault.to_string())
}

/// Finds matches of a pattern.
pub struct Seeker<'a> {
    pattern: Arc<CompiledPattern>,
    engine: RegexMatcher,
    caches: RefCell<Option<(Cache, Cache)>>,
    check: Box<dyn Fn() -> io::Result<()> + Send + 'a>,
}

impl std::fmt::Debug for Seeker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Seeker");
        shown
            .field("pattern", &self.pattern)
            .finish_non_exhaustive()
    }
}

/// Why stepping through a text stopped.
enum Halt {
    /// `check` returned this error, so the work must end.
    Over(io::Error),
    /// The automaton cannot decide about a word boundary at this position.
    Unknown,
}

impl<E: std::error::Error> From<E> for Halt {
    fn from(_: E) -> Self {
        Self::Unknown
    }
}

/// A word boundary next to characters that are not ASCII would make a search too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the pattern is large, and its word boundaries meet characters that are not ASCII in a line that is long: write `(?-u:\\b)` in place of `\\b`, or smaller repetitions"
)]
pub struct CostlyBoundary;

impl Seeker<'_> {
    /// Returns the parts of a line that match. Empty ones are left out.
    ///
    /// # Errors
    ///
    /// Fails if the check of the seeker fails, or with [`CostlyBoundary`].
    pub fn matches(&self, line: &str) -> io::Result<Vec<Range<usize>>> {
        let (mut found, mut at) = (Vec::new(), 0);
        // A match at the end of the line would be empty.
        while at < line.len()
            && let Some(one) = self.find_at(line.as_bytes(), at)?
        {
            // A match may begin or end within a character if the pattern matches single bytes.
            let start = line.floor_char_boundary(one.start()).max(at);
            let end = line.ceil_char_boundary(one.end());
            if start < end {
                found.push(start..end);
            }
            at = end.max(line.ceil_char_boundary(one.start() + 1));
        }
        Ok(found)
    }
}

impl Matcher for Seeker<'_> {
    type Captures = NoCaptures;
    type Error = io::Error;

    fn find_at(&self, text: &[u8], at: usize) -> io::Result<Option<Match>> {
        (self.check)()?;
        match self.is_run(text.len() - at) {
            true => Ok(self.engine.find_at(text, at)?),
            false => self.step(text, at),
        }
    }

    fn shortest_match_at(&self, text: &[u8], at: usize) -> io::Result<Option<usize>> {
        match self.is_run(text.len() - at) {
            true => Ok(self.engine.shortest_match_at(text, at)?),
            false => Ok(self.find_at(text, at)?.map(|found| found.end())),
        }
    }

    fn find_candidate_line(&self, text: &[u8]) -> io::Result<Option<LineMatchKind>> {
        match self.is_run(text.len()) {
            true => Ok(self.engine.find_candidate_line(text)?),
            false => Ok(self.shortest_match(text)?.map(LineMatchKind::Confirmed)),
        }
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.engine.non_matching_bytes()
    }

    fn new_captures(&self) -> io::Result<NoCaptures> {
        Ok(NoCaptures::new())
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.engine.line_terminator()
    }
}

impl Seeker<'_> {
    /// Returns whether an engine searches a text of `text` bytes. If not, the text is searched byte
    /// by byte.
    fn is_run(&self, text: usize) -> bool {
        self.pattern.is_quick && self.pattern.may_run(text)
    }

    /// Returns the first match. The text is searched byte by byte.
    fn step(&self, text: &[u8], mut at: usize) -> io::Result<Option<Match>> {
        if self.pattern.syntax.is_multiline {
            return self.within(text, at..text.len());
        }
        loop {
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
            if let Some(found) = self.within(&text[..text.len().min(end + 1)], at..end)? {
                return Ok(Some(found));
            }
            if end == text.len() {
                return Ok(None);
            }
            at = end + 1;
        }
    }

    /// Returns the first match in `stretch`. If the original text continues after the stretch,
    /// `text` must contain at least one more character of it.
    fn within(&self, text: &[u8], stretch: Range<usize>) -> io::Result<Option<Match>> {
        (self.check)()?;
        let (start, stop) = (stretch.start, stretch.end);
        let Some(automata) = self.pattern.automata() else {
            return Err(io::Error::other(LookupError::PatternTooLarge));
        };
        let mut caches = self.caches.borrow_mut();
        let (forward, backward) = caches.get_or_insert_with(|| {
            let Automata { forward, backward } = automata;
            (forward.create_cache(), backward.create_cache())
        });
        let end = self.end(&automata.forward, forward, text, stretch);
        let found = end.and_then(|end| match end {
            None => Ok(None),
            Some(end) => {
                let found = self.start(&automata.backward, backward, text, start..end);
                found.map(Some)
            }
        });
        match found {
            Ok(found) => Ok(found),
            Err(Halt::Over(error)) => Err(error),
            Err(Halt::Unknown) if self.pattern.may_run(text.len() - start) => {
                let found = self.engine.find_at(text, start)?;
                Ok(found.filter(|found| found.start() <= stop))
            }
            Err(Halt::Unknown) => Err(io::Error::other(CostlyBoundary)),
        }
    }

    /// Returns the end of the leftmost match.
    fn end(
        &self,
        automaton: &DFA,
        cache: &mut Cache,
        text: &[u8],
        line: Range<usize>,
    ) -> Result<Option<usize>, Halt> {
        let input = Input::new(text).range(line.clone());
        let mut state = automaton.start_state_forward(cache, &input)?;
        let mut end = None;
        for at in line.clone() {
            self.go_on(at)?;
            state = automaton.next_state(cache, state, text[at])?;
            // The automaton reports a match one byte after its end.
            match () {
                () if state.is_match() => end = Some(at),
                () if state.is_dead() => return Ok(end),
                () if state.is_quit() => return Err(Halt::Unknown),
                () => {}
            }
        }
        state = match text.get(line.end) {
            Some(&behind) => automaton.next_state(cache, state, behind)?,
            None => automaton.next_eoi_state(cache, state)?,
        };
        Ok(if state.is_match() {
            Some(line.end)
        } else {
            end
        })
    }

    /// Returns the match that ends at the end of `found`, with the earliest possible start.
    fn start(
        &self,
        automaton: &DFA,
        cache: &mut Cache,
        text: &[u8],
        found: Range<usize>,
    ) -> Result<Match, Halt> {
        let input = Input::new(text).range(found.clone());
        let input = input.anchored(Anchored::Yes);
        let mut state = automaton.start_state_reverse(cache, &input)?;
        let mut start = found.end;
        for at in found.clone().rev() {
            self.go_on(at)?;
            state = automaton.next_state(cache, state, text[at])?;
            match () {
                () if state.is_match() => start = at + 1,
                () if state.is_dead() => return Ok(Match::new(start, found.end)),
                () if state.is_quit() => return Err(Halt::Unknown),
                () => {}
            }
        }
        state = match found.start.checked_sub(1) {
            Some(before) => automaton.next_state(cache, state, text[before])?,
            None => automaton.next_eoi_state(cache, state)?,
        };
        if state.is_match() {
            start = found.start;
        }
        Ok(Match::new(start, found.end))
    }

    fn go_on(&self, at: usize) -> Result<(), Halt> {
        match at % STEPS {
            0 => (self.check)().map_err(Halt::Over),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes() {
        // Each pattern, and whether it is searched byte by byte; `None` if it is refused.
        let cases: [(&str, Option<bool>); 13] = [
            ("needle", Some(false)),
            (r"(?i)error|fail(ed|ure)?|timeout", Some(false)),
            (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}\b", Some(false)),
            (r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}", Some(false)),
            (r"\w+@\w+\.\w+", Some(false)),
            (r"^\S+\s+ERROR\s+\[(\w+)\]", Some(false)),
            (r"[\w.]{1,64}@[\w.]{1,255}", Some(true)),
            ("(?:a{0,300}){0,300}", Some(true)),
            ("(?:a{0,1000}){0,1000}", None),
            ("(?:(?:a{0,100}){0,100}){0,100}", None),
            (r"\pL{5000}", None),
            (r"(?i)(?:\w{500}){500}", None),
            ("a{1,4294967295}", None),
        ];
        for (pattern, want) in cases {
            let is_stepped = match Pattern::new(pattern, Syntax::of_lines(Case::Sensitive)) {
                Ok(pattern) => Some(!pattern.0.is_quick),
                Err(LookupError::PatternTooLarge) => None,
                Err(other) => panic!("{pattern}: {other}"),
            };
            assert_eq!(is_stepped, want, "{pattern}");
        }
        // A malformed pattern must not be reported as too large.
        let wrong = Pattern::new("(a", Syntax::of_lines(Case::Sensitive)).unwrap_err();
        assert!(!matches!(wrong, LookupError::PatternTooLarge), "{wrong}");
    }

    proptest! {
        #[test]
        fn stepping_finds_what_the_engines_find(
            text in "([ab xé\\n]|\r\n|ab){0,60}",
            pattern in prop::sample::select(vec![
                "ab", "a+b?", "^a", "a$", "^$", "b|ab", "a*", "(?:ab)+x?", r"\bab\b", r"a[^b]x", r"\s+a",
                r"\bé", "x*?b", r"[^x]{2,3}$",
            ]),
            is_insensitive: bool,
            is_multiline: bool,
        ) {
            let case = if is_insensitive { Case::Insensitive } else { Case::Sensitive };
            let syntax = Syntax { is_multiline, ..Syntax::of_lines(case) };
            let pattern = Pattern::new(pattern, syntax).unwrap();
            let whole = pattern.0.engine.clone();
            let seeker = pattern.seeker(|| Ok(()));
            for at in 0..=text.len() {
                let want = whole.find_at(text.as_bytes(), at).unwrap();
                let found = seeker.step(text.as_bytes(), at).unwrap();
                prop_assert_eq!(found, want, "{:?} in {:?} from {}", pattern, text, at);
            }
        }
    }

    #[test]
    fn work_on_a_long_line_is_bounded() {
        const REFUSED: &str = "refused";
        let line = |piece: &str| piece.repeat((1 << 20) / piece.len());
        // Each pattern, the text, and the result: a range, none, or refused.
        let cases = [
            ("needle", line("a ") + "needle", "1048576..1048582"),
            (r"\bneedle\b", line("é ") + "needle", "1048575..1048581"),
            (r"[\w.]{1,64}@[\w.]{1,255}\b", line("ab "), "none"),
            (r"[\w.]{1,64}@[\w.]{1,255}\b", line("é "), REFUSED),
            (r"[\w.]{1,64}@[\w.]{1,255}(?-u:\b)", line("é "), "none"),
            // The same pattern with short lines.
            (r"[\w.]{1,64}@[\w.]{1,255}\b", line("é \n"), "none"),
        ];
        for (pattern, text, want) in cases {
            let compiled = Pattern::new(pattern, Syntax::of_lines(Case::Sensitive)).unwrap();
            let asked = AtomicUsize::new(0);
            let seeker = compiled.seeker(|| {
                asked.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            let got = match seeker.find_at(text.as_bytes(), 0) {
                Ok(Some(found)) => format!("{}..{}", found.start(), found.end()),
                Ok(None) => "none".to_owned(),
                Err(error) => {
                    let error = LookupError::from(error);
                    assert!(matches!(error, LookupError::CostlyBoundary(_)), "{error}");
                    REFUSED.to_owned()
                }
            };
            assert_eq!(got, want, "{pattern}");
            drop(seeker);
            let is_stepped = !compiled.0.is_quick && want != REFUSED;
            let asked = asked.into_inner();
            assert_eq!(asked > 1000, is_stepped, "{pattern}: {asked}");
        }
    }

    /// Tests that searches with large patterns end soon after they are cancelled, whatever the
    /// text.
    #[test]
    fn a_search_that_is_over_ends() {
        for text in ["a".repeat(1 << 20), "aé".repeat(1 << 20)] {
            for is_multiline in [false, true] {
                let syntax = Syntax {
                    is_multiline,
                    ..Syntax::of_lines(Case::Sensitive)
                };
                let pattern = Pattern::new("(?:a{0,300}){0,300}b", syntax).unwrap();
                let left = AtomicUsize::new(3);
                let seeker = pattern.seeker(|| match left.fetch_sub(1, Ordering::Relaxed) {
                    1 => Err(io::Error::other("over")),
                    _ => Ok(()),
                });
                let error = seeker.find_at(text.as_bytes(), 0).unwrap_err();
                assert_eq!(error.to_string(), "over");
                drop(seeker);
                assert_eq!(left.into_inner(), 0);
            }
        }
    }
}
