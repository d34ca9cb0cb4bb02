//! The definition of a tool, as a client sees it.

use serde_json::{Map, Value, json};

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments. Only what a call cannot do without is required;
    /// what is not declared is ignored.
    pub schema: Map<String, Value>,
    /// Whether it changes nothing.
    pub is_read_only: bool,
    /// Whether it reaches what lies outside of the root: other machines, or anything
    /// that a command may do.
    pub is_open_world: bool,
}

/// A schema of these properties.
pub(crate) fn schema(properties: Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema
}
