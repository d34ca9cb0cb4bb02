//! Tests the outlines of API descriptions and JSON Schemas.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tests::{texts, view_of};

fn shown(text: &str) -> String {
    texts(&of_json(&view_of(text), 0).unwrap().unwrap_or_default())
}

fn shown_yaml(text: &str) -> String {
    let view = view_of(text);
    let plan = SamplePlan::spread(view.source(), 0).unwrap();
    texts(&of_yaml(&view, &plan).unwrap())
}

#[test]
fn an_api() {
    let api = json!({
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1.2", "description": "long ".repeat(100)},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": {
            "/pets": {
                "parameters": [],
                "get": {"operationId": "listPets", "responses": {"200": {"content": {}}}},
                "post": {"summary": "Create a pet"},
            },
            "/pets/{id}": {"get": {}, "x-internal": {"get": 1}},
        },
        "components": {"schemas": {
            "Pet": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "integer", "format": "int64"},
                "description": {"type": ["string", "null"]},
                "state": {"enum": ["new", "sold", "lost", "gone", "back"], "type": "string"},
                "owner": {"$ref": "#/components/schemas/Owner"},
                "place": {"type": "object", "properties": {"row": {"type": "integer"}, "shelf": true}},
            }},
            "Pets": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
            "Either": {"oneOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "string"}]},
        }},
    });
    assert_snapshot!(shown(&api.to_string()), @r#"
    OpenAPI 3.1.0: Pets 1.2; 3 operations; server https://pets.example/v1
    .paths: 2 paths
      ."/pets": get listPets, post Create a pet
      ."/pets/{id}": get
    .components.schemas: 3 schemas (* is required)
      .Either: Pet | string
      .Pet: object {description: string|null, id*: integer int64, owner: Owner, place: object {row, shelf}, state: string new|sold|lost|gone|… 5 values}
      .Pets: array of Pet
    "#);
    let old = json!({"swagger": "2.0", "info": {"title": "Old"}, "basePath": "/v1", "paths": {"/a-b": {"put": {}}}, "definitions": {"A": {"properties": {"a": {"type": "string"}}}}});
    assert_snapshot!(shown(&old.to_string()), @r#"
    OpenAPI 2.0: Old; 1 operation; server /v1
    .paths: 1 path
      ."/a-b": put
    .definitions: 1 schema (* is required)
      .A: object {a: string}
    "#);
}

#[test]
fn an_api_in_yaml() {
    assert_snapshot!(shown_yaml("openapi: \"3.0.3\"\ninfo:\n  title: Pets\n  version: '1.2'\n  description: >\n    paths:\n      /no: x\nservers:\n  - url: https://pets.example/v1\npaths:\n  /pets:\n    get:\n      operationId: listPets\n      parameters:\n        - name: get\n          in: query\n    post:\n      summary: Create\n  '/pets/{id}':\n    get: {}\ncomponents:\n  schemas:\n    Pet:\n      type: object\n      required: [id]\n      properties:\n        id:\n          type: integer\n        name:\n          type: string\n    Error:\n      type: string\n"), @"
    OpenAPI 3.0.3: Pets 1.2; 3 operations; server https://pets.example/v1
    paths: 2 paths
      11: /pets: get listPets, post
      19: /pets/{id}: get
    components.schemas: 2 schemas
      23: Pet: object {id, name}
      31: Error: string
    ");
    assert_eq!(shown_yaml("a: 1\nopenapi: no\n"), "");
}

#[test]
fn a_json_schema() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings",
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "The name"},
            "re-try": {"$ref": "#/$defs/Retry"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "$defs": {"Retry": {"type": "object", "properties": {"times": {"type": "integer"}, "wait": {"type": "number"}}, "required": ["times"]}},
    });
    assert_snapshot!(shown(&schema.to_string()), @r#"
    JSON Schema Settings: object of 3 fields (* is required)
    .properties: 3 fields
      .name*: string
      ."re-try": Retry
      .tags: array of string
    ."$defs": 1 schema
      .Retry: object {times*: integer, wait: number}
    "#);
    for none in [
        json!({"$schema": "https://json.schemastore.org/package.json", "properties": {}}),
        json!({"a": {"openapi": "3.0.0", "paths": {}}}),
        json!({"openapi": "3.0.0"}),
        json!(["$schema", "http://json-schema.org/draft-07/schema#"]),
    ] {
        assert_eq!(shown(&none.to_string()), "", "{none}");
    }
}

proptest! {
    #[test]
    fn any_shape_is_read(values in proptest::collection::vec(0usize..10, 1..20)) {
        // Puts values of unexpected types in the places that the outline reads.
        let odd = [json!(null), json!(true), json!([]), json!({}), json!("x"), json!(1), json!([{"$ref": 1}]), json!({"type": {}}), json!({"properties": []}), json!({"x": {"items": {"oneOf": [null]}}})];
        let at = |at: usize| odd[values[at % values.len()]].clone();
        let api = json!({"openapi": "3.0", "$schema": "http://json-schema.org", "info": at(0), "servers": at(1), "paths": {"/a": at(2), "/b": {"get": at(3)}}, "components": {"schemas": {"A": at(4), "B": {"properties": at(5), "required": at(6), "enum": at(7), "type": at(8), "items": at(9)}}}, "$defs": at(10), "properties": at(11)});
        prop_assert!(!shown(&api.to_string()).is_empty());
        shown(&api.to_string().replacen("openapi", "x", 1));
    }

    #[test]
    fn any_yaml_is_read(text in "(paths:|schemas:|components:|  |get:|'/a':|\"|: |- |\n|[a|>]){0,60}") {
        shown_yaml(&format!("openapi: 3.0.0\n{text}"));
    }
}
