//! Finds the filter that was probably meant in place of one that is not valid jq.
//!
//! Quotes, operators and function names from other languages are replaced with those of jq.
//! Brackets that are missing at the end are added, and so is a missing dot before a key. A repair
//! is offered only if the whole filter then compiles.

use super::jq::Fault;

/// Maximum number of changes to one filter.
const CHANGES: usize = 6;

/// Names of functions in other languages, and the jq expressions that do the same.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("avg", "(add / length)"),
    ("average", "(add / length)"),
    ("count", "length"),
    ("distinct", "unique"),
    ("filter", "select"),
    ("includes", "contains"),
    ("len", "length"),
    ("lower", "ascii_downcase"),
    ("lowercase", "ascii_downcase"),
    ("matches", "test"),
    ("mean", "(add / length)"),
    ("number", "tonumber"),
    ("size", "length"),
    ("string", "tostring"),
    ("sum", "add"),
    ("tolower", "ascii_downcase"),
    ("tolowercase", "ascii_downcase"),
    ("toupper", "ascii_upcase"),
    ("touppercase", "ascii_upcase"),
    ("uniq", "unique"),
    ("upper", "ascii_upcase"),
    ("uppercase", "ascii_upcase"),
    ("where", "select"),
];

/// Returns the filter that was probably meant; `None` if no change makes it compile. `compile`
/// compiles a filter, and `names` lists all functions with their numbers of arguments.
pub(crate) fn repaired(
    filter: &str,
    compile: &dyn Fn(&str) -> Result<(), Fault>,
    names: &[(String, usize)],
) -> Option<String> {
    let mut now = filter.to_owned();
    for _ in 0..CHANGES {
        let next = match compile(&now) {
            Ok(()) => return (now != filter).then_some(now),
            Err(Fault {
                at,
                undefined: Some((name, arity)),
                ..
            }) => renamed(&now, at, &name, arity, names)?,
            Err(_) => rewritten(&now),
        };
        if next == now {
            return None;
        }
        now = next;
    }
    compile(&now).is_ok().then_some(now)
}

/// Replaces the name of the unknown function at byte `at` by the name that was probably meant.
fn renamed(
    filter: &str,
    at: usize,
    name: &str,
    arity: usize,
    names: &[(String, usize)],
) -> Option<String> {
    let after = filter.get(at..)?.strip_prefix(name)?;
    let before = &filter[..at];
    // With an argument, `sort` is called `sort_by` in jq: `sort(.a)` means `sort_by(.a)`.
    let by = format!("{name}_by");
    let is_known = |name: &str| names.iter().any(|(known, n)| known == name && *n == arity);
    let lower = name.to_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == lower);
    let near = || {
        let near = names.iter().filter(|(_, n)| *n == arity);
        let near =
            near.map(|(known, _)| (strsim::osa_distance(&known.to_lowercase(), &lower), known));
        let nearest = near.min_by_key(|(distance, _)| *distance);
        nearest.filter(|(distance, known)| *distance <= known.len().min(lower.len()) / 4)
    };
    let new = match other {
        _ if is_known(&by) => by,
        Some((_, new)) => (*new).to_owned(),
        None => match near() {
            Some((_, known)) => known.clone(),
            // A word without a dot is most often meant as a key.
            None if arity == 0 => format!(".{name}"),
            None => return None,
        },
    };
    Some(format!("{before}{new}{after}"))
}

/// Replaces the spellings of other languages in a filter with those of jq, except inside strings.
fn rewritten(filter: &str) -> String {
    let filter = filter.trim();
    let filter = filter.strip_prefix("jq ").unwrap_or(filter).trim();
    let filter = filter
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .unwrap_or(filter);
    let mut text = String::with_capacity(filter.len());
    let mut open = Vec::new();
    let mut rest = filter;
    let is_open_quote = |c: char| matches!(c, '“' | '”' | '„');
    while let Some(c) = rest.chars().next() {
        let (length, new) = match c {
            '"' => {
                let (end, new) = string_end(rest);
                text.push_str(&rest[..end]);
                (end, new)
            }
            '\'' | '‘' | '’' => {
                match quoted(&rest[c.len_utf8()..], |c| matches!(c, '\'' | '‘' | '’')) {
                    Some((inner, length)) => {
                        text.push_str(&serde_json::Value::from(inner).to_string());
                        (c.len_utf8() + length, "")
                    }
                    None => (c.len_utf8(), "\""),
                }
            }
            c if is_open_quote(c) => match quoted(&rest[c.len_utf8()..], is_open_quote) {
                Some((inner, length)) => {
                    text.push_str(&serde_json::Value::from(inner).to_string());
                    (c.len_utf8() + length, "")
                }
                None => (c.len_utf8(), "\""),
            },
            _ => {
                const SPELLINGS: &[(&str, &str)] = &[
                    ("&&", " and "),
                    ("||", " or "),
                    ("===", "=="),
                    ("!==", "!="),
                    ("<>", "!="),
                    ("[*]", "[]"),
                    ("$.", "."),
                    ("$[", ".["),
                ];
                match SPELLINGS.iter().find(|(old, _)| rest.starts_with(old)) {
                    // Replaces only the `$`: the next round counts the bracket.
                    Some(("$[", _)) => (1, "."),
                    Some((old, new)) => (old.len(), *new),
                    None => {
                        brackets(c, &mut open);
                        (c.len_utf8(), &rest[..c.len_utf8()])
                    }
                }
            }
        };
        text.push_str(new);
        rest = &rest[length..];
    }
    let text = text.replace("  and  ", " and ").replace("  or  ", " or ");
    let closing: String = open.into_iter().rev().collect();
    let text = text.trim_end_matches(['|', ' ']).to_owned();
    text + &closing
}

/// Updates the list of the closing brackets that are still missing after the character `c`.
fn brackets(c: char, open: &mut Vec<char>) {
    match c {
        '(' => open.push(')'),
        '[' => open.push(']'),
        '{' => open.push('}'),
        c if open.last() == Some(&c) => {
            open.pop();
        }
        _ => {}
    }
}

/// Returns the length of the string literal at the start of a text, with its quotes, and the
/// closing quote if it is missing.
fn string_end(text: &str) -> (usize, &'static str) {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return (at + 1, ""),
            _ => {}
        }
    }
    // The closing quote is missing. Brackets at the end of the filter are probably not part of the
    // string.
    let is_end = |c: char| matches!(c, ')' | ']' | '}');
    let inner = text.trim_end_matches(|c| is_end(c) || c == ' ');
    match inner.contains(is_end) {
        true => (text.len(), ""),
        false => (inner.len(), "\""),
    }
}

/// Returns the text before the closing quote, and the length of this text with the quote.
fn quoted(text: &str, is_quote: impl Fn(char) -> bool) -> Option<(&str, usize)> {
    let (at, quote) = text.char_indices().find(|&(_, c)| is_quote(c))?;
    Some((&text[..at], at + quote.len_utf8()))
}
