//! Decides whether a filter reads each record or the array of all records.
//!
//! CSV, TSV, JSON lines and lines of text are sequences of records. jq gives a filter each record
//! (`select(.a == 1)`), but most people write filters for the array (`.[] | select(.a == 1)`,
//! `length`, `sort_by(.a)`). The first operation of the filter on its input shows which of these
//! inputs is meant.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::path::{Part, Path};

use crate::protocol::Reading;

/// The ways in which a filter over records can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readings {
    /// The input (each record, or the array of all) that the form of the filter suggests.
    pub(crate) first: Reading,
    /// The other input, if it may be the intended one. It is used if the filter fails on the first
    /// input before it has a result.
    pub(crate) other: Option<Reading>,
}

/// Returns the inputs on which a filter may be run, the likely one first. `is_array` says whether
/// the records themselves are arrays.
pub(crate) fn readings(term: &Term<&str>, is_array: bool) -> Readings {
    use Reading::{All, Each};
    if takes_inputs(term) {
        // A filter with `inputs` fetches the other records itself.
        return Readings {
            first: Each,
            other: None,
        };
    }
    match wants(term) {
        Wants::Array if is_array => Readings {
            first: Each,
            other: Some(All),
        },
        Wants::Array => Readings {
            first: All,
            other: Some(Each),
        },
        // A run on the array of all records cannot help, because `.key` fails on every array.
        Wants::Record => Readings {
            first: Each,
            other: None,
        },
        Wants::Either => Readings {
            first: Each,
            other: Some(All),
        },
    }
}

/// The type of input that a term needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Array,
    Record,
    Either,
}

impl Wants {
    /// Combines the needs of two terms with the same input. A term that needs a record decides:
    /// `.key` fails on every array, whereas `length` also works on some records.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Record, _) | (_, Self::Record) => Self::Record,
            (Self::Array, _) | (_, Self::Array) => Self::Array,
            _ => Self::Either,
        }
    }
}

fn all<'t>(terms: impl IntoIterator<Item = &'t Term<&'t str>>) -> Wants {
    terms.into_iter().map(wants).fold(Wants::Either, Wants::and)
}

fn wants(term: &Term<&str>) -> Wants {
    match term {
        Term::Path(head, path) => match wants(head) {
            Wants::Either if matches!(**head, Term::Id | Term::Var(_)) => of_path(path),
            head => head.and(all(inside(path))),
        },
        Term::BinOp(left, BinaryOp::Pipe(pattern), right) => match (wants(left), pattern) {
            // In `. as $x | F`, F has the same input as the whole term.
            (Wants::Either, Some(_)) => wants(right),
            (Wants::Either, None) if matches!(**left, Term::Id | Term::Var(_)) => wants(right),
            (left, _) => left,
        },
        Term::BinOp(left, _, right) => wants(left).and(wants(right)),
        Term::Arr(Some(inner))
        | Term::Neg(inner)
        | Term::Label(_, inner)
        | Term::TryCatch(inner, _)
        | Term::Fold(_, inner, _, _)
        | Term::Def(_, inner) => wants(inner),
        Term::Obj(members) => members.iter().fold(Wants::Either, |sum, member| {
            sum.and(match member {
                // `{a}` means `{a: .a}`, so it reads a key.
                (Term::Str(..), None) => Wants::Record,
                (key, None) => wants(key),
                (key, Some(value)) => wants(key).and(wants(value)),
            })
        }),
        Term::Str(_, parts) => parts.iter().fold(Wants::Either, |sum, part| match part {
            StrPart::Term(term) => sum.and(wants(term)),
            _ => sum,
        }),
        Term::IfThenElse(branches, last) => {
            let branches = branches.iter().flat_map(|(test, then)| [test, then]);
            all(branches.chain(last.as_deref()))
        }
        Term::Call(name, arguments) => of_call(name, arguments),
        _ => Wants::Either,
    }
}

/// Returns the type of input that the first step of a path needs.
fn of_path(path: &Path<Term<&str>>) -> Wants {
    match path.0.first() {
        Some((Part::Index(Term::Str(..)), _)) => Wants::Record,
        Some((Part::Index(index), _)) if !is_number(index) => wants(index),
        Some(_) => Wants::Array,
        None => Wants::Either,
    }
}

fn is_number(term: &Term<&str>) -> bool {
    match term {
        Term::Num(_) | Term::Neg(_) | Term::BinOp(_, BinaryOp::Math(_), _) => true,
        Term::Call(name, _) => *name == "length",
        _ => false,
    }
}

/// Returns the terms inside the steps of a path, such as the index in `.[length - 1]`. They run on
/// the input of the path.
fn inside<'t, 'a>(path: &'t Path<Term<&'a str>>) -> impl Iterator<Item = &'t Term<&'a str>> {
    path.0.iter().flat_map(|(part, _)| match part {
        Part::Index(index) => [Some(index), None].into_iter().flatten(),
        Part::Range(from, to) => [from.as_ref(), to.as_ref()].into_iter().flatten(),
    })
}

fn of_call(name: &str, arguments: &[Term<&str>]) -> Wants {
    match (name, arguments) {
        (
            "length" | "add" | "first" | "last" | "reverse" | "sort" | "unique" | "min" | "max"
            | "any" | "all" | "flatten" | "transpose" | "from_entries" | "combinations",
            [],
        )
        | (
            "map" | "sort_by" | "group_by" | "unique_by" | "min_by" | "max_by" | "any" | "all"
            | "INDEX" | "nth" | "join" | "flatten",
            [_],
        ) => Wants::Array,
        // `select(F)` passes on or drops its whole input. Nobody uses it to drop the array of all
        // records.
        ("select", [_]) => Wants::Record,
        // The second argument runs on the results of the first one, not on the input.
        ("any" | "all" | "IN", [source, _]) => wants(source),
        // Most functions run their arguments on their own input. So `limit(5; .[])` needs the input
        // that `.[]` needs.
        _ => all(arguments),
    }
}

