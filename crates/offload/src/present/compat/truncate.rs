//! The `truncate` profile, and the message for a result that could not be stored.

use spillgate_artifact::{ContentKind, HandleForm, Stats};
use spillgate_store::{Remote, StoreError};
use spillgate_text::{ScanFacts, TokenCounter};

use crate::RetrieveError;
use crate::limits::Limits;
use crate::present::{Message, Sizes, Strategy, Subject, estimated, holds_as_json, name_in_line};

/// Default limit of this profile and of `handle`, in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 12_288;

/// Minimum size of a message, in bytes or characters. A smaller one would contain only the notices.
pub(crate) const LEAST_BYTES: u64 = 256;

/// The readable part of a text.
#[derive(Debug)]
pub(crate) enum Ends {
    /// The whole text.
    Whole(String),
    /// The first and the last bytes, which do not overlap.
    Apart {
        /// The first bytes.
        head: String,
        /// The last bytes.
        tail: String,
        /// Bytes of the whole text.
        bytes: u64,
    },
}

impl Ends {
    /// Leaves out what may be a part of a secret where the middle of a text is lost: a kilobyte on
    /// each side, and the lines of a key that began before the end. A side of less than four
    /// kilobytes stays whole, because it is most of what is left.
    pub(crate) fn without_borders(self) -> Self {
        const BORDER: usize = 1 << 10;
        let Self::Apart { head, tail, bytes } = self else {
            return self;
        };
        if (head.len() + tail.len()) as u64 >= bytes {
            return Self::Apart { head, tail, bytes };
        }
        let is_key = |line: &&str| {
            let line = line.trim_ascii();
            let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
            line.len() >= 16 && line.bytes().all(is_base64)
        };
        let border = |side: &str| if side.len() < 4 * BORDER { 0 } else { BORDER };
        let cut = head.floor_char_boundary(head.len() - border(&head));
        let from = tail.ceil_char_boundary(border(&tail));
        let lines = tail[from..].split_inclusive('\n');
        Self::Apart {
            head: head[..cut].to_owned(),
            tail: lines.skip_while(is_key).collect(),
            bytes,
        }
    }

    /// Applies a function to each of the texts.
    pub(crate) fn map(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::Whole(text) => Self::Whole(change(text)),
            Self::Apart { head, tail, bytes } => Self::Apart {
                head: change(head),
                tail: change(tail),
                bytes,
            },
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Whole(text) => text.len() as u64,
            Self::Apart { bytes, .. } => *bytes,
        }
    }

    /// Returns the beginning and the end of the text: at most `bytes` bytes together, about half
    /// each. They do not overlap if the text has at least `bytes` bytes.
    fn stretches(&self, bytes: usize) -> (&str, &str) {
        let (head, tail) = match self {
            Self::Whole(text) => (text, text),
            Self::Apart { head, tail, .. } => (head, tail),
        };
        let head = &head[..head.floor_char_boundary(bytes / 2)];
        let from = tail.len().saturating_sub(bytes - head.len());
        (head, &tail[tail.ceil_char_boundary(from)..])
    }
}

/// The `truncate` profile.
pub(crate) struct Truncate;

impl Strategy for Truncate {
    fn name(&self) -> &'static str {
        "truncate"
    }

    /// The form that the profile's texts and tests were written for.
    fn handle_form(&self) -> HandleForm {
        HandleForm::Long
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            bytes: Some(DEFAULT_MAX_BYTES),
            ..Sizes::default()
        }
    }

    fn cost(&self, scan: &ScanFacts, _: ContentKind, limits: &Limits, _: &dyn TokenCounter) -> u64 {
        let most = limits.bytes.map(|most| most.div_ceil(4));
        most.unwrap_or_else(|| estimated(scan))
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        let (ends, limits) = (subject.ends.read(subject.limits), subject.limits);
        Ok(Message::fixed(truncate(&ends, limits, subject.counter())))
    }
}

/// Cuts the middle out of a text so that the whole message, notices included, keeps to every limit.
/// A text that fits is returned whole.
pub(crate) fn truncate(ends: &Ends, limits: &Limits, counter: &dyn TokenCounter) -> String {
    Room::of(limits).apply(ends, Notices::default(), counter)
}

