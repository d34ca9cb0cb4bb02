//! Finds an element of a long array with two threads, each of which checks a half of the document.
//!
//! `.items[7].name` needs one element, but its result counts only if the whole document is valid.
//! The check takes most of the time. A thread that begins in the middle cannot know whether it is in
//! a string or how deep it is, so it guesses: that the middle is in the array of the path, and that
//! `},{` there separates two of its elements. The left half is closed (`]}`) and the right half is
//! opened (`[`) in place of these characters, for as long as they are checked. If both are then
//! valid, and the array of the path is what ends the left half, the guess was right: the left half is
//! the start of the document, and only elements can follow it. If not, the caller checks the document
//! from the start to the end.

use std::ops::Range;

use memchr::memmem;
use sonic_rs::{LazyValue, to_array_iter, to_object_iter};

use super::halves::both;
use super::lazy::{document, trimmed};
use super::plan::{Step, StepKind};
use super::text::ESCAPE;

/// Size in bytes of the smallest document that is split. A thread costs more than it saves below.
const SPLIT_FROM: usize = 4 << 20;

/// Number of bytes around the middle that are searched for the border of two elements. In arrays of
/// larger elements the border is not found.
const NEAR: usize = 64 << 10;

/// In the right half, the place of each element with a multiple of this number is remembered.
const STRIDE: usize = 1024;

/// An element that is found: its text, and how many steps lead to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) text: Range<usize>,
    pub(crate) steps: usize,
}

/// Finds the element to which the first steps lead: keys and then an index. `None` if the document
/// must be checked as a whole. The document is the same as before when this returns.
pub(crate) fn find(json: &mut [u8], steps: &[Step]) -> Option<Found> {
    let keys = steps.iter().map_while(|step| match &step.kind {
        StepKind::Key(key) => Some(key.as_str()),
        _ => None,
    });
    let keys: Vec<&str> = keys.collect();
    let Some(StepKind::Index(index)) = steps.get(keys.len()).map(|step| &step.kind) else {
        return None;
    };
    if json.len() < SPLIT_FROM {
        return None;
    }
    let text = element(json, &keys, usize::try_from(*index).ok()?)?;
    Some(Found {
        text,
        steps: keys.len() + 1,
    })
}

fn element(json: &mut [u8], keys: &[&str], index: usize) -> Option<Range<usize>> {
    let (first, second) = borders(json)?;
    let (left, right) = json.split_at_mut(second);
    // Not empty: there is an object between two borders.
    let between = left[first..].to_vec();
    let middle = bracketed(&between[1..]);
    let elements_between = document(plain(&middle)?.as_bytes())?
        .into_array_iter()?
        .flatten();
    let end = first + 1 + keys.len();
    left.get_mut(first..end)?.fill(b'}');
    (left[first], right[0]) = (b']', b'[');
    let checked = both(
        || check_left(&left[..end], keys, index),
        || check_right(right, keys),
    );
    left[first..].copy_from_slice(&between);
    right[0] = b',';
    let (before, after) = checked.ok()?;
    let (before, after) = (before?, after?);
    let index = match before {
        Left::Element(text) => return Some(text),
        Left::Count(count) => index - count,
    };
    let elements_between: Vec<_> = elements_between.collect();
    if let Some(element) = elements_between.get(index) {
        return Some(moved(range(&middle, element), first));
    }
    let text = after.element(right, index - elements_between.len())?;
    Some(moved(text, second))
}

/// Returns the places of two commas near the middle, each of which seems to separate two objects.
fn borders(json: &[u8]) -> Option<(usize, usize)> {
    let middle = json.len() / 2;
    let is_border = |&at: &usize| {
        json[..at].trim_ascii_end().ends_with(b"}")
            && json[at + 1..].trim_ascii_start().starts_with(b"{")
    };
    let near = &json[middle..(middle + NEAR).min(json.len())];
    let mut commas = memchr::memchr_iter(b',', near)
        .map(|at| middle + at)
        .filter(is_border);
    Some((commas.next()?, commas.next()?))
}

/// What the left half has: the element, or the number of the elements in it.
enum Left {
    Element(Range<usize>),
    Count(usize),
}