/// Returns whether a filter calls `input` or `inputs`.
fn takes_inputs(term: &Term<&str>) -> bool {
    match term {
        Term::Call("input" | "inputs", arguments) if arguments.is_empty() => true,
        Term::Call(_, arguments) => arguments.iter().any(takes_inputs),
        Term::Path(head, path) => takes_inputs(head) || inside(path).any(takes_inputs),
        Term::BinOp(left, _, right) => takes_inputs(left) || takes_inputs(right),
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => takes_inputs(inner),
        Term::TryCatch(inner, catch) => {
            takes_inputs(inner) || catch.as_deref().is_some_and(takes_inputs)
        }
        Term::Fold(_, inner, _, steps) => takes_inputs(inner) || steps.iter().any(takes_inputs),
        Term::Def(defs, inner) => {
            takes_inputs(inner) || defs.iter().any(|def| takes_inputs(&def.body))
        }
        Term::Obj(members) => members
            .iter()
            .any(|(key, value)| takes_inputs(key) || value.as_ref().is_some_and(takes_inputs)),
        Term::Str(_, parts) => parts
            .iter()
            .any(|part| matches!(part, StrPart::Term(term) if takes_inputs(term))),
        Term::IfThenElse(branches, last) => {
            let branches = branches.iter().flat_map(|(test, then)| [test, then]);
            branches.chain(last.as_deref()).any(takes_inputs)
        }
        _ => false,
    }
}

/// Returns how many records at the start of the array a filter reads; `None` if it may read all.
pub(crate) fn needed(term: &Term<&str>) -> Option<usize> {
    let number = |term: &Term<&str>| match term {
        Term::Num(digits) => digits.parse::<usize>().ok(),
        _ => None,
    };
    match term {
        Term::Path(head, path) if matches!(**head, Term::Id) => match path.0.first()? {
            (Part::Index(index), _) => number(index)?.checked_add(1),
            (Part::Range(None, Some(to)), _) => number(to),
            (Part::Range(Some(from), Some(to)), _) => number(from).and(number(to)),
            _ => None,
        },
        Term::Path(head, path) => {
            let is_plain = inside(path).all(|inner| matches!(inner, Term::Num(_) | Term::Str(..)));
            is_plain.then(|| needed(head)).flatten()
        }
        Term::BinOp(left, BinaryOp::Pipe(None), _) => needed(left),
        Term::BinOp(left, BinaryOp::Comma, right) => Some(needed(left)?.max(needed(right)?)),
        Term::Arr(Some(inner)) => needed(inner),
        Term::Call("first", arguments) if arguments.is_empty() => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jaq_core::load::parse;

    use super::*;

    #[test]
    fn the_form_of_a_filter_tells_what_it_reads() {
        use Reading::{All, Each};
        let cases = [
            (".[] | select(.a == \"x\")", All, Some(Each), None),
            ("map(.a)", All, Some(Each), None),
            ("map(.a) | add", All, Some(Each), None),
            ("group_by(.a) | map(length)", All, Some(Each), None),
            ("[.[] | select(.a > 1)] | length", All, Some(Each), None),
            ("length", All, Some(Each), None),
            (". | length", All, Some(Each), None),
            (".[0]", All, Some(Each), Some(1)),
            (".[-1].a", All, Some(Each), None),
            (".[length - 1]", All, Some(Each), None),
            (".[0:5]", All, Some(Each), Some(5)),
            (".[:5] | map(.a)", All, Some(Each), Some(5)),
            ("[.[2].a, .[7].a]", All, Some(Each), Some(8)),
            (".[0:5][].a", All, Some(Each), Some(5)),
            ("first | keys", All, Some(Each), Some(1)),
            (".[0] as $x | length", All, Some(Each), None),
            ("first(.[] | select(.a))", All, Some(Each), None),
            ("limit(3; .[])", All, Some(Each), None),
            ("reduce .[] as $x (0; . + $x.a)", All, Some(Each), None),
            (". as $all | $all | length", All, Some(Each), None),
            ("length as $n | map(.a) | add / $n", All, Some(Each), None),
            ("{n: length, sum: (map(.a) | add)}", All, Some(Each), None),
            ("\"\\(length) rows\"", All, Some(Each), None),
            ("any(.[]; .a == 1)", All, Some(Each), None),
            (".", Each, Some(All), None),
            ("keys", Each, Some(All), None),
            ("tojson", Each, Some(All), None),
            (".a", Each, None, None),
            (".\"a b\" | length", Each, None, None),
            ("[.a, .b] | @csv", Each, None, None),
            ("{a, n: length}", Each, None, None),
            ("select(length > 3)", Each, None, None),
            ("if .a then .b else empty end", Each, None, None),
            ("[., inputs] | length", Each, None, None),
            ("map(input)", Each, None, None),
            ("def f: .a; map(f)", All, Some(Each), None),
        ];
        for (filter, first, other, most) in cases {
            let term = parse(filter, |parser| parser.term()).unwrap();
            let want = Readings { first, other };
            assert_eq!(
                (readings(&term, false), needed(&term)),
                (want, most),
                "{filter}"
            );
        }
    }
}