/// Formats a result that could not be stored, with the reason. Nothing else shows the text, so
/// limits in lines and characters do not shorten it. Only messages of budgeted profiles keep to
/// those limits and to `json_bytes`, because their readers cut what is larger.
pub(crate) fn not_stored(
    tool: &str,
    stats: &Stats,
    error: &StoreError,
    ends: &Ends,
    (limits, json_bytes): (&Limits, u64),
    counter: &dyn TokenCounter,
) -> String {
    let lost = format!(
        "[spillgate] {} returned {} bytes, {} lines, {} tokens ({}); it could not be stored: {}. ",
        name_in_line(tool),
        stats.bytes,
        stats.lines,
        stats.tokens,
        stats.kind,
        reason(error),
    );
    let notices = Notices {
        whole: &format!("{lost}All of it follows; it cannot be looked up later.\n"),
        cut: &format!(
            "{lost}Only its two ends are shown; the rest is lost, call the tool again for less of it.\n"
        ),
    };
    let room = Room::of(limits);
    let room = match limits.profile.is_budgeted() {
        true => Room { json_bytes, ..room },
        false => Room {
            chars: None,
            lines: None,
            ..room
        },
    };
    room.apply(ends, notices, counter)
}

/// Returns the reason as far as a model needs it. Paths of the machine belong in the log.
fn reason(error: &StoreError) -> &'static str {
    match error {
        StoreError::Full { .. } => "the disk is full",
        StoreError::Reserve { .. } => "the disk is nearly full",
        StoreError::Denied { .. } => "the store may not be written",
        StoreError::Exposed { .. } => "the store is not safe: others may write to it",
        StoreError::Keyless { .. } => "the store has to be encrypted, and there is no key",
        StoreError::Newer { .. } => "the store is of a newer version",
        StoreError::Remote { why, .. } => match why {
            Remote::Unreachable => "the store cannot be reached",
            Remote::Denied => "the store does not accept the credentials",
            Remote::Busy => "the store is overloaded",
            Remote::Refused => "the store refused it",
        },
        _ => "the store failed",
    }
}

/// The notices before a text that is shown whole or cut.
#[derive(Debug, Clone, Copy, Default)]
struct Notices<'a> {
    whole: &'a str,
    cut: &'a str,
}

/// The maximum size of a text with all notices.
#[derive(Debug, Clone, Copy)]
struct Room {
    bytes: u64,
    /// Bytes of the text as a JSON string.
    json_bytes: u64,
    tokens: Option<u64>,
    lines: Option<u64>,
    chars: Option<u64>,
}

impl Room {
    fn of(limits: &Limits) -> Self {
        let bytes = limits.bytes.unwrap_or(DEFAULT_MAX_BYTES);
        Self {
            bytes: bytes.max(LEAST_BYTES),
            json_bytes: u64::MAX,
            tokens: limits.tokens,
            lines: limits.lines,
            chars: limits.chars.map(|chars| chars.max(LEAST_BYTES)),
        }
    }

    fn hold(&self, text: &str, counter: &dyn TokenCounter) -> bool {
        text.len() as u64 <= self.bytes
            && self.lines.is_none_or(|most| newlines(text) < most)
            && self
                .chars
                .is_none_or(|most| text.chars().count() as u64 <= most)
            && self.tokens.is_none_or(|most| !counter.exceeds(text, most))
            && holds_as_json(text, self.json_bytes)
    }

    /// Returns the text whole if it fits, otherwise with enough of its middle cut out.
    fn apply(&self, ends: &Ends, notices: Notices<'_>, counter: &dyn TokenCounter) -> String {
        if let Ends::Whole(text) = ends {
            let text = format!("{}{text}", notices.whole);
            if self.hold(&text, counter) {
                return text;
            }
        }
        let mut room = self.bytes;
        loop {
            let text = self.cut(ends, notices.cut, room);
            if room <= LEAST_BYTES || self.hold(&text, counter) {
                return text;
            }
            room = (room * 3 / 4).max(LEAST_BYTES);
        }
    }

    fn cut(&self, ends: &Ends, notice: &str, room: u64) -> String {
        let bytes = ends.bytes();
        // No number of cut bytes is longer than the number of all bytes.
        let around = notice.len() + middle_cut("", "", bytes).len() + 1;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        // At least one byte is cut.
        let most = usize::try_from(bytes.saturating_sub(1)).unwrap_or(usize::MAX);
        let (mut head, mut tail) = ends.stretches(room.saturating_sub(around).min(most));
        if let Some(lines) = self.lines {
            // Both notices end with a newline, and the last line need not end with one.
            let lines = lines.saturating_sub(newlines(notice) + 3);
            head = first_lines(head, lines.div_ceil(2));
            tail = last_lines(tail, lines / 2);
        }
        let n = bytes.saturating_sub((head.len() + tail.len()) as u64);
        format!("{notice}{}", middle_cut(head, tail, n))
    }
}

