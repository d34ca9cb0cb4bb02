//! Finds the paths that a filter reads, and how it uses the values there.
//!
//! The paths are derived from the syntax of the filter, without running the filter. For
//! `.items | map(select(.price > 5))` they are `.items` and `.items[].price`, and the price is
//! known to be compared with a number. Values that the filter computes have no path.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::path::{Part, Path};

use super::plan::{Step, StepKind};

/// Maximum number of paths that are collected.
const MOST: usize = 64;

/// What a filter does with the value at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Only reads it.
    Read,
    /// Compares it with a number or computes with it.
    AsNumber,
    /// Compares it with a string.
    AsText,
    /// Sorts values by it, or adds it up.
    Ordered,
}

/// A path that a filter reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) steps: Vec<Step>,
    pub(crate) usage: Use,
}

/// What a filter reads.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    pub(crate) paths: Vec<Access>,
    /// Whether a `select` contains an assignment (`=`), which keeps every value; `==` was probably
    /// meant.
    pub(crate) assigns_in_select: bool,
}

/// Returns what a filter reads if its input is the value at the path `root`.
pub(crate) fn accesses(term: &Term<&str>, root: Vec<Step>) -> Accesses {
    let mut walker = Walker {
        found: Accesses::default(),
        variables: Vec::new(),
    };
    walker.walk(
        term,
        Some(&Place {
            steps: root,
            wraps: 0,
        }),
    );
    walker.found
}

/// Values of the input: their path, and in how many arrays the filter has wrapped them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    steps: Vec<Step>,
    wraps: usize,
}

impl Place {
    fn step(mut self, kind: StepKind) -> Self {
        self.steps.push(Step {
            kind,
            optional: false,
        });
        self
    }

    /// The elements of the array at this place.
    fn element(mut self) -> Self {
        if self.wraps == 0 {
            return self.step(StepKind::Each);
        }
        self.wraps -= 1;
        self
    }

    fn wrapped(mut self) -> Self {
        self.wraps += 1;
        self
    }
}

struct Walker<'t> {
    found: Accesses,
    variables: Vec<(&'t str, Option<Place>)>,
}

impl<'t> Walker<'t> {
    /// Records what a term reads if its input is at the place `input`. Returns the place of the
    /// term's results; `None` if the term computes them.
    fn walk(&mut self, term: &Term<&'t str>, input: Option<&Place>) -> Option<Place> {
        match term {
            Term::Id => input.cloned(),
            Term::Var(name) => {
                let variables = self.variables.iter().rev();
                let found = variables.clone().find(|(known, _)| known == name);
                found.and_then(|(_, place)| place.clone())
            }
            Term::Path(head, path) => self.path(head, path, input),
            Term::BinOp(left, op, right) => self.operator(left, op, right, input),
            Term::Arr(inner) => self.walk(inner.as_deref()?, input).map(Place::wrapped),
            Term::Neg(inner) => self.without_place(inner, input),
            Term::Label(_, inner) | Term::TryCatch(inner, _) | Term::Def(_, inner) => {
                self.walk(inner, input)
            }
            Term::Fold(_, source, pattern, steps) => {
                let bound = self.variables.len();
                let source = self.walk(source, input);
                self.bind(pattern, source);
                for step in steps {
                    self.walk(step, None);
                }
                self.variables.truncate(bound);
                None
            }
            Term::Obj(members) => {
                for (key, value) in members {
                    match (key, value) {
                        (_, Some(value)) => self.without_place(value, input),
                        (Term::Str(None, parts), None) => {
                            let key = literal(parts)?;
                            let place = input.cloned().map(|place| place.step(StepKind::Key(key)));
                            self.read(place.as_ref(), Use::Read);
                            None
                        }
                        _ => None,
                    };
                }
                None
            }
            Term::Str(_, parts) => {
                for part in parts {
                    if let StrPart::Term(term) = part {
                        self.walk(term, input);
                    }
                }
                None
            }
            Term::IfThenElse(branches, last) => {
                for (test, then) in branches {
                    self.walk(test, input);
                    self.walk(then, input);
                }
                self.without_place(last.as_deref()?, input)
            }
            Term::Call(name, arguments) => self.call(name, arguments, input),
            Term::Num(_) | Term::Recurse | Term::Break(_) => None,
        }
    }

    fn without_place(&mut self, term: &Term<&'t str>, input: Option<&Place>) -> Option<Place> {
        self.walk(term, input);
        None
    }

