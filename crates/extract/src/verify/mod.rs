//! Checks the values and line numbers in an answer against the output, and finds where the values
//! occur.
//!
//! A model's answer names lines and quotes values. Each value is searched in the stored text: first
//! in the lines named next to it, then everywhere; first byte for byte, then ignoring white space
//! and JSON escapes ([`normal`]). What is not found is marked in the answer, so that readers notice
//! it:
//!
//! - ` [unverified]` follows a value that does not occur in the output, quoted or not ([`bare`]).
//!   Names and numbers are checked even without quotes. Totals that a model computed are marked,
//!   too, because the output does not contain them.
//! - ` [no such line]` follows a reference to lines that do not exist.
//!
//! If a quote occurs only in lines other than those that the answer names, ` [found at L…]` follows
//! it. A value must match as a whole: `E42` is not found in `E4217`. Values of fewer than three
//! characters are not checked, because they occur everywhere. Citations say where a value really
//! is, even if the answer names other lines.

mod answer;
mod bare;
mod find;
mod normal;
mod place;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;
use spillgate_lookup::Artifact;
use spillgate_text::{View, clip};

use crate::Citation;
use crate::map::found;
use answer::{Claim, Named, Parsed};
use find::{Wanted, find_all};
use place::{Place, citations};

/// The mark after a value that does not occur in the output.
pub(crate) const UNVERIFIED: &str = " [unverified]";
/// The mark after a quote that occurs only in lines other than those that the answer names. The
/// lines and a closing bracket follow.
pub(crate) const FOUND_AT: &str = " [found at L";
/// The mark after a reference to lines that do not exist.
pub(crate) const NO_SUCH_LINE: &str = " [no such line]";
/// Maximum number of different values that are searched. Further values count as unverified.
const MOST_VALUES: usize = 500;
/// Maximum number of places that are reported, and of unverified values that are listed.
const MOST_TOLD: usize = 200;
/// Maximum distance, in bytes, between a value and a line reference that belongs to it.
const BESIDE: usize = 400;
/// Maximum size of named lines, in bytes (128 KiB). Larger ranges are not searched separately.
const LARGEST_NAMED: u64 = 128 << 10;
/// Number of lines before and after the named ones that are also searched, because models are often
/// wrong by a few lines.
const AROUND: u64 = 3;

/// An answer that was checked against the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grounded {
    /// The answer, in which marks show values that were not found and lines that were named
    /// wrongly.
    pub text: String,
    /// The places that the answer is based on, in the order of the answer.
    pub citations: Vec<Citation>,
    /// Values that were not found. Those that were not searched are listed as not checked.
    pub unverified: Vec<String>,
}

/// Checks an answer against the output that it is about.
pub(crate) fn ground(artifact: &Artifact, answer: &str) -> io::Result<Grounded> {
    let view = artifact.view();
    let is_nothing = !found(answer);
    let parsed = answer::parse(answer, view.lines(), !is_nothing);
    let mut values = Values::collect(answer, &parsed);
    values.find(view, answer, &parsed)?;
    let corrected = corrected(artifact, answer, &parsed, &values)?;
    Ok(Grounded {
        text: marked(answer, &parsed, &values, view.lines(), corrected),
        citations: citations(artifact, places(artifact, answer, &parsed, &values)?)?,
        unverified: unverified(answer, &parsed, &values),
    })
}

/// The values of an answer. A value is searched once for each set of lines named next to it.
#[derive(Default)]
struct Values {
    wanted: Vec<Wanted>,
    /// For each value: one of its positions in the answer, and the indices of the line references
    /// next to it.
    told: Vec<(Range<usize>, [Option<usize>; 2])>,
    /// For each claim, the index of its value; `None` for claims beyond [`MOST_VALUES`].
    of_claim: Vec<Option<usize>>,
}

impl Values {
    fn collect(answer: &str, parsed: &Parsed) -> Self {
        let mut values = Self::default();
        let mut known: HashMap<(&str, [Option<usize>; 2]), usize> = HashMap::new();
        for claim in &parsed.claims {
            let text = &answer[claim.text.clone()];
            let beside = beside(answer, &claim.text, &parsed.named);
            let is_full = values.wanted.len() >= MOST_VALUES;
            let at = known.get(&(text, beside)).copied();
            let at = at.or_else(|| {
                (!is_full).then(|| {
                    values.wanted.push(Wanted::new(text));
                    values.told.push((claim.text.clone(), beside));
                    known.insert((text, beside), values.wanted.len() - 1);
                    values.wanted.len() - 1
                })
            });
            values.of_claim.push(at);
        }
        values
    }

