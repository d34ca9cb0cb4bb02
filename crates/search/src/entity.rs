//! Finds the object that a question names, and the members that it asks for.
//!
//! "What is the version of `serde_json`?" is answered by the object in which a member's *value* is
//! the name (`"name": "serde_json"`), with the members whose *key* is asked for (`version`). A name
//! deep in a list inside an object does not name that object: a package is not the packages that it
//! depends on.

use crate::leaf::Leaf;
use crate::path::step_key;
use crate::question::Terms;

/// Most members of each sort that are kept per object.
const MEMBERS: usize = 8;

/// The members of an object that matter to a question.
#[derive(Debug, Default)]
pub(crate) struct Entity {
    /// Members whose value occurs in the question.
    naming: Vec<Member>,
    /// Members whose key shares terms with the question.
    asked: Vec<Member>,
}

/// A member of an object.
#[derive(Debug)]
pub(crate) struct Member {
    /// First byte of its line in the view.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// The terms in the naming value, or in the requested key.
    pub terms: Terms,
    /// The key as written, quotes included.
    pub key: String,
}

impl Entity {
    /// Records a member whose value occurs in the question.
    pub(crate) fn name(&mut self, member: Member) {
        if self.naming.len() < MEMBERS {
            self.naming.push(member);
        }
    }

    /// Records a member whose key shares terms with the question. Of keys with the same terms the
    /// shortest is kept, because it says nothing else: `version`, not `rust_version`.
    pub(crate) fn ask(&mut self, member: Member) {
        let known = self.asked.iter().position(|one| one.terms == member.terms);
        match known {
            Some(at) if member.key.len() < self.asked[at].key.len() => self.asked[at] = member,
            None if self.asked.len() < MEMBERS => self.asked.push(member),
            _ => {}
        }
    }

    /// Returns the members that answer, with their terms, if the question names the object and the
    /// object has what is asked for. `path` returns the path of the object.
    pub(crate) fn leaves(&self, path: impl FnOnce() -> Option<String>) -> Option<Vec<Leaf>> {
        let named = self.naming.iter().fold(0, |terms, one| terms | one.terms);
        let is_other = |one: &&Member| {
            one.terms & !named != 0 && self.naming.iter().all(|naming| naming.start != one.start)
        };
        let asked: Vec<&Member> = self.asked.iter().filter(is_other).collect();
        if self.naming.is_empty() || asked.is_empty() {
            return None;
        }
        let path = path()?;
        let leaf = |member: &Member| {
            let mut path = path.clone();
            step_key(&mut path, &member.key);
            Leaf {
                start: member.start,
                end: member.end,
                terms: member.terms,
                path,
            }
        };
        Some(self.naming.iter().chain(asked).map(leaf).collect())
    }
}

/// Returns whether a member with this key identifies its object.
pub(crate) fn names_its_object(key: &[u8]) -> bool {
    let key = key
        .strip_prefix(b"\"")
        .and_then(|key| key.strip_suffix(b"\""))
        .unwrap_or(key);
    let is = |names: &[&str]| {
        names
            .iter()
            .any(|name| key.eq_ignore_ascii_case(name.as_bytes()))
    };
    is(&[
        "id", "name", "title", "key", "uuid", "slug", "label", "symbol", "code", "username",
        "login", "sku",
    ]) || key.ends_with(b"_id")
        || key.ends_with(b"_name")
        || key.ends_with(b"Id")
        || key.ends_with(b"Name")
}
