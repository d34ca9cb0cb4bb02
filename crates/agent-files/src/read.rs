//! How does a tree become types, with every problem told at its place?
//!
//! Serde ends at the first thing that is wrong. Here a member that is wrong is
//! noted and the rest is read again without it, until nothing new is found.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;
use std::slice;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use spillgate_config::{Member, Node, Position, What, camel, snake};

use crate::problem::{FileError, Problems};
use crate::refused;
use crate::wrong::{Wrong, nearest};

/// Problems that are told of a file: one with more is another kind of file.
const MOST_PROBLEMS: usize = 50;

/// Types whose unknown members are other programs' and are left alone.
const LENIENT: [&str; 1] = ["McpServer"];

/// Tables whose values are secrets more often than not.
const SECRETIVE: [&str; 5] = ["env", "headers", "apiKey", "api_key", "apiKeyEnv"];

/// What `node`, which stands at `key` in `file`, is as a `T`.
pub(crate) fn read<T: DeserializeOwned>(
    node: &Node,
    file: &Path,
    key: &[String],
) -> Result<T, Problems> {
    let above = key.iter().map(|name| Step {
        name: name.clone(),
        place: node.at,
    });
    let run = Run {
        file,
        steps: RefCell::new(above.collect()),
        bad: RefCell::default(),
        problems: RefCell::default(),
    };
    loop {
        let before = run.count();
        let root = Reader { node, run: &run };
        let result = root.told(T::deserialize(root));
        let (after, problems) = (run.count(), || Problems(run.problems.borrow().clone()));
        match result {
            Ok(value) => return problems().or(value),
            Err(_) if after == before || after >= MOST_PROBLEMS => return Err(problems()),
            Err(_) => {}
        }
    }
}

/// Reading a tree, once or more often.
struct Run<'r> {
    file: &'r Path,
    steps: RefCell<Vec<Step>>,
    /// What is left out from now on.
    bad: RefCell<HashSet<*const Node>>,
    problems: RefCell<Vec<FileError>>,
}

/// A key on the way to a value.
struct Step {
    name: String,
    place: Position,
}

impl Run<'_> {
    fn count(&self) -> usize {
        self.problems.borrow().len()
    }

    fn is_bad(&self, node: &Node) -> bool {
        self.bad.borrow().contains(&std::ptr::from_ref(node))
    }

    /// Notes that something is wrong with `node`, to which the steps lead.
    fn note(&self, node: &Node, what: String, hint: Option<String>) {
        self.bad.borrow_mut().insert(node);
        if self.count() >= MOST_PROBLEMS {
            return;
        }
        let steps = self.steps.borrow();
        let place = steps.last().map_or(node.at, |step| step.place);
        let mut key = String::new();
        for step in &*steps {
            let is_index = step.name.starts_with('[');
            key += if key.is_empty() || is_index { "" } else { "." };
            key += &step.name;
        }
        let error = FileError::whole(self.file, what).at(place).of(key);
        self.problems.borrow_mut().push(FileError { hint, ..error });
    }

    fn within<T>(&self, step: Step, doing: impl FnOnce() -> T) -> T {
        self.steps.borrow_mut().push(step);
        let done = doing();
        self.steps.borrow_mut().pop();
        done
    }

    fn is_secretive(&self) -> bool {
        let steps = self.steps.borrow();
        steps.iter().any(|step| SECRETIVE.contains(&&*step.name))
    }
}

#[derive(Clone, Copy)]
struct Reader<'r> {
    node: &'r Node,
    run: &'r Run<'r>,
}

impl<'r> Reader<'r> {
    /// `result`, and what is wrong with it noted.
    fn told<T>(self, result: Result<T, Wrong>) -> Result<T, Wrong> {
        result.map_err(|wrong| {
            // What was left out is not missing.
            let is_follower = matches!(wrong, Wrong::Missing(_)) && self.run.count() > 0;
            if !matches!(wrong, Wrong::Told) && !is_follower {
                let is_hidden = self.node.is_from_variable() || self.run.is_secretive();
                self.run.note(self.node, wrong.sentence(is_hidden), None);
            }
            Wrong::Told
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
        match &self.node.what {
            What::Null => visitor.visit_unit(),
            What::Bool(value) => visitor.visit_bool(*value),
            What::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            What::Text(text) => visitor.visit_str(&text.text),
            What::List(elements) => visitor.visit_seq(Elements {
                rest: elements.iter().enumerate(),
                run: self.run,
            }),
            What::Table(_) => visitor.visit_map(self.members(None, true)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.node.what {
            What::Null => visitor.visit_none(),
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
        match self.node.what {
            What::Table(_) => {
                visitor.visit_map(self.members(Some(fields), LENIENT.contains(&name)))
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
        match &self.node.what {
            What::Text(text) => visitor.visit_enum(text.text.as_str().into_deserializer()),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// Members of a table, those that are wrong left out.
struct Members<'r> {
    rest: slice::Iter<'r, Member>,
    run: &'r Run<'r>,
    /// The members that there can be; none where it can be any.
    fields: Option<&'static [&'static str]>,
    is_lenient: bool,
    /// The fields that there were, with the members that they were read from.
    seen: Vec<(&'static str, &'r Member)>,
    next: Option<&'r Member>,
}

impl<'r> Members<'r> {
    /// The name by which the type knows a member; `None` leaves it out.
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
                self.unknown(member, fields);
            }
            return None;
        };
        if let Some(other) = self.seen(field) {
            let (other, line) = (&other.key, other.at.line);
            let what = format!("is set as `{other}` on line {line}, too");
            self.wrong(member, what, Some("keep one of them".to_owned()));
            return None;
        }
        self.seen.push((field, member));
        Some(field)
    }

    fn unknown(&self, member: &Member, fields: &[&str]) {
        if let Some((why, hint)) = refused::why(&member.key) {
            self.wrong(member, why.to_owned(), Some(hint.to_owned()));
            return;
        }
        let known = fields.iter().copied().filter(|name| {
            // One spelling is enough to choose from.
            !fields.contains(&&*camel(name)) || camel(name) == **name
        });
        let hint = nearest(&member.key, known);
        self.wrong(member, "there is no such key".to_owned(), Some(hint));
    }

    /// The member that was read as this field, in whatever spelling.
    fn seen(&self, field: &str) -> Option<&'r Member> {
        let is_same = |seen: &&(&'static str, _)| camel(seen.0) == camel(field);
        self.seen.iter().find(is_same).map(|(_, member)| *member)
    }

    fn wrong(&self, member: &Member, what: String, hint: Option<String>) {
        let note = || self.run.note(&member.node, what, hint);
        self.run.within(step(member), note);
    }
}

fn step(member: &Member) -> Step {
    Step {
        name: member.key.clone(),
        place: member.at,
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
                return key.map(Some).map_err(|wrong| {
                    self.wrong(member, wrong.sentence(false), None);
                    Wrong::Told
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
        self.run.within(step(member), doing)
    }
}

/// Elements of a list, those that are wrong left out.
struct Elements<'r> {
    rest: std::iter::Enumerate<slice::Iter<'r, Node>>,
    run: &'r Run<'r>,
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
        let step = Step {
            name: format!("[{index}]"),
            place: node.at,
        };
        let reader = Reader { node, run };
        let doing = || reader.told(seed.deserialize(reader)).map(Some);
        run.within(step, doing)
    }
}
