//! Finds the part of a filter that is a plain path.
//!
//! `.items[].name` needs no jq, and in `.items[] | select(.x > 5)` only the part after the bar
//! needs it, for one item at a time. Therefore a filter is split at its outermost bars into a path,
//! which is followed in the bytes (`lazy`), and the rest, which jq runs. `P | F` has the same
//! results as `F` on each result of `P`. `[P | F]` and `P | map(F)` collect these results in an
//! array. jq runs every other filter as a whole.

use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};
use jaq_core::load::span;
use spillgate_text::push_key;

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    /// Whether a `?` follows. The step then has no result instead of an error.
    pub(crate) optional: bool,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// `.key`
    Key(String),
    /// `.[3]`, `.[-1]`
    Index(i64),
    /// `.[]`
    Each,
}

/// A filter that is split into a path and the filters that jq runs after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterPlan<'a> {
    /// The path at the start of the filter.
    pub(crate) steps: Vec<Step>,
    /// The filter for each value at the path; `None` if the values themselves are the results.
    pub(crate) each: Option<&'a str>,
    /// Whether the results are gathered in an array.
    pub(crate) gathers: bool,
    /// The filter for that array; `None` if the array itself is the result.
    pub(crate) then: Option<&'a str>,
}

impl FilterPlan<'_> {
    /// Returns the part of the filter that runs on each element of the input array; `None` unless
    /// the plan begins with `.[]`.
    pub(crate) fn of_element(&self) -> Option<String> {
        let (first, rest) = self.steps.split_first()?;
        (first.kind == StepKind::Each).then(|| match self.each {
            Some(each) => format!("{} | {each}", written(rest)),
            None => written(rest),
        })
    }
}

/// Returns a path in jq syntax.
pub(crate) fn written(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        let step_text = step_text(&step.kind);
        if path.is_empty() && !step_text.starts_with('.') {
            path.push('.');
        }
        path.push_str(&step_text);
        path.push_str(if step.optional { "?" } else { "" });
    }
    match path.is_empty() {
        true => ".".to_owned(),
        false => path,
    }
}

/// Returns a step in jq syntax.
pub(crate) fn step_text(kind: &StepKind) -> String {
    match kind {
        // A JSON string is a jq string, too, unless it contains an interpolation, which needs a
        // backslash that JSON escapes.
        StepKind::Key(key) => {
            let mut step = String::new();
            push_key(
                &mut step,
                &serde_json::Value::from(key.as_str()).to_string(),
            );
            step
        }
        StepKind::Index(at) => format!("[{at}]"),
        StepKind::Each => "[]".to_owned(),
    }
}

/// Returns the plan of a filter, which must be valid jq; `None` if it does not start with a path.
pub(crate) fn plan(filter: &str) -> Option<FilterPlan<'_>> {
    let tokens = Lexer::new(filter).lex().ok()?;
    let mut plan = FilterPlan {
        steps: Vec::new(),
        each: None,
        gathers: false,
        then: None,
    };
    let mut rest = tokens.as_slice();
    let mut bars = 0;
    while let Some((steps, after)) = path(rest) {
        plan.steps.extend(steps);
        rest = after;
        bars += 1;
        if rest.is_empty() {
            return Some(plan);
        }
    }
    if !plan.steps.iter().any(|step| step.kind == StepKind::Each)
        && let Some((inner, then)) = gathered(rest)
    {
        let mut steps = plan.steps.clone();
        let each = match inner {
            Inner::Path(inner) => {
                let (more, after) = path(inner)?;
                steps.extend(more);
                text(filter, after)
            }
            Inner::Map(inner) => {
                steps.push(Step {
                    kind: StepKind::Each,
                    optional: false,
                });
                text(filter, inner)
            }
        };
        return Some(FilterPlan {
            steps,
            each,
            gathers: true,
            then: text(filter, then),
        });
    }
    (bars > 0 && !plan.steps.is_empty()).then(|| FilterPlan {
        each: text(filter, rest),
        ..plan
    })
}

/// The content of a `[…]` or `map(…)`.
enum Inner<'t, 'a> {
    Path(&'t [Token<&'a str>]),
    Map(&'t [Token<&'a str>]),
}

/// Splits a filter that starts with `[path…]` or `map(…)`: returns the content of the brackets, and
/// the tokens after the bar that follows them.
fn gathered<'t, 'a>(tokens: &'t [Token<&'a str>]) -> Option<(Inner<'t, 'a>, &'t [Token<&'a str>])> {
    let (inner, rest) = match tokens {
        [Token(text, Tok::Block(inner)), rest @ ..] if text.starts_with('[') => {
            let (_, inner) = inner.split_last()?;
            path(inner)?;
            (Inner::Path(inner), rest)
        }
        [
            Token("map", Tok::Word),
            Token(text, Tok::Block(inner)),
            rest @ ..,
        ] if text.starts_with('(') => {
            let (_, inner) = inner.split_last()?;
            // `map(f; g)` is another function and is not split.
            let is_one = !inner.iter().any(|token| is_symbol(token, ";"));
            (Inner::Map(is_one.then_some(inner)?), rest)
        }
        _ => return None,
    };
    Some((inner, behind_bar(rest)?))
}

