//! Generates the JSON Schemas of prompt files and `.ai-agent.json`.
//!
//! The schemas are generated from the types that the files are read into, so that editors accept
//! the same keys as Spillgate. A schema lists keys in one spelling, `maxTurns`, and also accepts
//! the other, `max_turns`.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use spillgate_config::{camel, snake};

use crate::keys::{OF_ONE_AGENT, Settings};
use crate::sections::Sections;

/// Returns the JSON Schema of a prompt file's frontmatter.
pub fn prompt_file_schema() -> Value {
    of::<Settings>()
}

/// Returns the JSON Schema of `.ai-agent.json`.
pub fn ai_agent_schema() -> Value {
    let mut schema = of::<Sections>();
    // Adds the alternative names that the reader accepts.
    let patterns = schema.pointer_mut("/$defs/ProviderConfig/patternProperties");
    if let Some(patterns) = patterns.and_then(Value::as_object_mut) {
        patterns.insert("^(apiKey|api_key)$".to_owned(), named_key());
        patterns.insert("^type$".to_owned(), json!({ "$ref": "#/$defs/Dialect" }));
    }
    let search = schema.pointer_mut("/$defs/GuardedSearch/patternProperties");
    if let Some(patterns) = search.and_then(Value::as_object_mut) {
        patterns.insert("^(apiKey|api_key)$".to_owned(), named_key());
    }
    also(
        &mut schema,
        "Dialect",
        &["openai-compatible", "openai_compatible", "open_ai"],
    );
    let http = ["streamable-http", "streamableHttp", "streamable_http"];
    also(&mut schema, "McpKind", &http);
    let defaults = schema.pointer_mut("/$defs/Settings/properties");
    if let Some(defaults) = defaults.and_then(Value::as_object_mut) {
        defaults.retain(|key, _| !OF_ONE_AGENT.contains(&key.as_str()));
    }
    schema
}

/// Returns the schema of an API key, which must be given as a variable: `${NAME}`.
fn named_key() -> Value {
    json!({
        "type": "string",
        "pattern": r"^\s*\$\{[A-Za-z_][A-Za-z0-9_]*\}\s*$",
        "description": "The environment variable that contains the key, written \"${NAME}\". A key written out is refused.",
    })
}

/// Adds alternative names of a choice to its schema; the types accept these names as aliases.
fn also(schema: &mut Value, choice: &str, names: &[&str]) {
    let choices = schema.pointer_mut(&format!("/$defs/{choice}/oneOf"));
    if let Some(choices) = choices.and_then(Value::as_array_mut) {
        choices.push(json!({ "enum": names, "description": "Other accepted names." }));
    }
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(Spellings);
    settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Changes a schema so that it lists keys in camel case, such as `maxTurns`, and also accepts them
/// in snake case, such as `max_turns`.
#[derive(Debug, Clone)]
struct Spellings;

impl Transform for Spellings {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(object) = schema.as_object_mut() {
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            // Doc comments have line breaks; descriptions in a schema do not.
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            let properties = object.get_mut("properties").and_then(Value::as_object_mut);
            if let Some(properties) = properties {
                let patterns = spell(properties);
                if !patterns.is_empty() {
                    object.insert("patternProperties".to_owned(), Value::Object(patterns));
                }
            }
        }
        transform_subschemas(self, schema);
    }
}

/// Renames properties to camel case, and returns patterns for their names in snake case.
fn spell(properties: &mut Map<String, Value>) -> Map<String, Value> {
    let mut patterns = Map::new();
    let named = std::mem::take(properties).into_iter();
    *properties = named.map(|(name, schema)| (camel(&name), schema)).collect();
    for (name, schema) in &*properties {
        let other = snake(name);
        if other != *name {
            patterns.insert(format!("^{other}$"), schema.clone());
        }
    }
    patterns
}
