//! Tool definitions: the name, the description and the schema of a tool, as clients receive them.

use serde_json::{Map, Value, json};

/// A tool definition, as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The tool's name.
    pub name: &'static str,
    /// What the tool does.
    pub description: String,
    /// JSON Schema of the arguments. Only arguments that a call cannot do without are required;
    /// undeclared arguments are ignored.
    pub schema: Map<String, Value>,
    /// Whether the tool changes nothing.
    pub is_read_only: bool,
    /// Whether the tool reaches outside the root: it contacts other machines or runs arbitrary
    /// commands.
    pub is_open_world: bool,
}

/// Returns an object schema with these properties.
pub(crate) fn schema(properties: Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema
}
