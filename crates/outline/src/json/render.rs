//! Writes the shape of a document, one place per line. A place is a path without array indices.
//!
//! A line begins with a piece of a jq path. The pieces from the outermost line to the innermost,
//! such as `.items[]` above `.metadata.name`, joined together are the path of the values.

use std::fmt::Write;

use spillgate_text::push_key;

use super::shape::{Key, Keys, Shape, ShapeId, Span, Tree};
use crate::parts::grouped;
use crate::values::Values;
use crate::{EntryKind, OutlineEntry};

/// Maximum number of characters of an example.
const EXAMPLE_CHARS: usize = 32;
/// Maximum number of values that are shown for a place.
const NAMED: usize = 4;
/// Maximum number of bytes of these values together.
const NAMED_CHARS: usize = 60;
/// Maximum number of characters of an object's members on one line, if their values are shown.
const FLAT_VALUES: usize = 70;
/// Maximum number of characters of an object's members on one line, if not all values are shown.
const FLAT_CHARS: usize = 110;
/// Minimum number of keys with URLs that share a line.
const ALIKE: usize = 3;
/// Minimum number of keys of an object whose keys may be data rather than names of fields.
const LEAST_MAP: usize = 6;

/// Returns the lines of all places.
///
/// `begins` is the offset of the document's first line. It is `None` if the offsets in the tree do
/// not refer to lines of the view.
pub(super) fn render(mut tree: Tree, label: &str, begins: Option<u64>) -> Vec<OutlineEntry> {
    settle(&mut tree, Tree::ROOT);
    let mut render = Render {
        tree: &tree,
        lines: Vec::new(),
        is_located: begins.is_some(),
    };
    render.place(Tree::ROOT, label, String::new(), 0, "", begins);
    render.lines
}

/// Turns objects whose keys look like data into maps.
fn settle(tree: &mut Tree, id: ShapeId) {
    let shape = tree.get(id);
    let items = shape.items;
    if let Keys::Few(keys) = &shape.keys
        && keys.len() >= LEAST_MAP
        && (have_digits(keys, tree) || are_alike(keys, tree))
    {
        let keys = keys.clone();
        tree.make_map(id, keys);
    }
    let inside: Vec<ShapeId> = match &tree.get(id).keys {
        Keys::Few(keys) => keys.iter().map(|key| key.value).collect(),
        Keys::Map(of_all) => vec![of_all.value],
    };
    for id in inside.into_iter().chain(items) {
        settle(tree, id);
    }
}

/// Returns whether three in four keys contain a digit, as ids, versions and dates do, and all
/// values have the same type.
fn have_digits(keys: &[Key], tree: &Tree) -> bool {
    let digits = keys
        .iter()
        .filter(|key| key.text.iter().any(u8::is_ascii_digit));
    let types: Vec<Vec<&str>> = keys.iter().map(|key| types(tree.get(key.value))).collect();
    digits.count() * 4 >= keys.len() * 3 && types.windows(2).all(|pair| pair[0] == pair[1])
}

/// Returns whether the values of all keys are objects that have nearly the same keys.
fn are_alike(keys: &[Key], tree: &Tree) -> bool {
    /// Minimum number of keys that these objects must have. A single key proves nothing.
    const LEAST: usize = 2;
    let inside = |key: &Key| match (&tree.get(key.value), types(tree.get(key.value))) {
        (shape, types) if types == ["object"] => match &shape.keys {
            Keys::Few(keys) if keys.len() >= LEAST => {
                Some(keys.iter().map(|key| key.text.clone()).collect::<Vec<_>>())
            }
            _ => None,
        },
        _ => None,
    };
    let Some(sets) = keys.iter().map(inside).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let largest = sets.iter().map(Vec::len).max().unwrap_or(0);
    let mut all: Vec<_> = sets.into_iter().flatten().collect();
    all.sort_unstable();
    all.dedup();
    all.len() <= largest + largest / 4
}

fn types(shape: &Shape) -> Vec<&'static str> {
    [
        (shape.objects, "object"),
        (shape.arrays, "array"),
        (shape.strings, "string"),
        (shape.numbers, "number"),
        (shape.booleans(), "boolean"),
    ]
    .into_iter()
    .filter_map(|(count, name)| (count > 0).then_some(name))
    .collect()
}

