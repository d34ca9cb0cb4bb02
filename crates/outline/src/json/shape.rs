//! Merges the values in one place of a document into a shape. A place is a path without array
//! indices, such as `.items[].name`.

use crate::values::{Range, Values};

/// Maximum number of keys that are distinguished in a place. An object with more keys is a map,
/// whose values are merged into one shape.
pub(super) const KEYS: usize = 64;
/// Maximum number of places that are distinguished; all others are not shown. A hostile document
/// could have a place per byte.
const NODES: usize = 8192;
/// Bytes of a key that are compared.
const KEY_BYTES: usize = 256;

/// The id of a place in a document.
pub(super) type ShapeId = usize;

/// Everything that occurs in one place.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) nulls: u64,
    pub(super) trues: u64,
    pub(super) falses: u64,
    pub(super) numbers: u64,
    pub(super) strings: u64,
    pub(super) objects: u64,
    pub(super) arrays: u64,
    /// The lengths of the shortest and the longest array.
    pub(super) lengths: Span,
    /// The numbers of members of the smallest and the largest object.
    pub(super) widths: Span,
    pub(super) keys: Keys,
    pub(super) items: Option<ShapeId>,
    pub(super) strings_seen: Values,
    pub(super) numbers_seen: Values,
    pub(super) range: Range,
    /// Whether the place contained keys or elements that exceed [`KEYS`], [`NODES`] or the depth
    /// limit, and are not distinguished.
    pub(super) more: bool,
}

/// The smallest and the largest of several counts.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Span(pub(super) Option<(u64, u64)>);

impl Span {
    pub(super) fn add(&mut self, count: u64) {
        self.merge(Self(Some((count, count))));
    }

    fn merge(&mut self, other: Self) {
        self.0 = match (self.0, other.0) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }
}

/// The members of the objects in a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Keys {
    Few(Vec<Key>),
    /// The keys are data rather than names of fields. Contains the first key, with the shape of the
    /// values of all keys.
    Map(Key),
}

/// A key as it is written between its quotes, and the offset of its first occurrence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) text: Box<[u8]>,
    pub(super) offset: u64,
    pub(super) value: ShapeId,
}

impl Default for Keys {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Shape {
    /// Returns the number of values in this place.
    pub(super) fn count(&self) -> u64 {
        self.nulls + self.booleans() + self.numbers + self.strings + self.objects + self.arrays
    }

    pub(super) fn booleans(&self) -> u64 {
        self.trues + self.falses
    }
}

/// All places of a document. The first place is the root of the document.
#[derive(Debug)]
pub(super) struct Tree {
    shapes: Vec<Shape>,
    /// For each place, the place that it was merged into, or itself.
    moved: Vec<ShapeId>,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            shapes: vec![Shape::default()],
            moved: vec![0],
        }
    }
}

impl Tree {
    pub(super) const ROOT: ShapeId = 0;

    pub(super) fn get(&self, id: ShapeId) -> &Shape {
        &self.shapes[self.resolve(id)]
    }

    pub(super) fn get_mut(&mut self, id: ShapeId) -> &mut Shape {
        let id = self.resolve(id);
        &mut self.shapes[id]
    }

    pub(super) fn resolve(&self, mut id: ShapeId) -> ShapeId {
        while self.moved[id] != id {
            id = self.moved[id];
        }
        id
    }

    /// Adds a place; `None` if there are too many.
    pub(super) fn add(&mut self) -> Option<ShapeId> {
        if self.shapes.len() >= NODES {
            return None;
        }
        let id = self.shapes.len();
        self.shapes.push(Shape::default());
        self.moved.push(id);
        Some(id)
    }

    /// Returns the place of the elements of the arrays at `parent`.
    pub(super) fn item(&mut self, parent: ShapeId) -> Option<ShapeId> {
        if let Some(items) = self.get(parent).items {
            return Some(items);
        }
        let added = self.add();
        let shape = self.get_mut(parent);
        shape.items = added;
        shape.more |= added.is_none();
        added
    }

