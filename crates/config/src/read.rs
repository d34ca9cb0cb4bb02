//! Converts a tree into a type and finds every problem with its position.
//!
//! Serde stops at the first problem. This reader records the faulty member and reads the rest again
//! without it, until it finds nothing new.

use std::cell::RefCell;
use std::collections::HashSet;
use std::slice;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use crate::node::{Member, Node, NodeKind, Number, Position, camel, snake};
use crate::problem::{Problem, ProblemKind, Step, Wrong};

/// Maximum number of reported problems. A tree with more problems is probably another kind of file.
const MOST_PROBLEMS: usize = 50;

/// How keys are matched with the fields of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Keys match exactly. Unknown keys are problems if the type denies them
    /// (`deny_unknown_fields`).
    Exact,
    /// `max_turns` and `maxTurns` are the same key. Unknown keys are problems in all types except
    /// the lenient ones.
    Either {
        /// Names of types whose unknown keys belong to other programs.
        lenient: &'static [&'static str],
    },
}

/// Reads `node` as a `T`.
///
/// # Errors
/// All problems, at least one, in the order in which they were found.
pub fn read<T: DeserializeOwned>(node: &Node, naming: Naming) -> Result<T, Vec<Problem>> {
    let run = Run {
        naming,
        steps: RefCell::default(),
        bad: RefCell::default(),
        problems: RefCell::default(),
    };
    loop {
        let before = run.count();
        let root = Reader { node, run: &run };
        let result = root.told(T::deserialize(root));
        let (after, problems) = (run.count(), || run.problems.borrow().clone());
        match result {
            Ok(value) if after == 0 => return Ok(value),
            Ok(_) => return Err(problems()),
            Err(_) if after == before || after >= MOST_PROBLEMS => return Err(problems()),
            Err(_) => {}
        }
    }
}

/// The state of reading a tree, possibly several times.
struct Run {
    naming: Naming,
    /// The path to the current value, with the position of each step.
    steps: RefCell<Vec<(Step, Position)>>,
    /// Faulty values, which later passes skip.
    bad: RefCell<HashSet<*const Node>>,
    problems: RefCell<Vec<Problem>>,
}

impl Run {
    fn count(&self) -> usize {
        self.problems.borrow().len()
    }

    fn is_bad(&self, node: &Node) -> bool {
        self.bad.borrow().contains(&std::ptr::from_ref(node))
    }

    /// Records a problem of `node`; `steps` contains the path to this node.
    fn note(&self, node: &Node, kind: ProblemKind, is_of_key: bool) {
        self.bad.borrow_mut().insert(node);
        if self.count() >= MOST_PROBLEMS {
            return;
        }
        let steps = self.steps.borrow();
        self.problems.borrow_mut().push(Problem {
            at: steps.last().map_or(node.at, |(_, at)| *at),
            key: steps.iter().map(|(step, _)| step.clone()).collect(),
            kind,
            is_of_key,
            is_from_variable: node.is_from_variable(),
        });
    }

    fn within<T>(&self, step: Step, at: Position, doing: impl FnOnce() -> T) -> T {
        self.steps.borrow_mut().push((step, at));
        let done = doing();
        self.steps.borrow_mut().pop();
        done
    }
}

#[derive(Clone, Copy)]
struct Reader<'r> {
    node: &'r Node,
    run: &'r Run,
}

impl<'r> Reader<'r> {
    /// Records the problem if `result` is an error.
    fn told<T>(self, result: Result<T, Wrong>) -> Result<T, Wrong> {
        result.map_err(|Wrong(kind)| {
            // A value may be missing only because an earlier pass found it faulty, so it is not
            // reported again.
            let is_follower = matches!(kind, Some(ProblemKind::Missing(_))) && self.run.count() > 0;
            if let Some(kind) = kind.filter(|_| !is_follower) {
                self.run.note(self.node, kind, false);
            }
            Wrong(None)
        })
    }