struct Render<'a> {
    tree: &'a Tree,
    lines: Vec<OutlineEntry>,
    /// Whether the offsets in the tree refer to lines of the view.
    is_located: bool,
}

impl Render<'_> {
    /// Writes the lines of a place and of the places inside it. `path` leads from the line above to
    /// the place. `rare` says how many objects have the place, if not all do. `opens` is the offset
    /// of the line on which the first value of the place begins, if this is known.
    fn place(
        &mut self,
        id: ShapeId,
        label: &str,
        mut path: String,
        depth: usize,
        rare: &str,
        mut opens: Option<u64>,
    ) {
        let shape = self.tree.get(id);
        if rare.is_empty()
            && label.is_empty()
            && let Some(key) = self.only_key(shape)
        {
            path.push_str(&jq_key(&key.text));
            let opens = self.is_located.then_some(key.offset);
            return self.place(key.value, label, path, depth, rare, opens);
        }
        let mut texts = vec![self.described(shape)];
        let mut inner = shape;
        let mut levels = 0;
        while let Some(items) = inner.items
            && inner.arrays + inner.nulls == inner.count()
        {
            levels += 1;
            path.push_str(if path.is_empty() { ".[]" } else { "[]" });
            inner = self.tree.get(items);
            texts.push(self.described(inner));
        }
        if let Keys::Map(of_all) = &inner.keys {
            levels += 1;
            path.push_str(if path.is_empty() { ".[]" } else { "[]" });
            inner = self.tree.get(of_all.value);
        }
        // The first record begins on the next line only if a single level of a list is open.
        opens = opens.filter(|_| levels == 1 && inner.objects > 0);
        let joint = if path.is_empty() { "" } else { ": " };
        if depth > 0
            && let Some(members) = self.flat(shape, inner)
        {
            let text = nested(&texts);
            self.line(depth, 1, &path, &format!("{rare}{joint}{text} {members}"));
            return self.mark(opens);
        }
        let rank = match inner.objects + inner.arrays {
            0 if depth > 0 && std::ptr::eq(shape, inner) => 3 - usize::from(is_telling(shape)),
            _ => 0,
        };
        let text = format!("{rare}{joint}{}", nested(&texts));
        match label {
            "" => self.line(depth, rank, &path, &text),
            label => self.line(depth, rank, "", &format!("{label}{path}{text}")),
        }
        self.mark(opens);
        self.inside(shape, inner, depth + 1);
    }

    /// Sets, in the last entry of `lines`, the offset of the first record of the entry's list.
    fn mark(&mut self, records: Option<u64>) {
        if let Some(last) = self.lines.last_mut() {
            last.records = records;
        }
    }

    /// Adds a line. Its `rank` within its depth is from 0 to 3: a place that contains other places
    /// has a lower rank than one that does not, and is left out later.
    fn line(&mut self, depth: usize, rank: usize, path: &str, text: &str) {
        // In a list of names that were left out, paths of any other form would be ambiguous.
        let is_name = path.starts_with('.') && !path.contains([':', ' ', '?']);
        let kind = match is_name {
            true => EntryKind::Path(path.to_owned()),
            false => EntryKind::Place,
        };
        let text = format!("{path}{text}");
        let entry = OutlineEntry::new(depth * 4 + rank, depth, kind, text);
        self.lines.push(entry);
    }

    /// Writes the lines of the members of a place's objects: of the objects at the place itself
    /// (`shape`), and of the objects that are its elements or values (`inner`).
    fn inside(&mut self, shape: &Shape, inner: &Shape, depth: usize) {
        let own = (!std::ptr::eq(shape, inner)).then_some(shape);
        for shape in own.into_iter().chain([inner]) {
            if let Keys::Few(keys) = &shape.keys {
                self.members(shape, keys, depth);
            }
            if shape.more {
                self.line(depth, 1, "", "… deeper, or more than is told apart");
            }
        }
        if let Some(items) = inner.items {
            self.place(items, "", "[]".to_owned(), depth, "", None);
        }
    }

    fn members(&mut self, shape: &Shape, keys: &[Key], depth: usize) {
        let mut keys: Vec<&Key> = keys.iter().collect();
        keys.sort_by_key(|key| key.offset);
        let urls: Vec<&Key> = keys
            .iter()
            .copied()
            .filter(|key| is_url(self.tree.get(key.value)))
            .collect();
        let alike = urls.len() >= ALIKE;
        for key in keys {
            let value = self.tree.get(key.value);
            if alike && is_url(value) {
                continue;
            }
            let present = value.count();
            let rare = match present < shape.objects {
                true => format!("? ({} of {})", grouped(present), grouped(shape.objects)),
                false => String::new(),
            };
            let opens = self.is_located.then_some(key.offset);
            self.place(key.value, "", jq_key(&key.text), depth, &rare, opens);
        }
        if alike {
            let mut names: Vec<String> = urls.iter().map(|key| jq_key(&key.text)).collect();
            let count = names.len();
            names.truncate(NAMED);
            let more = if count > NAMED { ", …" } else { "" };
            let names = names.join(", ");
            self.line(
                depth,
                2,
                "",
                &format!("{names}{more}: {count} keys with URLs"),
            );
        }
    }

    /// Returns the members of an object that contains only scalars, as text for one line: with
    /// their values or, if this is too long, without.
    fn flat(&self, shape: &Shape, inner: &Shape) -> Option<String> {
        let Keys::Few(keys) = &inner.keys else {
            return None;
        };
        let own =
            std::ptr::eq(shape, inner) || matches!(&shape.keys, Keys::Few(keys) if keys.is_empty());
        let own = own || matches!(shape.keys, Keys::Map(_));
        let values = || keys.iter().map(|key| self.tree.get(key.value));
        let is_flat = values().all(|value| value.objects + value.arrays == 0);
        if keys.is_empty() || inner.more || !own || !is_flat {
            return None;
        }
        let mut keys: Vec<&Key> = keys.iter().collect();
        keys.sort_by_key(|key| key.offset);
        let (urls, others): (Vec<&Key>, Vec<&Key>) = keys
            .iter()
            .partition(|key| is_url(self.tree.get(key.value)));
        let (urls, keys) = match urls.len() >= ALIKE {
            true => (Some(format!("{} keys with URLs", urls.len())), others),
            false => (None, keys),
        };
        let told = |tell: &dyn Fn(&Shape) -> String| -> String {
            let members = keys.iter().map(|key| {
                let value = self.tree.get(key.value);
                let rare = if value.count() < inner.objects {
                    "?"
                } else {
                    ""
                };
                format!("{}{rare}{}", jq_key(&key.text), tell(value))
            });
            let members: Vec<String> = members.chain(urls.clone()).collect();
            format!("{{{}}}", members.join(", "))
        };
        let tells: [&dyn Fn(&Shape) -> String; 3] = [
            &|value| format!(": {}", self.described(value)),
            &|value| match types(value).join("|") {
                _ if is_telling(value) => format!(": {}", self.described(value)),
                none if none.is_empty() => ": null".to_owned(),
                types => format!(": {types}"),
            },
            &|_| String::new(),
        ];
        let most = [FLAT_VALUES, FLAT_CHARS, FLAT_CHARS];
        let all = tells
            .iter()
            .zip(most)
            .map(|(tell, most)| (told(tell), most));
        let fitting = all.min_by_key(|(text, most)| text.chars().count().saturating_sub(*most));
        fitting.map(|(text, _)| text)
    }

    /// Returns the key of a place whose values are all objects with this single key.
    fn only_key(&self, shape: &Shape) -> Option<Key> {
        match &shape.keys {
            Keys::Few(keys) if keys.len() == 1 && !shape.more => {
                let is_always = shape.count() == shape.objects
                    && self.tree.get(keys[0].value).count() == shape.objects;
                is_always.then(|| keys[0].clone())
            }
            _ => None,
        }
    }

    /// Describes the values of a place: their types, lengths and examples.
    fn described(&self, shape: &Shape) -> String {
        let mut parts = Vec::new();
        if shape.objects > 0 {
            parts.push(match &shape.keys {
                Keys::Map(of_all) => format!(
                    "{{<{} keys like {}>: {}}}",
                    span(shape.widths),
                    clipped(&quoted(&of_all.text)),
                    self.value_of_map(of_all.value)
                ),
                Keys::Few(keys) if keys.is_empty() && !shape.more => "{}".to_owned(),
                Keys::Few(_) => "object".to_owned(),
            });
        }
        if shape.arrays > 0 {
            parts.push(format!("array({})", span(shape.lengths)));
        }
        if shape.strings > 0 {
            let values = valued(&shape.strings_seen, shape.strings);
            parts.push(format!("string{values}"));
        }
        if shape.numbers > 0 {
            parts.push(numbers(shape));
        }
        parts.extend(booleans(shape));
        if shape.nulls > 0 {
            parts.push("null".to_owned());
        }
        if parts.is_empty() {
            parts.push("nothing".to_owned());
        }
        parts.join(" | ")
    }

    fn value_of_map(&self, id: ShapeId) -> String {
        let shape = self.tree.get(id);
        let mut text = self.described(shape);
        if let Some(items) = shape.items {
            let items = self.described(self.tree.get(items));
            write!(text, " of {items}").expect("writing to a string");
        }
        text
    }
}

