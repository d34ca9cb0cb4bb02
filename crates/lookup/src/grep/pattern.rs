//! Patterns of callers, compiled within limits, and finding with them.
//!
//! Small programs, nearly all, run in `regex`'s engines, which look at a block without a
//! pause. How long that takes grows with the program: one of megabytes needs up to a
//! millisecond for a byte. Such programs are stepped byte by byte here, so that a look-up
//! with them can be ended too.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use spillgate_artifact::ByteSource;

use super::Case;
use crate::LookupError;

/// Most characters of a pattern: the seeds' limit (wire.md, Read and Grep).
pub const PATTERN_CHARS: usize = 10_000;

/// Most bytes of a compiled pattern, and of the states that an engine keeps while it
/// searches: what ten thousand characters need in patterns that look for something.
pub const PATTERN_BYTES: usize = 16 << 20;

/// Compiled patterns up to this size run without a pause: some ten thousand states, of which a
/// byte visits each at most once, which is some twenty microseconds.
const QUICK_BYTES: usize = 256 << 10;

/// Bytes of a line between two looks at whether to go on: in the largest program about a
/// tenth of a second.
const STEPS: usize = 128;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Quick(RegexMatcher),
    Costly(Arc<Costly>),
}

/// A large program as automata whose states are made as they are met.
#[derive(Debug)]
pub(super) struct Costly {
    /// Finds where a match ends.
    forward: DFA,
    /// Finds where it began.
    backward: DFA,
    /// For lines with characters beside which a word boundary is not known to the other two.
    whole: RegexMatcher,
}

impl Pattern {
    pub(super) fn new(pattern: &str, case: Case) -> Result<Self, LookupError> {
        let length = pattern.chars().count();
        if length > PATTERN_CHARS {
            return Err(LookupError::BadPattern {
                message: format!("it is {length} characters long; {PATTERN_CHARS} are allowed"),
            });
        }
        match matcher(pattern, case, QUICK_BYTES) {
            Ok(quick) => return Ok(Self::Quick(quick)),
            Err(error) if is_too_large(&error) => {}
            Err(error) => {
                let message = what_is_wrong(pattern).unwrap_or_else(|| error.to_string());
                return Err(LookupError::BadPattern { message });
            }
        }
        let too_large = || LookupError::PatternTooLarge;
        Ok(Self::Costly(Arc::new(Costly {
            whole: matcher(pattern, case, PATTERN_BYTES).map_err(|_| too_large())?,
            forward: automaton(pattern, case, false).ok_or_else(too_large)?,
            backward: automaton(pattern, case, true).ok_or_else(too_large)?,
        })))
    }

    /// What finds it in the bytes of `source`; one for each thread.
    pub(super) fn seeker<'a>(&self, source: &'a dyn ByteSource) -> Seeker<'a> {
        match self {
            // Each thread its own: a shared one makes them wait for each other.
            Self::Quick(matcher) => Seeker::Quick(matcher.clone(), source),
            Self::Costly(pattern) => Seeker::Stepped(Box::new(Stepped {
                caches: RefCell::new((
                    pattern.forward.create_cache(),
                    pattern.backward.create_cache(),
                )),
                pattern: Arc::clone(pattern),
                source,
            })),
        }
    }
}

fn matcher(pattern: &str, case: Case, size: usize) -> Result<RegexMatcher, grep_regex::Error> {
    RegexMatcherBuilder::new()
        .case_insensitive(case == Case::Insensitive)
        .multi_line(true)
        // `$` stands before the end of a line from Windows too.
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(size)
        .dfa_size_limit(PATTERN_BYTES)
        .build(pattern)
}

/// Whether a pattern was refused for its compiled size alone.
#[must_use]
pub fn is_too_large(error: &grep_regex::Error) -> bool {
    // It has no kind of its own.
    error.to_string().contains("size limit")
}

/// `None` where it is too large: that it is well-formed is known.
fn automaton(pattern: &str, case: Case, is_backward: bool) -> Option<DFA> {
    let syntax = syntax::Config::new()
        .case_insensitive(case == Case::Insensitive)
        .multi_line(true)
        .crlf(true)
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
            // The earliest beginning that leads to the end.
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

/// The fault in the pattern as it was given: the searcher's own message shows
/// the pattern inside a group of its making.
fn what_is_wrong(pattern: &str) -> Option<String> {
    let fault = regex::Regex::new(pattern).err()?;
    Some(fault.to_string())
}

/// Finds a pattern.
#[derive(Debug)]
pub(super) enum Seeker<'a> {
    Quick(RegexMatcher, &'a dyn ByteSource),
    Stepped(Box<Stepped<'a>>),
}

impl Seeker<'_> {
    /// The first match that begins at or after `at`.
    pub(super) fn find_at(&self, text: &[u8], at: usize) -> io::Result<Option<Match>> {
        match self {
            Self::Quick(matcher, source) => {
                source.check()?;
                matcher.find_at(text, at).map_err(io::Error::other)
            }
            Self::Stepped(stepped) => stepped.find_at(text, at),
        }
    }
}

/// Finds a large pattern, line by line and step by step.
#[derive(Debug)]
pub(super) struct Stepped<'a> {
    pattern: Arc<Costly>,
    caches: RefCell<(Cache, Cache)>,
    source: &'a dyn ByteSource,
}