    fn find(&mut self, view: &View, answer: &str, parsed: &Parsed) -> io::Result<()> {
        for (wanted, (text, beside)) in self.wanted.iter_mut().zip(&self.told) {
            let named = beside
                .iter()
                .flatten()
                .flat_map(|&at| &parsed.named[at].lines);
            for &lines in named {
                for around in [0, AROUND] {
                    if wanted.hit.is_none() && !wanted.is_unchecked {
                        find_in(view, lines, around, wanted)?;
                    }
                }
            }
            if wanted.hit.is_none()
                && let Some((line, rest)) = numbered(&answer[text.clone()])
            {
                let mut inner = Wanted::new(rest);
                find_in(view, (line, line), 0, &mut inner)?;
                wanted.hit = inner.hit;
            }
        }
        find_all(view, &mut self.wanted)
    }

    fn is_found(&self, claim: usize) -> bool {
        self.of_claim[claim].is_some_and(|at| self.wanted[at].hit.is_some())
    }
}

/// Searches a value in the lines `lines` and in `around` lines before and after them.
fn find_in(view: &View, lines: (u64, u64), around: u64, wanted: &mut Wanted) -> io::Result<()> {
    let first = lines.0.saturating_sub(around).max(1);
    let last = lines.1.saturating_add(around).min(view.lines());
    if lines.0 == 0 || first > last {
        return Ok(());
    }
    let start = view.offset_of_line(first)?;
    let end = view.offset_of_line(last + 1)?;
    if end - start <= LARGEST_NAMED {
        wanted.find_in(&view.source().bytes(start, end)?, start);
    }
    Ok(())
}

/// If a quoted line begins with a line number as shown to models, returns the number and the rest.
fn numbered(quote: &str) -> Option<(u64, &str)> {
    static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*L?([0-9]{1,18})\s?[:|→ \-]").expect("invariant: it is well-formed")
    });
    let found = NUMBERED.captures(quote)?;
    let rest = &quote[found.get(0)?.end()..];
    Some((found[1].parse().ok()?, rest))
}

/// Returns the indices in `named` of the line references next to a value: the one after it and the
/// one before it.
fn beside(answer: &str, text: &Range<usize>, named: &[Named]) -> [Option<usize>; 2] {
    let after = named.partition_point(|one| one.at.start < text.end);
    let is_near = |from: usize, to: usize| {
        to - from <= BESIDE && memmem::find(&answer.as_bytes()[from..to], b"\n\n").is_none()
    };
    let next = named
        .get(after)
        .filter(|one| is_near(text.end, one.at.start));
    let before = after.checked_sub(1);
    let before = before
        .filter(|&at| named[at].at.end <= text.start && is_near(named[at].at.end, text.start));
    [next.map(|_| after), before]
}

/// Returns the marks for quotes that occur only in lines other than those that the answer names.
fn corrected(
    artifact: &Artifact,
    answer: &str,
    parsed: &Parsed,
    values: &Values,
) -> io::Result<Vec<(usize, String)>> {
    let mut marks = Vec::new();
    for (claim, at) in parsed.claims.iter().zip(&values.of_claim) {
        let Some(at) = at.filter(|_| !claim.is_bare && marks.len() < MOST_TOLD) else {
            continue;
        };
        let beside = values.told[at].1;
        let (Some(_), Some(hit)) = (beside[0], values.wanted[at].hit) else {
            continue;
        };
        let (first, last) = Place::of_hit(artifact, hit, &answer[claim.text.clone()])?.lines;
        let mut beside = beside.into_iter().flatten();
        if !beside.any(|one| holds(&parsed.named[one], (first, last))) {
            let lines = match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            };
            marks.push((claim.end, format!("{FOUND_AT}{lines}]")));
        }
    }
    Ok(marks)
}

