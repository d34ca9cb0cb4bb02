//! Finds the secrets of one block of a text.

use std::ops::Range;

use memchr::memmem;

use crate::rules::{Compiled, Finder, Pattern, Rules};
use crate::view::View;
use crate::{address, assignment, encoded, private_key, value};

/// How often an encoded text is searched for encoded texts.
const MOST_DEPTH: usize = 2;

/// The reach of a pattern, in bytes, from which on it is not tried after a hyphen or an underscore.
const FAR: usize = 1000;

/// The most bytes of a secret that are hidden behind the reach of its pattern.
const MOST_LONG: usize = 32 << 10;

/// A secret in a block: a range of the block's bytes, and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) range: Range<usize>,
    pub(crate) rule: u16,
}

/// Finds the secrets that begin in the part `core` of a text. The bytes around this part are read
/// where a secret needs them.
pub(crate) fn scan(rules: &Rules, text: &[u8], core: Range<usize>) -> Vec<Hit> {
    let mut hits = Vec::new();
    Scan {
        rules: rules.compiled(),
        depth: 0,
    }
    .block(text, core, &mut hits);
    hits
}

struct Scan<'a> {
    rules: &'a Compiled,
    depth: usize,
}

impl Scan<'_> {
    fn block(&self, text: &[u8], core: Range<usize>, hits: &mut Vec<Hit>) {
        let view = View::new(text);
        let end = match core.end >= text.len() {
            true => view.bytes.len(),
            false => view.position(core.end).min(view.bytes.len()),
        };
        let core = view.position(core.start).min(end)..end;
        let mut hit = |range: Range<usize>, rule: u16| {
            if !range.is_empty() {
                let range = view.raw_start(range.start)..view.raw_end(range.end);
                hits.push(Hit {
                    range: characters(text, range),
                    rule,
                });
            }
        };
        self.rules
            .literals
            .each(&view.bytes, core.clone(), |rules, at| {
                for rule in rules {
                    self.candidate(&view, at, *rule, &mut |range| hit(range, *rule));
                }
            });
        for rule in &self.rules.user {
            if let Finder::Pattern(pattern) = &self.rules.rules[usize::from(*rule)].finder {
                everywhere(pattern, &view.bytes, &core, |range| hit(range, *rule));
            }
        }
        if self.depth < MOST_DEPTH {
            encoded::each(&view.bytes, core, |run, decoded| {
                if let Some(rule) = self.encoded(decoded) {
                    hit(run(), rule);
                }
            });
        }
    }

    /// Returns the rule that finds a secret in a decoded text.
    fn encoded(&self, decoded: &[u8]) -> Option<u16> {
        let mut hits = Vec::new();
        let inner = Scan {
            rules: self.rules,
            depth: self.depth + 1,
        };
        inner.block(decoded, 0..decoded.len(), &mut hits);
        hits.iter().map(|it| it.rule).min()
    }

    fn candidate(&self, view: &View<'_>, at: usize, rule: u16, hit: &mut dyn FnMut(Range<usize>)) {
        let text = &*view.bytes;
        match &self.rules.rules[usize::from(rule)].finder {
            Finder::Pattern(pattern) => {
                if let Some(range) = secret_at(pattern, text, at) {
                    hit(range);
                }
            }
            Finder::Assignment => {
                if let Some(range) = assignment::find(view, at) {
                    hit(range);
                }
            }
            Finder::Url => {
                if let Some(range) = address::find_in_url(text, at) {
                    hit(range);
                }
            }
            Finder::Cookie => address::find_in_cookies(text, at).into_iter().for_each(hit),
            Finder::PrivateKey => private_key::find(text, at).into_iter().for_each(hit),
        }
    }
}

/// Extends a range to whole characters of UTF-8.
fn characters(text: &[u8], mut range: Range<usize>) -> Range<usize> {
    let inside = |at: usize| text.get(at).is_some_and(|it| it & 0xc0 == 0x80);
    for _ in 0..3 {
        range.start -= usize::from(range.start > 0 && inside(range.start));
        range.end += usize::from(inside(range.end));
    }
    range
}