/// Why a line cannot be stepped through.
enum Halt {
    /// The work is to end.
    Over(io::Error),
    /// The automaton does not know a word boundary here.
    Unknown,
}

impl<E: std::error::Error> From<E> for Halt {
    fn from(_: E) -> Self {
        Self::Unknown
    }
}

impl Matcher for Stepped<'_> {
    type Captures = NoCaptures;
    type Error = io::Error;

    fn find_at(&self, text: &[u8], mut at: usize) -> io::Result<Option<Match>> {
        loop {
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
            if let Some(found) = self.in_line(&text[..text.len().min(end + 1)], at..end)? {
                return Ok(Some(found));
            }
            if end == text.len() {
                return Ok(None);
            }
            at = end + 1;
        }
    }

    fn new_captures(&self) -> io::Result<NoCaptures> {
        Ok(NoCaptures::new())
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        Some(LineTerminator::byte(b'\n'))
    }
}

impl Stepped<'_> {
    /// The first match in a stretch without a newline; around it, `text` goes on by at
    /// least a character where there is more.
    fn in_line(&self, text: &[u8], line: Range<usize>) -> io::Result<Option<Match>> {
        let found = self.end(text, line.clone()).and_then(|end| match end {
            None => Ok(None),
            Some(end) => self.start(text, line.start..end).map(Some),
        });
        match found {
            Ok(found) => Ok(found),
            Err(Halt::Over(error)) => Err(error),
            Err(Halt::Unknown) => {
                let found = self.pattern.whole.find_at(text, line.start);
                let found = found.map_err(io::Error::other)?;
                Ok(found.filter(|found| found.start() <= line.end))
            }
        }
    }

    /// Where the leftmost match ends.
    fn end(&self, text: &[u8], line: Range<usize>) -> Result<Option<usize>, Halt> {
        let automaton = &self.pattern.forward;
        let cache = &mut self.caches.borrow_mut().0;
        let input = Input::new(text).range(line.clone());
        let mut state = automaton.start_state_forward(cache, &input)?;
        let mut end = None;
        for at in line.clone() {
            self.go_on(at)?;
            state = automaton.next_state(cache, state, text[at])?;
            // A match is known one byte late.
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

    /// The match that lies at the end of a stretch, from its earliest beginning.
    fn start(&self, text: &[u8], found: Range<usize>) -> Result<Match, Halt> {
        let automaton = &self.pattern.backward;
        let cache = &mut self.caches.borrow_mut().1;
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
            0 => self.source.check().map_err(|why| Halt::Over(why.into())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes() {
        // What it is, and whether it is stepped; `None` is refused.
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
            let is_stepped = match Pattern::new(pattern, Case::Sensitive) {
                Ok(pattern) => Some(matches!(pattern, Pattern::Costly(_))),
                Err(LookupError::PatternTooLarge) => None,
                Err(other) => panic!("{pattern}: {other}"),
            };
            assert_eq!(is_stepped, want, "{pattern}");
        }
        // What is no pattern is not called too large.
        let wrong = Pattern::new("(a", Case::Sensitive).unwrap_err();
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
        ) {
            let case = if is_insensitive { Case::Insensitive } else { Case::Sensitive };
            let whole = matcher(pattern, case, PATTERN_BYTES).unwrap();
            let costly = Pattern::Costly(Arc::new(Costly {
                forward: automaton(pattern, case, false).unwrap(),
                backward: automaton(pattern, case, true).unwrap(),
                whole: whole.clone(),
            }));
            let source = Vec::new();
            let stepped = costly.seeker(&source);
            for at in 0..=text.len() {
                let want = whole.find_at(text.as_bytes(), at).unwrap();
                let found = stepped.find_at(text.as_bytes(), at).unwrap();
                prop_assert_eq!(found, want, "{:?} in {:?} from {}", pattern, text, at);
            }
        }
    }
}
