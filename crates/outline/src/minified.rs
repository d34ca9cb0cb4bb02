//! Outlines minified JavaScript and CSS: the banner, and the names that were not shortened.

use std::io;
use std::sync::LazyLock;

use regex::bytes::Regex;
use rustc_hash::{FxHashMap, FxHashSet};
use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped};
use crate::{EntryKind, OutlineEntry, located, note};

/// Number of bytes at the start of a text that show whether it is minified code.
const HEAD: u64 = 16 << 10;
/// Minimum size of such a text, in bytes.
const LEAST: usize = 1000;
/// Minimum average length of a line in minified code, in bytes.
const LINE: usize = 300;
/// Maximum number of bytes that are read. Such files are rarely larger.
const READ: u64 = 8 << 20;
/// Maximum number of names that are shown.
const NAMES: usize = 150;
/// Maximum number of banners that are shown.
const BANNERS: usize = 4;
/// Maximum number of different selectors, of variables and of conditions that are counted.
const APART: usize = 4096;
/// Maximum number of selectors, of variables and of conditions that are named.
const NAMED: usize = 12;

fn pattern(source: &str) -> Regex {
    Regex::new(&format!("(?-u){source}")).expect("the patterns of this file are valid")
}

/// A comment that the minifier kept. Such a comment names the library, its version and its licence.
static BANNER: LazyLock<Regex> = LazyLock::new(|| pattern(r"/\*[!*]?[\s*]*([^*]{8,200})"));
/// A name in a definition. Shorter names were invented by the minifier.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\bfunction\*? ([A-Za-z_$][\w$]{3,40})\(|\bclass ([A-Za-z_$][\w$]{3,40})\b",
        r"|\b(?:exports|prototype|module|window|globalThis)\.([A-Za-z_$][\w$]{3,40})=",
        r"|[{,.]([A-Za-z_$][\w$]{3,40})(?:=|:)(?:async )?function\b",
    ))
});
/// The text before a block of CSS.
static RULE: LazyLock<Regex> = LazyLock::new(|| pattern(r"([^{};]{1,400})\{"));
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(--[\w-]{2,60}):([^;}]{1,60})"));

/// Returns the outline of minified code; no entries for other texts.
pub(crate) fn outline(view: &View, _: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    let lines = 1 + memchr::memchr_iter(b'\n', head.trim_ascii_end()).count();
    // JSON that was cut off has long lines, too.
    let is_json = head.trim_ascii_start().starts_with(b"{") || head.starts_with(b"[");
    if is_json || head.len() < LEAST || lines * LINE > head.len() {
        return Ok(Vec::new());
    }
    let count = |mark: &[u8]| memchr::memmem::find_iter(&head, mark).count();
    // Code contains more than one of these marks per thousand bytes; prose contains none.
    let often = head.len() / 1000;
    let is_script = count(b"function") + count(b"=>") + count(b"return") > often
        && count(b";") + count(b",") > often
        && count(b"(") > 4 * often;
    let is_style = !is_script && count(b"{") > 4 * often && count(b":") > 8 * often;
    let text = view.source().bytes(0, READ)?;
    let mut shown = match (is_script, is_style) {
        (true, _) => script(view, &text)?,
        (_, true) => style(&text),
        _ => return Ok(Vec::new()),
    };
    if view.bytes() > READ {
        shown[0].text.push_str(" (of the first 8 MiB)");
    }
    let is_banner = |found: &regex::bytes::Captures<'_>| {
        let all = found.get(0).map_or(&b""[..], |all| all.as_bytes());
        let is_first = found.get(0).is_some_and(|all| all.start() == 0);
        is_first || all.starts_with(b"/*!") || memchr::memmem::find(all, b"@license").is_some()
    };
    let banners = BANNER.captures_iter(&text).filter(is_banner).take(BANNERS);
    for (at, found) in banners.enumerate() {
        let banner = String::from_utf8_lossy(&found[1]);
        let words: Vec<&str> = banner.split_whitespace().collect();
        let offset = found.get(0).map_or(0, |all| all.start() as u64);
        let entry = located(view, offset, (1 + at * 4, 0), words.join(" "))?;
        shown.insert(1 + at, entry);
    }
    Ok(shown)
}