    fn path(
        &mut self,
        head: &Term<&'t str>,
        path: &Path<Term<&'t str>>,
        input: Option<&Place>,
    ) -> Option<Place> {
        let mut place = self.walk(head, input);
        for (part, _) in &path.0 {
            place = match (place, part) {
                (Some(at), Part::Range(None, None) | Part::Index(Term::Neg(_))) => {
                    Some(at.element())
                }
                (Some(at), Part::Range(..)) => Some(at.element().wrapped()),
                (Some(at), Part::Index(Term::Str(None, parts))) if at.wraps == 0 => {
                    literal(parts).map(|key| at.step(StepKind::Key(key)))
                }
                (Some(at), Part::Index(Term::Num(digits))) => match (at.wraps, digits.parse()) {
                    (0, Ok(index)) => Some(at.step(StepKind::Index(index))),
                    (0, Err(_)) => None,
                    _ => Some(at.element()),
                },
                _ => None,
            };
        }
        self.read(place.as_ref(), Use::Read);
        place
    }

    fn operator(
        &mut self,
        left: &Term<&'t str>,
        op: &BinaryOp<&'t str>,
        right: &Term<&'t str>,
        input: Option<&Place>,
    ) -> Option<Place> {
        match op {
            BinaryOp::Pipe(None) => {
                let place = self.walk(left, input);
                if is_total(right) && place.as_ref().is_some_and(|place| place.wraps > 0) {
                    let elements = place.clone().map(Place::element);
                    self.read(elements.as_ref(), Use::Ordered);
                }
                self.walk(right, place.as_ref())
            }
            BinaryOp::Pipe(Some(pattern)) => {
                let place = self.walk(left, input);
                let bound = self.variables.len();
                self.bind(pattern, place);
                let place = self.walk(right, input);
                self.variables.truncate(bound);
                place
            }
            BinaryOp::Comma => {
                let (left, right) = (self.walk(left, input), self.walk(right, input));
                left.filter(|left| Some(left) == right.as_ref())
            }
            BinaryOp::Cmp(_) | BinaryOp::Math(_) => {
                let places = [self.walk(left, input), self.walk(right, input)];
                let is_math = matches!(op, BinaryOp::Math(_));
                for (place, other) in places.iter().zip([right, left]) {
                    match other {
                        Term::Num(_) | Term::Neg(_) => self.read(place.as_ref(), Use::AsNumber),
                        Term::Str(None, _) if !is_math => {
                            self.read(place.as_ref(), Use::AsText);
                        }
                        _ => {}
                    }
                }
                None
            }
            BinaryOp::Or | BinaryOp::And => {
                self.walk(left, input);
                self.without_place(right, input)
            }
            // `.a` in `.a // .b` may be missing on purpose, and an assignment may create the path
            // on its left. So neither is recorded.
            _ => self.without_place(right, input),
        }
    }

    fn call(
        &mut self,
        name: &str,
        arguments: &[Term<&'t str>],
        input: Option<&Place>,
    ) -> Option<Place> {
        let element = input.cloned().map(Place::element);
        match (name, arguments) {
            ("select", [test]) => {
                self.found.assigns_in_select |= assigns(test);
                self.walk(test, input);
                input.cloned()
            }
            ("map", [inner]) => self.walk(inner, element.as_ref()).map(Place::wrapped),
            ("sort_by" | "group_by" | "unique_by" | "min_by" | "max_by", [by]) => {
                let by = self.walk(by, element.as_ref());
                if !matches!(name, "group_by" | "unique_by") {
                    self.read(by.as_ref(), Use::Ordered);
                }
                match name {
                    "group_by" => element.map(|place| place.wrapped().wrapped()),
                    "min_by" | "max_by" => element,
                    _ => element.map(Place::wrapped),
                }
            }
            ("first" | "last" | "min" | "max", []) => element,
            ("sort" | "unique" | "reverse", []) => element.map(Place::wrapped),
            ("any" | "all", [test]) => self.without_place(test, element.as_ref()),
            ("any" | "all", [source, test]) => {
                let source = self.walk(source, input);
                self.without_place(test, source.as_ref())
            }
            ("add", [source]) => {
                let place = self.walk(source, input);
                self.read(place.as_ref(), Use::Ordered);
                None
            }
            ("first" | "last", [source]) | ("limit" | "nth", [_, source]) => {
                self.walk(source, input)
            }
            ("isempty", [source]) => self.without_place(source, input),
            ("debug", []) => input.cloned(),
            _ => None,
        }
    }

    fn bind(&mut self, pattern: &Pattern<&'t str>, place: Option<Place>) {
        match pattern {
            Pattern::Var(name) => self.variables.push((name, place)),
            // A variable in a pattern hides an earlier one of the same name.
            other => {
                let names = names_in(other).into_iter();
                self.variables.extend(names.map(|name| (name, None)));
            }
        }
    }

    /// Records that the filter reads a place, and how it uses the value.
    fn read(&mut self, place: Option<&Place>, usage: Use) {
        let Some(place) = place.filter(|place| place.wraps == 0 || usage == Use::Read) else {
            return;
        };
        let access = Access {
            steps: place.steps.clone(),
            usage,
        };
        if self.found.paths.len() < MOST && !self.found.paths.contains(&access) {
            self.found.paths.push(access);
        }
    }
}

/// Returns the variables of a pattern.
fn names_in<'t>(pattern: &Pattern<&'t str>) -> Vec<&'t str> {
    match pattern {
        Pattern::Var(name) => vec![name],
        Pattern::Arr(inner) => inner.iter().flat_map(names_in).collect(),
        Pattern::Obj(inner) => inner
            .iter()
            .flat_map(|(_, value)| names_in(value))
            .collect(),
    }
}