/// Joins the texts of nested arrays. If there are many, omits those between the outer ones and the
/// innermost.
fn nested(texts: &[String]) -> String {
    const TOLD: usize = 3;
    match texts {
        [outer @ .., last] if outer.len() > TOLD => {
            format!("{} of … of {last}", outer[..TOLD - 1].join(" of "))
        }
        _ => texts.join(" of "),
    }
}

fn numbers(shape: &Shape) -> String {
    match (shape.range.ends(), shape.numbers_seen.distinct()) {
        (Some((least, most)), distinct) if distinct.is_none_or(|count| count > NAMED) => {
            format!("number {}–{}", clipped(least), clipped(most))
        }
        _ => format!("number{}", valued(&shape.numbers_seen, shape.numbers)),
    }
}

fn booleans(shape: &Shape) -> Option<String> {
    match (shape.trues, shape.falses) {
        (0, 0) => None,
        (_, 0) => Some("boolean: true".to_owned()),
        (0, _) => Some("boolean: false".to_owned()),
        (trues, falses) => Some(format!(
            "boolean ({} true, {} false)",
            grouped(trues),
            grouped(falses)
        )),
    }
}

/// Returns the values of a place: all of them if there are few, otherwise examples.
fn valued(values: &Values, count: u64) -> String {
    let mut room = NAMED_CHARS;
    let texts: Vec<String> = values
        .examples()
        .map(|text| clipped(&String::from_utf8_lossy(text)))
        .take_while(|text| {
            let fits = room == NAMED_CHARS || text.len() <= room;
            room = room.saturating_sub(text.len());
            fits
        })
        .take(NAMED)
        .collect();
    match values.distinct() {
        Some(1) => format!(": {}", texts[0]),
        Some(distinct) if (distinct as u64) < count => {
            let more = if distinct > texts.len() { ", …" } else { "" };
            format!(" ({distinct} distinct: {}{more})", texts.join(", "))
        }
        Some(2) if texts.len() == 2 => format!(": {}", texts.join(", ")),
        _ => format!(": {}, …", texts[0]),
    }
}

