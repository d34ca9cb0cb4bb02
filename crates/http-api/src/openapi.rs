//! The OpenAPI document of the API, made from the table of its operations and their types.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::answer::json as in_json;
use crate::call::Call;
use crate::problem::{Details, Problem};
use crate::routes::{BodyKind, Content, Operation, operations};
use crate::{PREFIX, parameters::NoParameters};

pub(crate) async fn serve(call: Call) -> Result<Response<Body>, Problem> {
    let NoParameters {} = call.parameters()?;
    Ok(in_json(StatusCode::OK, &document()))
}

/// Returns the document.
pub(crate) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = SchemaGenerator::new(settings);
    let mut paths = Map::new();
    for operation in operations() {
        let path = format!("{PREFIX}{}", operation.path);
        let described = described(&operation, &mut schemas);
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[operation.verb.name()] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Spillgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Stores oversized results of tools and reads them. docs/http-api.md explains it.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    })
}

fn described(operation: &Operation, schemas: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for (status, content) in operation.answers {
        let description = StatusCode::from_u16(*status).ok();
        let description = description.and_then(|status| status.canonical_reason());
        let mut response = json!({"description": description});
        match content {
            Content::Nothing => {}
            Content::Json(schema) => {
                response["content"] = json!({"application/json": {"schema": schema(schemas)}});
            }
            Content::JsonOrText(schema) => {
                response["content"] = json!({
                    "application/json": {"schema": schema(schemas)},
                    "text/plain": {"schema": {"type": "string"}},
                });
            }
            Content::Bytes => response["content"] = json!({"*/*": {}}),
        }
        responses.insert(status.to_string(), response);
    }
    let problem = schemas.subschema_for::<Details>();
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "Why there is no answer, and whose fault that is",
            "content": {"application/problem+json": {"schema": problem}},
        }),
    );
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": responses,
    });
    if let Some(body) = operation.body {
        let content = match body {
            BodyKind::Json(schema) => json!({"application/json": {"schema": schema(schemas)}}),
            BodyKind::JsonOrBytes(schema) => json!({
                "application/json": {"schema": schema(schemas)},
                "*/*": {},
            }),
        };
        described["requestBody"] = json!({"required": true, "content": content});
    }
    described
}

/// Returns the parameters of an operation: the variable segment of its path, and the members of its
/// parameters' type.
fn parameters(operation: &Operation) -> Vec<Value> {
    let segment = operation.path.split(['{', '}']).nth(1);
    let in_path = segment.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    // The schema is a reference to a definition, which contains the members.
    let mut own = SchemaGenerator::default();
    (operation.parameters)(&mut own);
    let definitions = own.take_definitions(true);
    let of_type = definitions.values().find_map(|schema| {
        let members = schema.get("properties")?.as_object()?;
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.cloned().unwrap_or_default();
        Some((members.clone(), required))
    });
    let (members, required) = of_type.unwrap_or_default();
    let in_query = members.into_iter().map(|(name, mut schema)| {
        let description = schema
            .as_object_mut()
            .and_then(|schema| schema.remove("description"));
        // A parameter is left out, not null.
        if let Some(kind) = schema["type"].as_array().and_then(|kinds| kinds.first()) {
            schema["type"] = kind.clone();
        }
        let is_required = required.iter().any(|one| *one == *name);
        json!({
            "name": name,
            "in": "query",
            "required": is_required,
            "description": description,
            "schema": schema,
        })
    });
    in_path.into_iter().chain(in_query).collect()
}