/// Checks the left half of a document, which is closed after an element of the array.
fn check_left(text: &[u8], keys: &[&str], index: usize) -> Option<Left> {
    let checked = plain(text)?;
    let mut value = match keys {
        [] => document(checked.as_bytes())?,
        [key, ..] => last(to_object_iter(checked), key)?,
    };
    for key in keys.iter().skip(1) {
        value = last(value.into_object_iter()?, key)?;
    }
    if range(text, &value).end + keys.len() != text.len() {
        return None;
    }
    let mut elements = value.into_array_iter()?.flatten();
    let mut count = 0;
    for element in elements.by_ref() {
        if count == index {
            return Some(Left::Element(range(text, &element)));
        }
        count += 1;
    }
    Some(Left::Count(count))
}

/// Returns the value of the last member, which must be the only one with this key.
fn last<'a, E>(
    members: impl Iterator<Item = Result<(impl AsRef<str>, LazyValue<'a>), E>>,
    key: &str,
) -> Option<LazyValue<'a>> {
    let mut found = None;
    for member in members {
        let (name, value) = member.ok()?;
        if found.is_some() {
            return None;
        }
        found = (name.as_ref() == key).then_some(value);
    }
    found
}

/// What the right half has: the places of some elements, and the end of the array.
struct Right {
    marks: Vec<usize>,
    end: usize,
}

impl Right {
    /// Returns the text of an element.
    fn element(&self, json: &[u8], index: usize) -> Option<Range<usize>> {
        let from = *self.marks.get(index / STRIDE)?;
        let to = self.marks.get(index / STRIDE + 1).unwrap_or(&self.end);
        let some = bracketed(&json[from..*to]);
        let element = to_array_iter(&some[..]).nth(index % STRIDE)?.ok()?;
        Some(moved(range(&some, &element), from - 1))
    }
}

/// Checks the right half of a document, which begins with elements of the array.
fn check_right(text: &[u8], keys: &[&str]) -> Option<Right> {
    let checked = plain(text)?;
    let mut found = Right {
        marks: Vec::new(),
        end: 0,
    };
    for (number, element) in to_array_iter(checked).enumerate() {
        let place = range(text, &element.ok()?);
        if number % STRIDE == 0 {
            found.marks.push(place.start);
        }
        found.end = place.end;
    }
    let rest = trimmed(&text[found.end..]).strip_prefix(b"]")?;
    let mut rest = rest.to_vec();
    for key in keys.iter().rev() {
        rest = after_object(&rest, key)?;
    }
    trimmed(&rest).is_empty().then_some(found)
}

/// Returns what follows an object of which `rest` is the end, after some member. No further member
/// may have the key.
fn after_object(rest: &[u8], key: &str) -> Option<Vec<u8>> {
    let mut rest = trimmed(rest).to_vec();
    let mut end = 0;
    if rest.first() == Some(&b',') {
        rest[0] = b'{';
        for member in to_object_iter(&rest[..]) {
            let (name, value) = member.ok()?;
            if name == key {
                return None;
            }
            end = range(&rest, &value).end;
        }
        if end == 0 {
            return None; // `,}`
        }
    }
    let rest = trimmed(&rest[end..]).strip_prefix(b"}")?;
    Some(rest.to_vec())
}

/// Returns a text in UTF-8 that has no escapes `\uXXXX`, which may have to be repaired.
fn plain(text: &[u8]) -> Option<&str> {
    let text = simdutf8::basic::from_utf8(text).ok()?;
    memmem::find(text.as_bytes(), ESCAPE)
        .is_none()
        .then_some(text)
}

/// Returns the text of an array with these elements.
fn bracketed(elements: &[u8]) -> Vec<u8> {
    [b"[", elements, b"]"].concat()
}

/// Returns the place of a value in the text that it was read from.
fn range(text: &[u8], value: &LazyValue<'_>) -> Range<usize> {
    let raw = value.as_raw_str();
    let start = raw.as_ptr() as usize - text.as_ptr() as usize;
    start..start + raw.len()
}