    /// Returns the place of the values under `key`, which is at byte `offset`. `next` guesses the
    /// index of the key: objects often have the same keys in the same order.
    pub(super) fn key(
        &mut self,
        parent: ShapeId,
        key: &[u8],
        next: &mut usize,
        offset: u64,
    ) -> Option<ShapeId> {
        let key = &key[..key.len().min(KEY_BYTES)];
        match &self.get(parent).keys {
            Keys::Map(of_all) => return Some(of_all.value),
            Keys::Few(keys) => {
                let guess = keys.get(*next).is_some_and(|known| *known.text == *key);
                let found = match guess {
                    true => Some(*next),
                    false => keys.iter().position(|known| *known.text == *key),
                };
                if let Some(at) = found {
                    *next = at + 1;
                    return Some(keys[at].value);
                }
            }
        }
        let Some(value) = self.add() else {
            self.get_mut(parent).more = true;
            return None;
        };
        let text = key.into();
        self.insert(
            parent,
            Key {
                text,
                offset,
                value,
            },
        );
        Some(self.resolve(value))
    }

    fn insert(&mut self, parent: ShapeId, key: Key) {
        let Keys::Few(keys) = &mut self.get_mut(parent).keys else {
            return;
        };
        keys.push(key);
        if keys.len() > KEYS {
            let keys = std::mem::take(keys);
            self.make_map(parent, keys);
        }
    }

    /// Merges the values under `keys` into one place.
    pub(super) fn make_map(&mut self, parent: ShapeId, keys: Vec<Key>) {
        let Some(first) = keys.iter().min_by_key(|key| key.offset).cloned() else {
            return;
        };
        for key in keys {
            self.merge(first.value, key.value);
        }
        self.get_mut(parent).keys = Keys::Map(first);
    }

    /// Merges the place `from` into `into`. Afterwards both ids refer to `into`.
    pub(super) fn merge(&mut self, into: ShapeId, from: ShapeId) {
        let (into, from) = (self.resolve(into), self.resolve(from));
        if into == from {
            return;
        }
        let other = std::mem::take(&mut self.shapes[from]);
        self.moved[from] = into;
        let mine = &mut self.shapes[into];
        mine.nulls += other.nulls;
        mine.trues += other.trues;
        mine.falses += other.falses;
        mine.numbers += other.numbers;
        mine.strings += other.strings;
        mine.objects += other.objects;
        mine.arrays += other.arrays;
        mine.lengths.merge(other.lengths);
        mine.widths.merge(other.widths);
        mine.strings_seen.merge(other.strings_seen);
        mine.numbers_seen.merge(other.numbers_seen);
        mine.range.merge(other.range);
        mine.more |= other.more;
        match (mine.items, other.items) {
            (Some(items), Some(others)) => self.merge(items, others),
            (items, others) => mine.items = items.or(others),
        }
        self.merge_keys(into, other.keys);
    }

    fn merge_keys(&mut self, into: ShapeId, others: Keys) {
        match others {
            Keys::Few(others) => {
                for key in others {
                    self.merge_key(into, key);
                }
            }
            Keys::Map(of_all) => {
                let mut keys = match std::mem::take(&mut self.get_mut(into).keys) {
                    Keys::Few(keys) => keys,
                    Keys::Map(mine) => vec![mine],
                };
                keys.push(of_all);
                self.make_map(into, keys);
            }
        }
    }

    fn merge_key(&mut self, into: ShapeId, key: Key) {
        match &mut self.get_mut(into).keys {
            Keys::Map(mine) => {
                let value = mine.value;
                if key.offset < mine.offset {
                    *mine = Key { value, ..key };
                }
                self.merge(value, key.value);
            }
            Keys::Few(keys) => match keys.iter_mut().find(|known| known.text == key.text) {
                Some(known) => {
                    known.offset = known.offset.min(key.offset);
                    let value = known.value;
                    self.merge(value, key.value);
                }
                None => self.insert(into, key),
            },
        }
    }

    /// Adds all places of another tree without merging them. Returns the number to add to an id of
    /// `other` to get the id in this tree.
    pub(super) fn adopt(&mut self, other: Self) -> usize {
        let base = self.shapes.len();
        let shifted = |key: Key| Key {
            value: key.value + base,
            ..key
        };
        for mut shape in other.shapes {
            shape.items = shape.items.map(|id| id + base);
            shape.keys = match shape.keys {
                Keys::Few(keys) => Keys::Few(keys.into_iter().map(shifted).collect()),
                Keys::Map(key) => Keys::Map(shifted(key)),
            };
            self.shapes.push(shape);
        }
        self.moved.extend(other.moved.iter().map(|id| id + base));
        base
    }
}