    fn members(self, fields: Option<&'static [&'static str]>, is_lenient: bool) -> Members<'r> {
        Members {
            rest: self.node.members().iter(),
            run: self.run,
            fields,
            is_lenient,
            seen: Vec::new(),
            next: None,
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.node.kind {
            NodeKind::Null => visitor.visit_unit(),
            NodeKind::Bool(value) => visitor.visit_bool(*value),
            NodeKind::Number(Number::Unsigned(number)) => visitor.visit_u64(*number),
            NodeKind::Number(Number::Signed(number)) => visitor.visit_i64(*number),
            NodeKind::Number(Number::Float(number)) => visitor.visit_f64(*number),
            NodeKind::Text(text) => visitor.visit_str(&text.text),
            NodeKind::List(elements) => visitor.visit_seq(Elements {
                rest: elements.iter().enumerate(),
                run: self.run,
            }),
            NodeKind::Table(_) => visitor.visit_map(self.members(None, true)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.node.kind {
            NodeKind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match (&self.node.kind, self.run.naming) {
            (NodeKind::Table(_), Naming::Either { lenient }) => {
                visitor.visit_map(self.members(Some(fields), lenient.contains(&name)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match (&self.node.kind, self.run.naming) {
            (NodeKind::Text(text), _) => visitor.visit_enum(text.text.as_str().into_deserializer()),
            (NodeKind::Table(_), Naming::Exact) => {
                visitor.visit_enum(MapAccessDeserializer::new(self.members(None, true)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The members of a table, without those that are known to be faulty.
struct Members<'r> {
    rest: slice::Iter<'r, Member>,
    run: &'r Run,
    /// The fields of the type that is read; `None` if the type accepts any key.
    fields: Option<&'static [&'static str]>,
    is_lenient: bool,
    /// The fields found so far, with their members.
    seen: Vec<(&'static str, &'r Member)>,
    next: Option<&'r Member>,
}

impl<'r> Members<'r> {
    /// Returns the name of the field that a member sets; `None` skips the member.
    fn name(&mut self, member: &'r Member) -> Option<&'r str> {
        let Some(fields) = self.fields else {
            return Some(&member.key);
        };
        let spelled = |name: &str| fields.iter().copied().find(|field| *field == name);
        let field = spelled(&member.key)
            .or_else(|| spelled(&camel(&member.key)))
            .or_else(|| spelled(&snake(&member.key)));
        let Some(field) = field else {
            if !self.is_lenient {
                let (name, known) = (member.key.clone(), fields);
                self.wrong(member, ProblemKind::Key { name, known });
            }
            return None;
        };
        if let Some(other) = self.seen(field) {
            let (name, other) = (field, Some((other.key.clone(), other.at.line)));
            self.wrong(member, ProblemKind::Twice { name, other });
            return None;
        }
        self.seen.push((field, member));
        Some(field)
    }

    /// Returns the member that was read as this field, in any spelling.
    fn seen(&self, field: &str) -> Option<&'r Member> {
        let is_same = |seen: &&(&'static str, _)| camel(seen.0) == camel(field);
        self.seen.iter().find(is_same).map(|(_, member)| *member)
    }

    fn wrong(&self, member: &Member, kind: ProblemKind) {
        let note = || self.run.note(&member.node, kind, true);
        let step = Step::Key(member.key.clone());
        self.run.within(step, member.at, note);
    }
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        while let Some(member) = self.rest.next() {
            if self.run.is_bad(&member.node) {
                continue;
            }
            if let Some(name) = self.name(member) {
                self.next = Some(member);
                let name: StrDeserializer<'_, Wrong> = name.into_deserializer();
                let key = seed.deserialize(name);
                return key.map(Some).map_err(|Wrong(kind)| {
                    if let Some(kind) = kind {
                        self.wrong(member, kind);
                    }
                    Wrong(None)
                });
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let member = self.next.take();
        let member = member.expect("invariant: serde asks for a key before its value");
        let reader = Reader {
            node: &member.node,
            run: self.run,
        };
        let doing = || reader.told(seed.deserialize(reader));
        let step = Step::Key(member.key.clone());
        self.run.within(step, member.at, doing)
    }
}

/// The elements of a list, without those that are known to be faulty.
struct Elements<'r> {
    rest: std::iter::Enumerate<slice::Iter<'r, Node>>,
    run: &'r Run,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        let run = self.run;
        let Some((index, node)) = self.rest.find(|(_, node)| !run.is_bad(node)) else {
            return Ok(None);
        };
        let reader = Reader { node, run };
        let doing = || reader.told(seed.deserialize(reader)).map(Some);
        run.within(Step::Index(index), node.at, doing)
    }
}