/// Inserts the marks into the answer and returns it.
fn marked(
    answer: &str,
    parsed: &Parsed,
    values: &Values,
    lines: u64,
    corrected: Vec<(usize, String)>,
) -> String {
    let claims = parsed.claims.iter().enumerate();
    let nowhere = claims.filter(|(at, _)| !values.is_found(*at));
    let mut marks: Vec<(usize, String)> = corrected;
    marks.extend(nowhere.map(|(_, claim)| (claim.end, UNVERIFIED.to_owned())));
    let is_there = |&(first, last): &(u64, u64)| first > 0 && last <= lines;
    let missing = parsed
        .named
        .iter()
        .filter(|one| !one.lines.iter().all(is_there));
    marks.extend(missing.map(|one| (one.at.end, NO_SUCH_LINE.to_owned())));
    marks.sort_by_key(|(at, _)| *at);
    let (mut text, mut from) = (String::with_capacity(answer.len()), 0);
    for (at, mark) in marks {
        text.push_str(&answer[from..at]);
        text.push_str(&mark);
        from = at;
    }
    text + &answer[from..]
}

/// Returns the places that the answer is based on: the places where its values were found, and the
/// lines that it names if no value next to them was found.
fn places(
    artifact: &Artifact,
    answer: &str,
    parsed: &Parsed,
    values: &Values,
) -> io::Result<Vec<Place>> {
    let lines = artifact.view().lines();
    let is_alone = parsed.named.is_empty() && parsed.claims.iter().all(|claim| claim.is_bare);
    let mut found: Vec<(usize, Place)> = Vec::new();
    // For each line reference, whether a value next to it was found.
    let mut is_told = vec![false; parsed.named.len()];
    for (claim, at) in parsed.claims.iter().zip(&values.of_claim) {
        let Some(at) = at.filter(|_| found.len() < MOST_TOLD) else {
            continue;
        };
        let Some(hit) = values.wanted[at].hit else {
            continue;
        };
        let place = Place::of_hit(artifact, hit, &answer[claim.text.clone()])?;
        let beside = values.told[at].1.into_iter().flatten();
        let holder = beside
            .clone()
            .find(|&one| holds(&parsed.named[one], place.lines));
        if claim.is_bare && holder.is_none() && !is_alone {
            continue;
        }
        if let Some(told) = holder.or(beside.clone().next()) {
            is_told[told] = true;
        }
        found.push((claim.text.start, place));
    }
    let of_values: Vec<(u64, u64)> = found.iter().map(|(_, place)| place.lines).collect();
    let has_value = |range| of_values.iter().any(|&value| within(value, range));
    for (one, is_told) in parsed.named.iter().zip(is_told) {
        let is_wrong = is_told && !one.lines.iter().any(|&range| has_value(range));
        for &(first, last) in &one.lines {
            let is_needed = !is_wrong && !has_value((first, last));
            if first > 0 && first <= lines && is_needed && found.len() < MOST_TOLD {
                let lines = (first, last.min(lines));
                found.push((one.at.start, Place { lines, quote: None }));
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let mut places: Vec<Place> = Vec::new();
    for (_, place) in found {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

fn holds(named: &Named, lines: (u64, u64)) -> bool {
    named.lines.iter().any(|&range| within(lines, range))
}

fn within(lines: (u64, u64), range: (u64, u64)) -> bool {
    range.0 <= lines.0 && lines.1 <= range.1
}

/// Returns the values that were not found, each of them once.
fn unverified(answer: &str, parsed: &Parsed, values: &Values) -> Vec<String> {
    /// Maximum length of a listed value, in characters.
    const TOLD_CHARS: usize = 200;
    let mut listed: Vec<String> = Vec::new();
    let mut more = 0;
    let missing = |claim: &Claim, at: Option<usize>| match at.map(|at| &values.wanted[at]) {
        Some(one) if one.hit.is_some() => None,
        Some(one) => {
            let value = clip(answer[claim.text.clone()].trim(), TOLD_CHARS);
            let why = if one.is_unchecked {
                " (not checked)"
            } else {
                ""
            };
            Some(format!("{value}{why}"))
        }
        None => Some(String::new()),
    };
    for (claim, at) in parsed.claims.iter().zip(&values.of_claim) {
        match missing(claim, *at) {
            Some(value) if listed.contains(&value) => {}
            Some(value) if !value.is_empty() && listed.len() < MOST_TOLD => listed.push(value),
            Some(_) => more += 1,
            None => {}
        }
    }
    if more > 0 {
        listed.push(format!("and {more} more, not all of them checked"));
    }
    listed
}

#[cfg(test)]
mod tests;
