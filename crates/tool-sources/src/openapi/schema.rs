//! Resolves the references of a schema.
//!
//! A model gets schemas without references. The referenced schemas are inserted up to a limit of
//! depth and size. Beyond the limit, and in cycles, the schema allows anything, and the server
//! checks the value.

use serde_json::{Map, Value, json};
use spillgate_text::clip;

use super::DocumentError;
use super::document::{Document, Located};
use super::operation::LONGEST;

/// Maximum depth of a schema, in levels.
const DEEPEST: usize = 24;

/// How many times a reference may occur within itself. Deeper occurrences are replaced by a schema
/// that allows anything.
const MOST_TURNS: usize = 1;

/// Maximum length, in bytes, of a string that is always kept, such as a `type`.
const SHORT: usize = 64;

/// Members that are objects whose values are schemas.
const OF_NAMES: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// Members that are a schema or a list of schemas.
const OF_SCHEMAS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Members that are useless for a model or are defined only by OpenAPI.
const LEFT_OUT: [&str; 7] = [
    "$schema",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "nullable",
    "xml",
];

/// Builds the schemas of one operation.
#[derive(Debug)]
pub(crate) struct Schemas<'a> {
    document: &'a Document,
    /// Number of bytes that the following schemas may still take.
    left: usize,
    taken: usize,
}

impl<'a> Schemas<'a> {
    /// Prepares schemas of at most about `left` bytes. The names of properties are always kept,
    /// because other members may refer to them.
    pub(crate) fn new(document: &'a Document, left: usize) -> Self {
        Self {
            document,
            left,
            taken: 0,
        }
    }

    /// Returns the approximate number of bytes of the schemas built.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the schema at this position without references.
    pub(crate) fn whole(&mut self, at: &Located<'a>) -> Result<Value, DocumentError> {
        self.schema(at, &mut Vec::new(), 0)
    }

    fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        self.left = self.left.saturating_sub(bytes);
    }

    fn schema(
        &mut self,
        at: &Located<'a>,
        within: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, DocumentError> {
        self.take(4);
        if at.value.is_boolean() {
            return Ok(at.value.clone());
        }
        if !at.value.is_object() || self.left == 0 || depth > DEEPEST {
            return Ok(json!({}));
        }
        match at.text("$ref") {
            Some(reference) => self.reference(at, reference, within, depth),
            None => self.object(at, within, depth),
        }
    }

    fn reference(
        &mut self,
        at: &Located<'a>,
        reference: &str,
        within: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, DocumentError> {
        let target = self.document.target(at, reference)?;
        let turns = within.iter().filter(|one| **one == target.pointer).count();
        if turns > MOST_TURNS {
            return Ok(json!({}));
        }
        within.push(target.pointer.clone());
        let mut value = self.schema(&target, within, depth + 1)?;
        within.pop();
        // A description next to a reference applies to this use of the referenced schema (OpenAPI
        // 3.1).
        let own = at.get("description").and_then(|text| self.said(&text));
        if let (Some(members), Some(text)) = (value.as_object_mut(), own) {
            members.insert("description".to_owned(), text);
        }
        Ok(value)
    }

    fn object(
        &mut self,
        at: &Located<'a>,
        within: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, DocumentError> {
        let mut made = Map::new();
        for (name, member) in at.members() {
            if LEFT_OUT.contains(&name) || name.starts_with("x-") {
                continue;
            }
            let value = match name {
                // The values in this object are schemas, but its names are names of properties,
                // which may equal the names of keywords.
                name if OF_NAMES.contains(&name) => {
                    let mut all = Map::new();
                    for (name, one) in member.members() {
                        self.take(name.len() + 4);
                        all.insert(name.to_owned(), self.schema(&one, within, depth + 1)?);
                    }
                    Some(Value::Object(all))
                }
                name if OF_SCHEMAS.contains(&name) => {
                    Some(self.schemas(&member, within, depth + 1)?)
                }
                "description" => self.said(&member),
                _ => self.as_it_is(member.value),
            };
            if let Some(value) = value {
                self.take(name.len() + 4);
                made.insert(name.to_owned(), value);
            }
        }
        if self.document.is_3_0() {
            of_3_0(&mut made, at.value["nullable"] == true);
        }
        loosen(&mut made);
        Ok(Value::Object(made))
    }

    /// Returns a schema, or a list of schemas.
    fn schemas(
        &mut self,
        at: &Located<'a>,
        within: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, DocumentError> {
        if !at.value.is_array() {
            return self.schema(at, within, depth);
        }
        let all = at.elements();
        let all = all.map(|one| self.schema(&one, within, depth));
        Ok(Value::Array(all.collect::<Result<_, _>>()?))
    }

    /// Returns a description, shortened if necessary.
    fn said(&mut self, at: &Located<'_>) -> Option<Value> {
        let text = clip(at.value.as_str()?, LONGEST);
        self.as_it_is(&text.into())
    }

    /// Returns a value that is not a schema, unchanged; `None` if there is no room for it.
    fn as_it_is(&mut self, value: &Value) -> Option<Value> {
        let bytes = size(value, self.left)?;
        self.take(bytes);
        Some(value.clone())
    }
}

/// Returns the size of a value in bytes; `None` if it exceeds `most` and is not always kept.
fn size(value: &Value, most: usize) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.len()).filter(|&bytes| bytes <= most.max(SHORT)),
        Value::Array(all) => sum(all.iter().map(|one| (0, one)), most),
        Value::Object(all) => sum(all.iter().map(|(name, one)| (name.len() + 4, one)), most),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(8),
    }
}

/// Returns the size of values and their names in bytes; `None` if it exceeds `most`.
fn sum<'v>(mut all: impl Iterator<Item = (usize, &'v Value)>, most: usize) -> Option<usize> {
    all.try_fold(2, |sum: usize, (name, value)| {
        let sum = sum + name + size(value, most.checked_sub(sum)?)? + 1;
        (sum <= most).then_some(sum)
    })
}

/// Relaxes a schema in which shortened parts allow anything. Removes the keywords with which the
/// schema would now reject values that the original schema allows.
fn loosen(schema: &mut Map<String, Value>) {
    let anything = json!({});
    if schema.get("not") == Some(&anything) {
        schema.remove("not");
    }
    let is_cut = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .is_some_and(|all| all.contains(&anything));
    if is_cut {
        // If several alternatives allow anything, no value matches exactly one of them.
        schema.remove("oneOf");
    }
}

/// Converts keywords of OpenAPI 3.0 to those of JSON Schema.
fn of_3_0(schema: &mut Map<String, Value>, is_nullable: bool) {
    for (exclusive, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) {
            match (*is_exclusive, schema.remove(limit)) {
                (true, Some(number)) => drop(schema.insert(exclusive.to_owned(), number)),
                (_, number) => {
                    schema.remove(exclusive);
                    schema.extend(number.map(|number| (limit.to_owned(), number)));
                }
            }
        }
    }
    if !is_nullable {
        return;
    }
    if let Some(kind) = schema.get_mut("type").filter(|kind| kind.is_string()) {
        *kind = json!([kind.clone(), "null"]);
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}