/// Returns whether a filter begins with a function that adds up or sorts the elements of its input.
fn is_total(term: &Term<&str>) -> bool {
    match term {
        Term::Call(name, arguments) => {
            arguments.is_empty() && matches!(*name, "add" | "min" | "max" | "sort")
        }
        Term::BinOp(left, _, _) => is_total(left),
        _ => false,
    }
}

/// Returns whether the argument of a `select` contains an assignment, as in `select(.a = 1)`.
fn assigns(term: &Term<&str>) -> bool {
    match term {
        Term::BinOp(_, BinaryOp::Assign, _) => true,
        Term::BinOp(left, BinaryOp::And | BinaryOp::Or, right) => assigns(left) || assigns(right),
        _ => false,
    }
}

/// Returns the value of a string literal; `None` if it contains interpolation.
fn literal<T>(parts: &[StrPart<&str, T>]) -> Option<String> {
    let part = |part: &StrPart<&str, T>| match part {
        StrPart::Str(text) => Some((*text).to_owned()),
        StrPart::Char(char) => Some(char.to_string()),
        StrPart::Term(_) => None,
    };
    parts.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use jaq_core::load::parse;

    use super::super::plan::written;
    use super::*;

    #[test]
    fn what_filters_read() {
        let read = |filter: &str| {
            let term = parse(filter, |parser| parser.term()).unwrap();
            let found = accesses(&term, Vec::new());
            let shown = found.paths.iter().map(|access| {
                let usage = match access.usage {
                    Use::Read => "",
                    Use::AsNumber => " number",
                    Use::AsText => " text",
                    Use::Ordered => " order",
                };
                format!("{}{usage}", written(&access.steps))
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        let cases = [
            (".a.b", ".a.b"),
            (
                ".[] | select(.a == \"x\" and .b > 1) | .c",
                ".[], .[].a, .[].a text, .[].b, .[].b number, .[].c",
            ),
            (
                ".items | map(.a) | add",
                ".items, .items[].a, .items[].a order",
            ),
            ("group_by(.a) | map({k: .[0].b, n: length})", ".[].a, .[].b"),
            (
                "sort_by(.a) | reverse | .[0:3][] | {b, c}",
                ".[].a, .[].a order, .[], .[].b, .[].c",
            ),
            ("max_by(.a).b", ".[].a, .[].a order, .[].b"),
            (
                "reduce .[] as $r (0; . + $r.a * 2)",
                ".[], .[].a, .[].a number",
            ),
            (". as $all | $all[0].a", ".[0].a"),
            ("[.[].a // .b]", ".b"),
            ("map(.new = .a)", ".[].a"),
            ("to_entries | map(.key)", ""),
            ("any(.[]; .a)", ".[], .[].a"),
            ("\"\\(.a)\"", ".a"),
        ];
        for (filter, want) in cases {
            assert_eq!(read(filter), want, "{filter}");
        }
        let assigns =
            |filter| accesses(&parse(filter, |p| p.term()).unwrap(), Vec::new()).assigns_in_select;
        assert!(assigns("map(select(.a = 1))"));
        assert!(!assigns("map(select(.a == 1) | .b = 1)"));
    }
}