/// Splits a filter that starts with a path into the path and the tokens after its bar. A bar or the
/// end of the filter must follow the path.
fn path<'t, 'a>(tokens: &'t [Token<&'a str>]) -> Option<(Vec<Step>, &'t [Token<&'a str>])> {
    let mut steps: Vec<Step> = Vec::new();
    let mut rest = tokens;
    let step = |kind| Step {
        kind,
        optional: false,
    };
    match tokens.first()? {
        Token(name, Tok::Sym) if name.starts_with('.') && *name != ".." => {}
        _ => return None,
    }
    loop {
        rest = match rest {
            [Token(".", Tok::Sym), Token(_, Tok::Str(parts)), after @ ..] => {
                steps.push(step(StepKind::Key(string(parts)?)));
                after
            }
            [Token(".", Tok::Sym), Token(_, Tok::Block(_)), ..] => &rest[1..],
            // `.` alone means the input itself. It counts as a path only at the start of the
            // filter, and only if a bar or the end of the filter follows.
            [Token(".", Tok::Sym), after @ ..] if steps.is_empty() => {
                return Some((steps, behind_bar(after)?));
            }
            [Token(name, Tok::Sym), after @ ..] if name.len() > 1 && name.starts_with('.') => {
                let key = name[1..].to_owned();
                steps.push(step(StepKind::Key((key != ".").then_some(key)?)));
                after
            }
            [Token(text, Tok::Block(inner)), after @ ..] if text.starts_with('[') => {
                steps.push(step(bracket(inner)?));
                after
            }
            [Token("?", Tok::Sym), after @ ..] => {
                steps.last_mut()?.optional = true;
                after
            }
            _ => return Some((steps, behind_bar(rest)?)),
        };
    }
}

/// Returns the tokens after the bar; none at the end of the filter.
fn behind_bar<'t, 'a>(tokens: &'t [Token<&'a str>]) -> Option<&'t [Token<&'a str>]> {
    match tokens {
        [] => Some(tokens),
        [bar, rest @ ..] if is_symbol(bar, "|") && !rest.is_empty() => Some(rest),
        _ => None,
    }
}

fn is_symbol(token: &Token<&str>, symbol: &str) -> bool {
    matches!(token, Token(text, Tok::Sym) if *text == symbol)
}

fn bracket(inner: &[Token<&str>]) -> Option<StepKind> {
    let number = |digits: &str| -> Option<i64> {
        let is_plain = digits.len() < 10 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse().ok()).flatten()
    };
    match inner {
        [Token("]", _)] => Some(StepKind::Each),
        [Token(_, Tok::Str(parts)), Token("]", _)] => Some(StepKind::Key(string(parts)?)),
        [Token(digits, Tok::Num), Token("]", _)] => Some(StepKind::Index(number(digits)?)),
        [minus, Token(digits, Tok::Num), Token("]", _)] if is_symbol(minus, "-") => {
            Some(StepKind::Index(-number(digits)?))
        }
        _ => None,
    }
}

/// Returns the value of a string literal; `None` if it contains interpolation.
fn string(parts: &[StrPart<&str, Token<&str>>]) -> Option<String> {
    let part = |part: &StrPart<&str, Token<&str>>| match part {
        StrPart::Str(text) => Some((*text).to_owned()),
        StrPart::Char(char) => Some(char.to_string()),
        StrPart::Term(_) => None,
    };
    parts.iter().map(part).collect()
}

/// Returns the text of these tokens; `None` if there are none.
fn text<'a>(filter: &'a str, tokens: &[Token<&'a str>]) -> Option<&'a str> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    Some(&filter[span(filter, first.as_str()).start..span(filter, last.as_str()).end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(filter: &str) -> String {
        let Some(plan) = plan(filter) else {
            return "whole".to_owned();
        };
        let steps: String = plan
            .steps
            .iter()
            .map(|step| {
                let part = match &step.kind {
                    StepKind::Key(key) => format!(".{key}"),
                    StepKind::Index(at) => format!("[{at}]"),
                    StepKind::Each => "[]".to_owned(),
                };
                part + if step.optional { "?" } else { "" }
            })
            .collect();
        let each = plan
            .each
            .map_or(String::new(), |each| format!(" each {each}"));
        let gather = match plan.gathers {
            true => format!(" gather {}", plan.then.unwrap_or(".")),
            false => String::new(),
        };
        format!("{steps}{each}{gather}")
    }

    #[test]
    fn filters_are_cut_at_their_outermost_bars() {
        let cases = [
            (".", ""),
            (".a.b[3].c", ".a.b[3].c"),
            (".[\"a b\"]?.\"c\\n\"", ".a b?.c\n"),
            (".items[].name", ".items[].name"),
            (".a[-1] | .b", ".a[-1].b"),
            (".a | .b | length", ".a.b each length"),
            (
                ".a[] | select(.b > 1) | .c",
                ".a[] each select(.b > 1) | .c",
            ),
            (
                "[.a[] | select(.b)] | length # all",
                ".a[] each select(.b) gather length",
            ),
            ("[.a[].b]", ".a[].b gather ."),
            (".a | map(.b, .c) | add", ".a[] each .b, .c gather add"),
            ("map(.b)", "[] each .b gather ."),
            (".a[] | [.b[]]", ".a[] each [.b[]]"),
            (".a, .b", "whole"),
            (".a as $x | $x", "whole"),
            (".a // .b | .c", "whole"),
            (".a = 1 | .c", "whole"),
            (".a |= 1", "whole"),
            (".. | .a?", "whole"),
            (".a[1:2] | .b", "whole"),
            (".a[.b]", "whole"),
            (".\"a\\(1)\"", "whole"),
            ("def f: .a; .b | f", "whole"),
            ("[.a, .b] | length", "whole"),
            ("length", "whole"),
            ("if .a then .b else .c end | .d", "whole"),
            (".[1.5]", "whole"),
        ];
        for (filter, want) in cases {
            assert_eq!(shown(filter), want, "{filter}");
        }
    }
}
