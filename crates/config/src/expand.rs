//! Variables in the texts of a tree.
//!
//! `${NAME}` is the variable, `${NAME:-text}` has a default, `$${` is `${` itself.
//! One that is not set and has no default is noted, and told when what it stands
//! in is used: a server that an agent does not use need not be set up.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::node::{Member, Node, NodeKind, Position};
use crate::problem::Step;

/// Where variables come from: the library reads no environment.
pub type Lookup<'l> = &'l dyn Fn(&str) -> Option<String>;

/// A variable that is not set, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unset {
    /// The way to the text.
    pub key: Vec<Step>,
    /// Where its key or, in a list, the text stands.
    pub at: Position,
    /// The variable's name.
    pub variable: String,
}

/// How texts are expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    /// Names that stay as they are written: whoever reads the text puts them in.
    pub kept: Vec<String>,
    /// How a dollar is written that begins no variable of whoever reads the text.
    pub dollar: &'static str,
}

impl Default for Expansion {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            dollar: "$",
        }
    }
}

/// What is done with a member and all that is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The same as with what is around it.
    Same,
    /// It has a way of its own.
    Own(Expansion),
    /// Nothing is put in.
    Raw,
}

/// Puts variables into the texts of `root`, and returns those that are not set. `part` is asked
/// about each member, with the way to it and what is done around it.
pub fn expand(
    root: &mut Node,
    lookup: Lookup<'_>,
    part: &dyn Fn(&[Step], &Member, &Expansion) -> Part,
) -> Vec<Unset> {
    let mut walk = Walk {
        lookup,
        part,
        key: Vec::new(),
        unset: Vec::new(),
    };
    let at = root.at;
    walk.enter(root, at, &Expansion::default());
    walk.unset
}

struct Walk<'w> {
    lookup: Lookup<'w>,
    part: &'w dyn Fn(&[Step], &Member, &Expansion) -> Part,
    key: Vec<Step>,
    unset: Vec<Unset>,
}

impl Walk<'_> {
    fn enter(&mut self, node: &mut Node, at: Position, around: &Expansion) {
        match &mut node.kind {
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => {}
            NodeKind::Text(text) => {
                if let Some(expanded) = self.text(&text.text, at, around) {
                    text.written = Some(std::mem::replace(&mut text.text, expanded));
                }
            }
            NodeKind::List(elements) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    self.key.push(Step::Index(index));
                    let at = element.at;
                    self.enter(element, at, around);
                    self.key.pop();
                }
            }
            NodeKind::Table(members) => {
                for member in members {
                    self.key.push(Step::Key(member.key.clone()));
                    match (self.part)(&self.key, member, around) {
                        Part::Same => self.enter(&mut member.node, member.at, around),
                        Part::Own(own) => self.enter(&mut member.node, member.at, &own),
                        Part::Raw => {}
                    }
                    self.key.pop();
                }
            }
        }
    }

    /// `text` with its variables put in; `None` if it has none.
    fn text(&mut self, text: &str, at: Position, how: &Expansion) -> Option<String> {
        static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
                .expect("invariant: the pattern is a constant")
        });
        if !VARIABLE.is_match(text) {
            return None;
        }
        let expanded = VARIABLE.replace_all(text, |found: &Captures<'_>| {
            let Some(name) = found.get(1).map(|name| name.as_str()) else {
                return format!("{}{{", how.dollar);
            };
            if how.kept.iter().any(|kept| kept == name) {
                return found[0].to_owned();
            }
            let default = || found.get(2).map(|text| text.as_str().to_owned());
            let value = (self.lookup)(name).or_else(default);
            let value = value.map(|value| value.replace('$', how.dollar));
            value.unwrap_or_else(|| {
                self.unset.push(Unset {
                    key: self.key.clone(),
                    at,
                    variable: name.to_owned(),
                });
                String::new()
            })
        });
        Some(expanded.into_owned()).filter(|expanded| expanded != text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(node: &mut Node, lookup: Lookup<'_>) -> Vec<Unset> {
        super::expand(node, lookup, &|_, _, _| Part::Same)
    }

    fn lookup(name: &str) -> Option<String> {
        match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${A}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_put_in_once() {
        for (text, expanded) in [
            ("${A}/${A}", "one/one"),
            ("${B:-two}", "two"),
            ("${B:-}", ""),
            ("${EMPTY:-two}", ""),
            ("$${A} $A {A} ${a b} ${x.y}", "${A} $A {A} ${a b} ${x.y}"),
            ("${NESTED}", "${A}"),
        ] {
            let mut node = crate::yaml::parse(&format!("k: '{text}'"), 1).unwrap();
            assert_eq!(expand(&mut node, &lookup), [], "{text}");
            assert_eq!(node.value()["k"], expanded);
            assert_eq!(node.written()["k"], text);
        }
    }

    #[test]
    fn what_is_not_set_is_told_with_its_place() {
        let mut node = crate::yaml::parse("a:\n  b: [x, '${NO}']\n", 1).unwrap();
        let unset = expand(&mut node, &lookup);
        let at = Position {
            line: 2,
            column: 10,
        };
        let [a, b] = ["a", "b"].map(|key| Step::Key(key.to_owned()));
        let key = vec![a, b, Step::Index(1)];
        let variable = "NO".to_owned();
        assert_eq!(unset, [Unset { key, at, variable }]);
    }

    #[test]
    fn a_part_has_a_way_of_its_own() {
        let part = |key: &[Step], member: &Member, around: &Expansion| match (key, &*member.key) {
            (_, "raw") => Part::Raw,
            ([_], "own") => Part::Own(Expansion {
                kept: vec!["A".to_owned()],
                dollar: "$$",
            }),
            _ if around.kept.is_empty() => Part::Same,
            _ => Part::Own(Expansion {
                kept: Vec::new(),
                ..around.clone()
            }),
        };
        let text = "raw: ${NO}\nown: ['${A} $${', {b: '${NESTED}'}]\nc: '${A}'";
        let mut node = crate::yaml::parse(text, 1).unwrap();
        assert_eq!(super::expand(&mut node, &lookup, &part), []);
        insta::assert_snapshot!(node.value(), @r#"{"c":"one","own":["${A} $${",{"b":"$${A}"}],"raw":"${NO}"}"#);
    }
}
