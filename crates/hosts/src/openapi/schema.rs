//! What is a schema with all that it refers to?
//!
//! A model gets it without references: what they lead to stands in their place, as
//! deep as there is room. Deeper, and in circles, anything is allowed; the server
//! will judge.

use serde_json::{Map, Value, json};

use super::Broken;
use super::document::{At, Document};

/// Levels of a schema.
const DEEPEST: usize = 24;

/// Times that a reference may stand within itself.
const MOST_TURNS: usize = 1;

/// Values in the schemas of one operation: a model reads all of them.
const MOST_VALUES: usize = 4000;

/// Members that tell a model nothing, or that only OpenAPI knows.
const LEFT_OUT: [&str; 7] = [
    "$schema",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "nullable",
    "xml",
];

/// Makes the schemas of one operation.
#[derive(Debug)]
pub(crate) struct Schemas<'a> {
    document: &'a Document,
    left: usize,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(document: &'a Document) -> Self {
        Self {
            document,
            left: MOST_VALUES,
        }
    }

    /// The schema that stands there, whole.
    pub(crate) fn whole(&mut self, at: &At<'a>) -> Result<Value, Broken> {
        self.value(at, &mut Vec::new(), 0)
    }

    fn value(
        &mut self,
        at: &At<'a>,
        within: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, Broken> {
        if self.left == 0 || depth > DEEPEST {
            return Ok(json!({}));
        }
        self.left -= 1;
        match at.value {
            Value::Object(_) => match at.text("$ref") {
                Some(reference) => self.reference(at, reference, within, depth),
                None => self.object(at, within, depth),
            },
            Value::Array(_) => {
                let all = at.elements();
                let all = all.map(|one| self.value(&one, within, depth + 1));
                Ok(Value::Array(all.collect::<Result<_, _>>()?))
            }
            other => Ok(other.clone()),
        }
    }

    fn reference(
        &mut self,
        at: &At<'a>,
        reference: &str,
        within: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, Broken> {
        let target = self.document.target(at, reference)?;
        let turns = within.iter().filter(|one| **one == target.pointer).count();
        if turns > MOST_TURNS {
            return Ok(json!({}));
        }
        within.push(target.pointer.clone());
        let mut value = self.value(&target, within, depth + 1)?;
        within.pop();
        // What is said beside it is said of this use (3.1).
        if let (Some(members), Some(text)) = (value.as_object_mut(), at.text("description")) {
            members.insert("description".to_owned(), text.into());
        }
        Ok(value)
    }

    fn object(
        &mut self,
        at: &At<'a>,
        within: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, Broken> {
        let mut made = Map::new();
        for (name, member) in at.members() {
            let is_ours = !LEFT_OUT.contains(&name) && !name.starts_with("x-");
            // Names of properties are the API's.
            let of_names = matches!(name, "properties" | "patternProperties" | "$defs");
            let value = match (is_ours, name) {
                (false, _) => continue,
                (true, "enum" | "const" | "default" | "required") => member.value.clone(),
                (true, _) if of_names => {
                    let mut all = Map::new();
                    for (name, one) in member.members() {
                        all.insert(name.to_owned(), self.value(&one, within, depth + 1)?);
                    }
                    Value::Object(all)
                }
                (true, _) => self.value(&member, within, depth + 1)?,
            };
            made.insert(name.to_owned(), value);
        }
        if self.document.is_3_0() {
            of_3_0(&mut made, at.value["nullable"] == true);
        }
        Ok(Value::Object(made))
    }
}

/// What 3.0 writes otherwise than JSON Schema does.
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