fn script(view: &View, text: &[u8]) -> io::Result<Vec<OutlineEntry>> {
    let mut known: FxHashSet<&[u8]> = FxHashSet::default();
    let mut names: Vec<(u64, &[u8])> = Vec::new();
    for found in NAME.captures_iter(text) {
        let Some(name) = found.iter().skip(1).flatten().next() else {
            continue;
        };
        if known.len() < APART && known.insert(name.as_bytes()) {
            names.push((name.start() as u64, name.as_bytes()));
        }
    }
    let mut shown = vec![note(format!(
        "minified JavaScript: {} of functions and classes",
        counted(&grouped(names.len() as u64), "name")
    ))];
    // Names that share a line are one entry.
    let mut line: Option<(u64, u64, Vec<String>)> = None;
    for (offset, name) in names.into_iter().take(NAMES) {
        let name = String::from_utf8_lossy(name).into_owned();
        let number = view.line_of_offset(offset)?;
        match &mut line {
            Some((last, _, names)) if *last == number && names.len() < NAMED => names.push(name),
            _ => {
                push(view, line.take(), &mut shown)?;
                line = Some((number, offset, vec![name]));
            }
        }
    }
    push(view, line, &mut shown)?;
    Ok(shown)
}

fn push(
    view: &View,
    line: Option<(u64, u64, Vec<String>)>,
    shown: &mut Vec<OutlineEntry>,
) -> io::Result<()> {
    if let Some((_, offset, names)) = line {
        let rank = 1 + shown.len();
        shown.push(located(view, offset, (rank, 0), names.join(", "))?);
    }
    Ok(())
}

fn style(text: &[u8]) -> Vec<OutlineEntry> {
    let (mut rules, mut conditions) = (0, 0);
    let mut classes: FxHashMap<&[u8], u64> = FxHashMap::default();
    for found in RULE.captures_iter(text) {
        let selector = found.get(1).map_or(&b""[..], |one| one.as_bytes());
        if selector.starts_with(b"@") {
            conditions += 1;
            continue;
        }
        rules += 1;
        let Some(dot) = memchr::memchr(b'.', selector) else {
            continue;
        };
        let name = &selector[dot..];
        if !name.get(1).is_some_and(u8::is_ascii_alphabetic) {
            continue; // a figure, such as .5
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        // The first word of a class: `.btn-primary` and `.btn-lg` belong together.
        let length = 1 + name[1..].iter().take_while(|byte| is_word(byte)).count();
        if classes.len() < APART || classes.contains_key(&name[..length]) {
            *classes.entry(&name[..length]).or_default() += 1;
        }
    }
    let mut shown = vec![note(format!(
        "minified CSS: {}, {} (@media and others)",
        counted(&grouped(rules), "rule"),
        counted(&grouped(conditions), "block")
    ))];
    let mut classes: Vec<(&[u8], u64)> = classes.into_iter().collect();
    classes.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let named: Vec<String> = classes
        .iter()
        .take(NAMED)
        .map(|(name, count)| format!("{}× {}", grouped(*count), String::from_utf8_lossy(name)))
        .collect();
    if !named.is_empty() {
        let text = format!("classes begin with: {}", named.join(", "));
        shown.push(OutlineEntry::new(2, 0, EntryKind::Place, text));
    }
    let mut known: FxHashSet<&[u8]> = FxHashSet::default();
    for found in VARIABLE.captures_iter(text) {
        let name = found.get(1).map_or(&b""[..], |one| one.as_bytes());
        if known.len() < NAMES && known.insert(name) {
            let text = String::from_utf8_lossy(&found[0]).into_owned();
            let rank = 3 + known.len();
            shown.push(OutlineEntry::new(rank, 0, EntryKind::Place, text));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::shown_by;

    fn shown(text: &str) -> String {
        shown_by(outline, text)
    }

    #[test]
    fn names_that_were_kept() {
        let filler = "function a(b,c){return b(c)&&c>1?b:c}".repeat(30);
        assert_snapshot!(shown(&format!("/*! chart v7.9.2 | MIT\n * (c) Ann */\n!function(e){{{filler}exports.geoAlbers=function(t){{return t}};class Scale extends a{{}}function axisLeft(){{return 1}}{filler}Chart.prototype.drawAll=function(){{}}}}(this);\n")), @"
        minified JavaScript: 4 names of functions and classes
        1: chart v7.9.2 | MIT
        4: geoAlbers, Scale, axisLeft
        5: drawAll
        ");
        let rules = ".btn-a{color:red}.btn-b{color:var(--blue)}.card{top:0;left:0}@media (min-width:1px){a{top:1px}}".repeat(20);
        assert_snapshot!(shown(&format!("/*! Boots v4.1 */:root{{--blue:#007bff;--red:#dc3545}}{rules}")), @"
        minified CSS: 81 rules, 20 blocks (@media and others)
        1: Boots v4.1
        classes begin with: 40× .btn, 20× .card
        --blue:#007bff
        --red:#dc3545
        ");
        for none in [
            "a line of words that goes on and on, and so on; ".repeat(100),
            "function a() { return 1; }\n".repeat(100),
            "function a(){return 1}".to_owned(),
            "x".repeat(5000),
        ] {
            assert_eq!(shown(&none), "", "{none}");
        }
    }
}