fn newlines(text: &str) -> u64 {
    text.matches('\n').count() as u64
}

/// Returns the start of the text, up to and including newline number `lines`.
fn first_lines(text: &str, lines: u64) -> &str {
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let Some(last) = lines.checked_sub(1) else {
        return "";
    };
    let end = text.match_indices('\n').nth(last);
    end.map_or(text, |(at, _)| &text[..=at])
}

/// Returns the end of the text that contains `newlines` newlines.
fn last_lines(text: &str, newlines: u64) -> &str {
    let newlines = usize::try_from(newlines).unwrap_or(usize::MAX);
    let before = text.rmatch_indices('\n').nth(newlines);
    before.map_or(text, |(at, _)| &text[at + 1..])
}

/// Formats a text that lacks `cut_bytes` bytes between `head` and `tail`. The number stands at the
/// top and, again, at the gap.
#[must_use]
pub fn middle_cut(head: &str, tail: &str, cut_bytes: u64) -> String {
    let gap = match head.is_empty() || head.ends_with('\n') {
        true => "",
        false => "\n",
    };
    format!(
        "[TRUNCATED IN THE MIDDLE BY ~{cut_bytes} BYTES]\n\
         {head}{gap}[···TRUNCATED {cut_bytes} bytes···]\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use spillgate_artifact::{ContentKind, Tokens};
    use spillgate_text::Tokenizer;

    use super::*;
    use crate::limits::Rule;
    use crate::present::{Profile, TwoEnds};

    fn ends(text: &str, limits: &Limits) -> Ends {
        let source = Bytes::copy_from_slice(text.as_bytes());
        TwoEnds::of_text(Arc::new(source)).read(limits)
    }

    fn limits(rule: &Rule) -> Limits {
        Rule {
            profile: Some(Profile::Truncate),
            ..rule.clone()
        }
        .resolve()
    }

    fn truncated(text: &str, rule: &Rule) -> String {
        let (limits, counter) = (limits(rule), Tokenizer::O200kBase.counter());
        truncate(&ends(text, &limits), &limits, &*counter)
    }

    fn full() -> StoreError {
        StoreError::Full {
            path: "/store".into(),
            source: std::io::ErrorKind::StorageFull.into(),
        }
    }

    fn lost(text: &str, profile: Profile) -> String {
        let stats = Stats {
            bytes: text.len() as u64,
            lines: newlines(text) + 1,
            chars: text.chars().count() as u64,
            tokens: Tokens::estimated(text.len() as u64 / 4),
            kind: ContentKind::Text,
        };
        let rule = Rule {
            profile: Some(profile),
            ..Rule::default()
        };
        let (limits, counter) = (rule.resolve(), Tokenizer::O200kBase.counter());
        let ends = ends(text, &limits);
        not_stored(
            "list",
            &stats,
            &full(),
            &ends,
            (&limits, u64::MAX),
            &*counter,
        )
    }

    /// Returns the beginning and the end that a cut text shows, and the number of cut bytes at its
    /// top. Panics if the number at the gap differs from it.
    fn stretches(shown: &str) -> (&str, &str, usize) {
        let (_, rest) = shown
            .split_once("[TRUNCATED IN THE MIDDLE BY ~")
            .unwrap_or_else(|| panic!("not cut: {shown}"));
        let (n, rest) = rest.split_once(" BYTES]\n").unwrap();
        let marker = format!("[···TRUNCATED {n} bytes···]\n");
        let (head, tail) = rest.split_once(&marker).unwrap();
        (head, tail, n.parse().unwrap())
    }

    #[test]
    fn the_two_numbers_agree() {
        let text: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let rule = Rule {
            max_bytes: Some(256),
            ..Rule::default()
        };
        assert_snapshot!(truncated(&text, &rule), @"
        [TRUNCATED IN THE MIDDLE BY ~609 BYTES]
        line 0
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        line 8
        line 9
        line 10
        line 11
        line
        [···TRUNCATED 609 bytes···]
        88
        line 89
        line 90
        line 91
        line 92
        line 93
        line 94
        line 95
        line 96
        line 97
        line 98
        line 99
        ");
    }

    #[test]
    fn a_limit_in_lines_holds_for_what_is_shown() {
        let text: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let rule = Rule {
            max_lines: Some(10),
            ..Rule::default()
        };
        assert_snapshot!(truncated(&text, &rule), @"
        [TRUNCATED IN THE MIDDLE BY ~738 BYTES]
        line 0
        line 1
        line 2
        line 3
        [···TRUNCATED 738 bytes···]
        line 97
        line 98
        line 99
        ");
    }

    #[test]
    fn what_could_not_be_stored_is_shown_once() {
        // Smaller than the limit of 12,288 bytes, and above the limit of each profile.
        let text: String = (0..750).map(|i| format!("line {i}\n")).collect();
        for profile in [Profile::Funnel, Profile::Continuation, Profile::Truncate] {
            let shown = lost(&text, profile.clone());
            let (notice, rest) = shown.split_once('\n').unwrap();
            assert_eq!(rest, text, "{profile}");
            assert!(notice.ends_with("All of it follows; it cannot be looked up later."));
        }
        let large = text.repeat(2);
        let shown = lost(&large, Profile::Funnel);
        assert!(shown.len() <= 12_288, "{} bytes", shown.len());
        let (head, tail, n) = stretches(&shown);
        assert!(large.starts_with(head.trim_end()) && large.ends_with(tail));
        assert!(head.len() + tail.len() + n >= large.len());
    }

    #[test]
    fn what_could_not_be_stored_is_cut_to_what_its_reader_takes() {
        // Smaller than the limit of 12,288 bytes; twice as large as a JSON string.
        let text = "\"\n".repeat(2000);
        let told = |json_bytes| {
            let limits = Rule::default().resolve();
            let (ends, counter) = (ends(&text, &limits), Tokenizer::Heuristic.counter());
            let stats = Stats {
                bytes: text.len() as u64,
                lines: 2001,
                chars: text.len() as u64,
                tokens: Tokens::estimated(1000),
                kind: ContentKind::Text,
            };
            not_stored(
                "list",
                &stats,
                &full(),
                &ends,
                (&limits, json_bytes),
                &*counter,
            )
        };
        assert!(told(u64::MAX).ends_with(&text));
        let shown = told(5000);
        assert!(holds_as_json(&shown, 5000), "{} bytes", shown.len());
        assert!(shown.contains("Only its two ends are shown"), "{shown}");
        let (head, tail, n) = stretches(&shown);
        assert_eq!(head.len() + tail.len() + n, text.len());
    }

    proptest! {
        /// Each line has its number, so the test notices a stretch that is shown twice.
        #[test]
        fn within_every_bound_and_nothing_twice(
            lines in 0_usize..400,
            filler in "[a-z漢🚀]{0,40}",
            bytes in proptest::option::of(256u64..8000),
            tokens in proptest::option::of(160u64..2000),
            max_lines in proptest::option::of(3u64..60),
            chars in proptest::option::of(256u64..4000),
        ) {
            let text: String = (0..lines).map(|i| format!("{filler} <{i}>\n")).collect();
            let rule = Rule { max_bytes: bytes, max_tokens: tokens, max_lines, max_chars: chars, ..Rule::default() };
            let shown = truncated(&text, &rule);
            let over = |limit: Option<u64>, size: u64| limit.is_some_and(|limit| size > limit);
            let counter = Tokenizer::O200kBase.counter();
            prop_assert!(!over(bytes, shown.len() as u64));
            prop_assert!(!over(max_lines, newlines(&shown) + 1), "{shown}");
            prop_assert!(!over(chars, shown.chars().count() as u64));
            prop_assert!(!over(tokens, counter.count(&shown)), "{}", counter.count(&shown));
            if shown == text {
                return Ok(());
            }
            let (head, tail, n) = stretches(&shown);
            // The message inserts a newline if the first stretch does not end with one; the text
            // may have a newline in the same place.
            let whole = [head, head.strip_suffix('\n').unwrap_or(head)];
            let is_it = |head: &str| text.starts_with(head) && head.len() + tail.len() + n == text.len();
            prop_assert!(text.ends_with(tail) && whole.into_iter().any(is_it), "{shown}");
        }
    }
}