fn moved(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::lazy::walk;
    use super::*;

    /// Returns the element that is found, after a check that the document is unchanged.
    fn found(json: &[u8], keys: &[&str], index: usize) -> Option<Vec<u8>> {
        let mut bytes = json.to_vec();
        let place = element(&mut bytes, keys, index);
        assert!(bytes == json, "{}", String::from_utf8_lossy(&bytes));
        place.map(|place| json[place].to_vec())
    }

    /// Returns the element that the walk through the whole document finds; `None` if it is invalid.
    fn walked(json: &[u8], keys: &[&str], index: usize) -> Option<Vec<u8>> {
        let step = |kind| Step {
            kind,
            optional: false,
        };
        let keys = keys.iter().map(|key| StepKind::Key((*key).to_owned()));
        let index = StepKind::Index(i64::try_from(index).unwrap());
        let steps: Vec<_> = keys.chain([index]).map(step).collect();
        let mut text = None;
        let visited = walk(document(json)?, &steps, &mut |value| {
            text = Some(value.as_bytes().to_vec());
            ControlFlow::Continue(())
        });
        visited.is_continue().then_some(text)?
    }

    const VALID: [(&str, &[&str]); 6] = [
        (
            r#"[{"a":1},{"b":[2]},{"c":3},{"d":"é"},{"e":5},{"f":6}]"#,
            &[],
        ),
        (
            r#"{"x":[{}],"k":[{"a":1},{"b":2},{"c":3},{"d":4},{"e":5}]}"#,
            &["k"],
        ),
        (
            r#"{"k":[{"a":1},{"b":2},{"c":3},{"d":4},{"e":5},{"f":6}],"y":{"z":[0]} }"#,
            &["k"],
        ),
        (
            r#"{"o":{"k":[0,{"a":1},{"b":"},{"},{"c":3},{"d":4}],"p":0},"q":1}"#,
            &["o", "k"],
        ),
        (
            "{\n \"k\": [\n  {\"a\": 1},\n  {\"b\": 2},\n  {\"c\": 3},\n  {\"d\": 4}\n ]\n}\n",
            &["k"],
        ),
        (
            r#"{"k":[{"a":[1]},{"b":{}},{},{},{"e":-5e1}],"y":[{},{}]}"#,
            &["k"],
        ),
    ];

    #[test]
    fn each_element_is_found() {
        for (json, keys) in VALID {
            for index in 0..4 {
                let text = found(json.as_bytes(), keys, index);
                assert!(text.is_some(), "{json} {index}");
                assert_eq!(text, walked(json.as_bytes(), keys, index), "{json} {index}");
            }
            assert_eq!(found(json.as_bytes(), keys, 9), None, "{json}");
        }
    }

    #[test]
    fn a_changed_byte_never_finds_another_element() {
        for (json, keys) in VALID {
            for at in 0..json.len() {
                for byte in 0..=255 {
                    let mut changed = json.as_bytes().to_vec();
                    changed[at] = byte;
                    for index in [0, 3] {
                        if let Some(text) = found(&changed, keys, index) {
                            let want = walked(&changed, keys, index);
                            assert_eq!(Some(text), want, "{}", String::from_utf8_lossy(&changed));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_half_cannot_know_is_left_to_the_whole() {
        let cases: [(&str, &[&str]); 9] = [
            (
                r#"{"k":[{"a":1}]},{"b":2},{"c":3},{"d":4},{"e":5}]}"#,
                &["k"],
            ),
            (r#"{"k":0,"k":[{"a":1},{"b":2},{"c":3},{"d":4}]}"#, &["k"]),
            (r#"{"k":[{"a":1},{"b":2},{"c":3},{"d":4}],"k":0}"#, &["k"]),
            (r#"{"k":[{"a":1},{"b":2},{"c":3},{"d":4}],}"#, &["k"]),
            (r#"{"k":[{"a":1},{"b":2},{"c":3},{"d":4}]} 1"#, &["k"]),
            (r#"{"k":[{"a":[{"a":1},{"b":2},{"c":3},{"d":4}]}]}"#, &["k"]),
            (r#"{"j":[{"a":1},{"b":2},{"c":3},{"d":4}]}"#, &["k"]),
            (r#"[{"a":"\ud800"},{"b":2},{"c":3},{"d":4}]"#, &[]),
            (r#"["},{},{},{},{},{},{},{},{"]"#, &[]),
        ];
        for (json, keys) in cases {
            assert_eq!(found(json.as_bytes(), keys, 0), None, "{json}");
        }
    }

    #[test]
    fn elements_behind_many_others_are_found() {
        let elements: Vec<_> = (0..5000).map(|i| format!("{{\"i\":{i}}}")).collect();
        let json = format!("[{}]", elements.join(","));
        for index in [0, 2499, 2500, 2501, 3523, 3524, 3525, 4999] {
            let text = found(json.as_bytes(), &[], index).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), elements[index]);
        }
    }
}