/// Returns the secret that a pattern finds around the literal at `at`.
fn secret_at(pattern: &Pattern, text: &[u8], at: usize) -> Option<Range<usize>> {
    if pattern.before == 0 && !begins(text, at) {
        return None;
    }
    // A text such as `eyJ-eyJ-eyJ-` must not be read again from each of its literals.
    let within = at
        .checked_sub(1)
        .is_some_and(|it| matches!(text[it], b'-' | b'_'));
    if pattern.reach > FAR && within {
        return None;
    }
    let start = at.saturating_sub(pattern.before);
    let window = &text[start..text.len().min(at + pattern.reach)];
    // Most literals are no part of a secret.
    if pattern.before == 0 && !pattern.can_match(window) {
        return None;
    }
    let regex = pattern.regex()?;
    // Captures would share a counter between the threads.
    if !regex.is_match(window) {
        return None;
    }
    let mut from = 0;
    while let Some(found) = regex.captures_at(window, from) {
        let whole = found.get(0)?.range();
        if whole.start > at - start {
            return None;
        }
        let around = start + whole.start..start + whole.end;
        let secret = found.get(1).map_or(whole.clone(), |it| it.range());
        let mut secret = start + secret.start..start + secret.end;
        if pattern.reach > FAR && secret.end == start + window.len() {
            // The secret is longer than the pattern reaches.
            let rest = text[secret.end..].iter().take(MOST_LONG);
            secret.end += rest.take_while(|it| is_token(**it)).count();
        }
        if around.end > at && begins(text, around.start) && ends(text, secret.end) {
            return is_secret(pattern, text, &secret).then_some(secret);
        }
        if pattern.before == 0 {
            return None;
        }
        from = whole.start + 1;
    }
    None
}

fn is_secret(pattern: &Pattern, text: &[u8], secret: &Range<usize>) -> bool {
    let bytes = &text[secret.clone()];
    let has = |part: &[u8]| memmem::find(bytes, part).is_some();
    if has(b"EXAMPLE") || has(b"example") || value::entropy(bytes) < pattern.entropy {
        return false;
    }
    let words = bytes.strip_suffix(b"=").unwrap_or(bytes);
    if pattern.random && value::is_wordy(words) {
        return false;
    }
    !pattern.credentials
        || encoded::decode_text(bytes).is_some_and(|it| {
            memmem::find(&it, b":").is_some_and(|colon| colon > 0 && colon + 1 < it.len())
        })
}

/// Returns whether a secret can begin at `at`: not in the middle of a word.
fn begins(text: &[u8], at: usize) -> bool {
    !at.checked_sub(1)
        .is_some_and(|it| text[it].is_ascii_alphanumeric())
        || !text[at].is_ascii_alphanumeric()
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'=')
}

/// Returns whether a secret can end before `at`.
fn ends(text: &[u8], at: usize) -> bool {
    !text
        .get(at)
        .is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_')
}

/// Finds the secrets of a user's rule that begin in `core`.
fn everywhere(
    pattern: &Pattern,
    text: &[u8],
    core: &Range<usize>,
    mut hit: impl FnMut(Range<usize>),
) {
    let Some(regex) = pattern.regex() else { return };
    let mut from = core.start;
    while from < core.end
        && let Some(found) =
            regex.captures_at(&text[..text.len().min(core.end + pattern.reach)], from)
    {
        let Some(whole) = found.get(0) else { return };
        if whole.start() >= core.end {
            return;
        }
        let secret = found.get(1).unwrap_or(whole).range();
        let end = secret.end.min(secret.start + pattern.reach);
        if value::entropy(&text[secret.start..end]) >= pattern.entropy {
            hit(secret.start..end);
        }
        from = whole.end().max(whole.start() + 1);
    }
}