fn span(span: Span) -> String {
    match span.0 {
        None => "?".to_owned(),
        Some((least, most)) if least == most => grouped(most),
        Some((least, most)) => format!("{}–{}", grouped(least), grouped(most)),
    }
}

/// Returns whether the values suggest questions: only a few distinct strings, which recur, or both
/// booleans.
fn is_telling(shape: &Shape) -> bool {
    let few = shape.strings_seen.distinct();
    few.is_some_and(|count| count > 1 && (count as u64) < shape.strings)
        || (shape.trues > 0 && shape.falses > 0)
}

/// Returns whether a place contains only strings, and the strings kept as examples are URLs.
fn is_url(shape: &Shape) -> bool {
    let is_web = |text: &[u8]| text.starts_with(b"\"http://") || text.starts_with(b"\"https://");
    matches!(types(shape).as_slice(), ["string"]) && shape.strings_seen.examples().all(is_web)
}

/// Returns a key as a step of a jq path.
fn jq_key(key: &[u8]) -> String {
    let mut step = String::new();
    push_key(&mut step, &quoted(key));
    step
}

/// Returns the key between quotes, as JSON and jq write it.
fn quoted(key: &[u8]) -> String {
    format!("\"{}\"", String::from_utf8_lossy(key))
}

/// Returns an example cut to [`EXAMPLE_CHARS`]. A string keeps its quotes.
fn clipped(text: &str) -> String {
    let mut chars = text.chars();
    let cut: String = chars.by_ref().take(EXAMPLE_CHARS).collect();
    match (chars.next(), cut.starts_with('"')) {
        (None, _) => cut,
        (Some(_), true) => format!("{cut}…\""),
        (Some(_), false) => format!("{cut}…"),
    }
}
