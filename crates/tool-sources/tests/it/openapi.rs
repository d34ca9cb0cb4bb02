//! Tests the tools of OpenAPI documents.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_agent::Host;
use spillgate_tool_sources::{OpenApi, RestTools};
use tempfile::TempDir;

use crate::told;
use crate::web::{Web, client};

const PETS: &str = r##"
openapi: 3.0.3
info: {title: Pets, version: "1"}
servers: [{url: "http://SERVER/{version}/", variables: {version: {default: v1}}}]
paths:
  /pets:
    get:
      operationId: listPets
      summary: All pets
      description: The pets that there are, page by page.
      parameters:
        - {$ref: "#/components/parameters/Limit"}
        - {name: "tags[]", in: query, schema: {type: array, items: {type: string}}}
        - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: X-Key, in: header, schema: {type: string}}
    post:
      operationId: addPet
      requestBody:
        required: true
        description: The pet
        content:
          application/json: {schema: {$ref: "#/components/schemas/Pet"}}
  /pets/{id}/photos/{id}.{kind}:
    parameters:
      - {name: id, in: path, required: true, description: Whose, schema: {type: string}}
    get:
      operationId: photo of/pet
      parameters:
        - {name: kind, in: path, schema: {type: string, enum: [png, jpg]}}
        - {name: id, in: query, schema: {type: integer, minimum: 1, exclusiveMinimum: true, nullable: true}}
    post:
      operationId: upload
      requestBody: {required: true, content: {image/png: {}}}
  /tree/{node}:
    get:
      parameters:
        - {name: node, in: path, schema: {type: string}}
        - {name: under, in: query, content: {application/json: {schema: {$ref: "#/components/schemas/Node"}}}}
components:
  parameters:
    Limit: {name: limit, in: query, description: How many, schema: {type: integer, maximum: 100, example: 5}}
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: {type: string, example: Rex}
        owner: {$ref: "#/components/schemas/Owner"}
    Owner: {type: object, nullable: true, properties: {example: {type: string}, pets: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}
    Node: {type: object, properties: {next: {$ref: "#/components/schemas/Node"}}}
"##;

async fn load(text: &str, more: Value) -> Result<RestTools, String> {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("api.yaml"), text).unwrap();
    let mut value = more;
    value["spec"] = "api.yaml".into();
    let api = OpenApi::from_value("pets", &value).unwrap();
    let loaded = api.load("pets", place.path(), client()).await;
    loaded.map_err(|error| error.to_string())
}

#[tokio::test]
async fn operations_become_tools() {
    let all = json!({"methods": ["GET", "POST"]});
    let host = load(&PETS.replace("SERVER", "h"), all).await.unwrap();
    let shown = |tool: spillgate_llm::ToolSpec| {
        format!("{}: {}\n  {}", tool.name, tool.description, tool.schema)
    };
    let tools: Vec<String> = host.tools().into_iter().map(shown).collect();
    assert_snapshot!(tools.join("\n"), @r#"
    listPets: All pets
    The pets that there are, page by page.
      {"additionalProperties":false,"properties":{"X-Key":{"type":"string"},"ids":{"items":{"type":"integer"},"type":"array"},"limit":{"description":"How many","maximum":100,"type":"integer"},"tags__":{"items":{"type":"string"},"type":"array"}},"required":[],"type":"object"}
    addPet: POST /pets
      {"additionalProperties":false,"properties":{"body":{"description":"The pet","properties":{"name":{"type":"string"},"owner":{"properties":{"example":{"type":"string"},"pets":{"items":{"properties":{"name":{"type":"string"},"owner":{"properties":{"example":{"type":"string"},"pets":{"items":{},"type":"array"}},"type":["object","null"]}},"required":["name"],"type":"object"},"type":"array"}},"type":["object","null"]}},"required":["name"],"type":"object"}},"required":["body"],"type":"object"}
    photo_of_pet: GET /pets/{id}/photos/{id}.{kind}
      {"additionalProperties":false,"properties":{"id":{"description":"Whose","type":"string"},"id_query":{"exclusiveMinimum":1,"type":["integer","null"]},"kind":{"enum":["png","jpg"],"type":"string"}},"required":["id","kind"],"type":"object"}
    get_tree__node_: GET /tree/{node}
      {"additionalProperties":false,"properties":{"node":{"type":"string"},"under":{"properties":{"next":{"properties":{"next":{}},"type":"object"}},"type":"object"}},"required":["node"],"type":"object"}
    "#);
}

#[tokio::test]
async fn operations_are_chosen() {
    let mut all = Vec::new();
    for settings in [
        json!({}),
        json!({"include": ["list*"]}),
        json!({"exclude": ["*Pets"]}),
        json!({"methods": ["POST"]}),
        json!({"methods": ["DELETE"]}),
        json!({"include": ["["]}),
    ] {
        all.push(match load(&PETS.replace("SERVER", "h"), settings).await {
            Ok(host) => {
                let names: Vec<String> = host.tools().into_iter().map(|tool| tool.name).collect();
                names.join(" ")
            }
            Err(error) => error,
        });
    }
    assert_snapshot!(all.join("\n"), @"
    listPets photo_of_pet get_tree__node_
    listPets
    photo_of_pet get_tree__node_
    addPet
    the OpenAPI document api.yaml: /paths: has no operation that `include`, `exclude` and `methods` select
    the OpenAPI document api.yaml: `include`: unclosed character class; missing ']'
    ");
}

#[tokio::test]
async fn operations_are_called() {
    let web = Web::start().await;
    let text = PETS.replace("SERVER", &web.address.to_string());
    let settings =
        json!({"methods": ["GET", "POST"], "headers": {"Authorization": "Bearer ${secret}"}});
    let host = load(&text, settings).await.unwrap();
    let mut all = Vec::new();
    for (tool, arguments) in [
        (
            "listPets",
            json!({"limit": 5, "tags__": ["a b", "c"], "ids": [1, 2], "X-Key": "k"}),
        ),
        ("listPets", json!({"limit": 500})),
        ("listPets", json!({"limits": 5})),
        (
            "addPet",
            json!({"body": {"name": "Rex", "owner": {"pets": []}}}),
        ),
        ("addPet", json!({"body": {}})),
        ("addPet", json!({})),
        (
            "photo_of_pet",
            json!({"id": "../x", "kind": "png", "id_query": 2}),
        ),
        ("photo_of_pet", json!({"id": "x", "kind": "gif"})),
        (
            "photo_of_pet",
            json!({"id": "x", "kind": "png", "id_query": 1}),
        ),
        (
            "get_tree__node_",
            json!({"node": "a", "under": {"next": {"next": {}}}}),
        ),
    ] {
        let told = told(&host, tool, &arguments.to_string()).await;
        all.push(web.masked(&told));
    }
    assert_snapshot!(all.join("\n"), @r#"
    GET /v1/pets?ids=1%2C2&limit=5&tags%5B%5D=a+b&tags%5B%5D=c
    authorization: Bearer ${secret}
    x-key: k
    ERROR The arguments do not fit the tool's schema: /limit: 500 is greater than the maximum of 100
    ERROR The arguments do not fit the tool's schema: Additional properties are not allowed ('limits' was unexpected)
    POST /v1/pets
    authorization: Bearer ${secret}
    content-type: application/json
    {"name":"Rex","owner":{"pets":[]}}
    ERROR The arguments do not fit the tool's schema: /body: "name" is a required property
    ERROR The arguments do not fit the tool's schema: "body" is a required property
    GET /v1/pets/..%2Fx/photos/..%2Fx.png?id=2
    authorization: Bearer ${secret}
    ERROR The arguments do not fit the tool's schema: /kind: "gif" is not one of "png" or "jpg"
    ERROR The arguments do not fit the tool's schema: /id_query: 1 is less than or equal to the minimum of 1
    GET /v1/tree/a?under=%7B%22next%22%3A%7B%22next%22%3A%7B%7D%7D%7D
    authorization: Bearer ${secret}
    "#);
}

#[tokio::test]
async fn broken_documents_are_told() {
    let start = "openapi: 3.1.0\nservers: [{url: http://h}]\npaths:\n  /a/{b}:\n    get:\n      ";
    let mut all = Vec::new();
    for text in [
        "",
        "a: [",
        "{\"openapi\": ",
        "just text",
        "swagger: '2.0'",
        "openapi: 4.0.0",
        "openapi: 3.0.0\npaths: {}",
        "openapi: 3.0.0\nservers: [{url: /v1}]\npaths: {}",
        "openapi: 3.0.0\nservers: [{url: 'http://{h}/', variables: {h: {}}}]\npaths: {}",
        "openapi: 3.0.0\nservers: [{url: 'ftp://h/'}]\npaths: {/a: {get: {}}}",
        &format!("{start}operationId: x"),
        &format!("{start}parameters: [{{name: b}}]"),
        &format!("{start}parameters: [{{name: b, in: path}}, {{name: c, in: body}}]"),
        &format!("{start}parameters: [{{$ref: '#/components/parameters/B'}}]"),
        &format!("{start}parameters: [{{$ref: 'other.yaml#/b'}}]"),
        &format!("{start}parameters: [{{name: b, in: path, schema: {{$ref: '#/x~1y'}}}}]"),
        &format!("{start}parameters: [{{$ref: '#/paths/~1a~1%7Bb%7D/get/parameters/0'}}]"),
    ] {
        let error = load(text, json!({})).await.unwrap_err();
        all.push(error);
    }
    assert_snapshot!(all.join("\n"), @r##"
    the OpenAPI document api.yaml: has no `openapi`: it is no OpenAPI document
    the OpenAPI document api.yaml: error: line 1 column 4: unclosed bracket '['
    the OpenAPI document api.yaml: EOF while parsing a value at line 1 column 12
    the OpenAPI document api.yaml: has no `openapi`: it is no OpenAPI document
    the OpenAPI document api.yaml: /swagger: the document is of Swagger 2.0; convert it to OpenAPI 3
    the OpenAPI document api.yaml: /openapi: is "4.0.0"; only 3.0 and 3.1 are supported
    the OpenAPI document api.yaml: /servers: names no server with an address; set `baseUrl`
    the OpenAPI document api.yaml: /servers/0: "/v1" is not a complete URL; set `baseUrl`
    the OpenAPI document api.yaml: /servers/0/variables/h: has no `default`
    the OpenAPI document api.yaml: /servers: "ftp://h/" must begin with http:// or https:// and a host
    the OpenAPI document api.yaml: /paths/~1a~1{b}/get: the path has `{b}`, and no parameter of that name is `in: path`
    the OpenAPI document api.yaml: /paths/~1a~1{b}/get/parameters/0: has no `in`
    the OpenAPI document api.yaml: /paths/~1a~1{b}/get/parameters/1: `in` is "body"
    the OpenAPI document api.yaml: /paths/~1a~1{b}/get/parameters/0: refers to "#/components/parameters/B", which does not exist
    the OpenAPI document api.yaml: /paths/~1a~1{b}/get/parameters/0: refers to "other.yaml#/b": only references within the document are followed
    the OpenAPI document api.yaml: /paths/~1a~1{b}/get/parameters/0/schema: refers to "#/x~1y", which does not exist
    the OpenAPI document api.yaml: /paths/~1a~1{b}/get/parameters/0: its references form a cycle
    "##);
}

#[tokio::test]
async fn a_bomb_stays_small() {
    let mut text = "openapi: 3.1.0\nservers: [{url: http://h}]\npaths: {/a: {get: {operationId: a, parameters: [{name: b, in: query, schema: {$ref: '#/s/0'}}]}}}\ns:\n".to_owned();
    for level in 0..30 {
        let next = format!("{{$ref: '#/s/{}'}}", level + 1);
        text += &format!("  '{level}': {{anyOf: [{next}, {next}, {next}, {next}]}}\n");
    }
    text += "  '30': {type: string}\n";
    let host = load(&text, json!({})).await.unwrap();
    assert!(host.tools()[0].schema.to_string().len() < 100_000);
    let aliases = "openapi: 3.1.0\na: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned()
        + "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
        + "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
        + "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
        + "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
        + "f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
        + "g: [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n";
    let error = load(&aliases, json!({})).await.unwrap_err();
    assert_snapshot!(error, @"the OpenAPI document api.yaml: error: line 7 column 36: budget breached: RecordedAnchorEvents { recorded_anchor_events: 1000001 }: the document is too large to be read as YAML; use its JSON form");
}

fn sizes(host: &RestTools) -> Vec<usize> {
    let tools = host.tools().into_iter();
    tools.map(|tool| tool.schema.to_string().len()).collect()
}

/// Returns a document with `count` operations, each of which has a parameter with the schema
/// `#/s/0`.
fn operations(count: usize, schemas: &str) -> String {
    let mut text = "openapi: 3.1.0\nservers: [{url: http://h}]\npaths:\n".to_owned();
    for number in 0..count {
        text += &format!(
            "  /a{number}: {{get: {{operationId: a{number}, parameters: [{{name: b, in: query, schema: {{$ref: '#/s/0'}}}}]}}}}\n"
        );
    }
    text + "s:\n" + schemas
}

#[tokio::test]
async fn a_schema_that_is_cut_is_valid() {
    let mut deep = String::new();
    for level in 0..40 {
        let next = format!("{{$ref: '#/s/{}'}}", level + 1);
        deep += &format!(
            "  '{level}': {{type: object, description: level, required: [a], properties: {{a: {next}}}}}\n"
        );
    }
    let deep = operations(1, &(deep + "  '40': {type: string}\n"));
    let mut wide = String::new();
    for level in 0..4 {
        wide += &format!("  '{level}': {{type: object, properties: {{");
        for other in 0..4 {
            wide += &format!("r{other}: {{$ref: '#/s/{other}'}}, ");
        }
        for text in 0..10 {
            wide += &format!("t{text}: {{type: string, description: a text, enum: [a, b]}}, ");
        }
        wide += "}, not: {$ref: '#/s/0'}, oneOf: [{$ref: '#/s/1'}, {$ref: '#/s/2'}]}\n";
    }
    for text in [deep, operations(1, &wide)] {
        let host = load(&text, json!({})).await.unwrap();
        let schema = host.tools().remove(0).schema;
        assert!(jsonschema::meta::is_valid(&schema), "{schema:.2000}");
        assert!(!schema.to_string().contains("\"not\":{}"));
    }
}

#[tokio::test]
async fn schemas_have_so_many_bytes() {
    let text = "x".repeat(20_000);
    let mut all = String::new();
    let leaf = ["description", "title", "default", "const"].map(|name| format!("{name}: {text}"));
    for (number, leaf) in leaf.iter().enumerate() {
        all += &format!("  '{}': {{type: string, {leaf}}}\n", number + 1);
    }
    all += "  '0': {type: object, properties: {";
    for number in 0..200 {
        all += &format!("p{number}: {{$ref: '#/s/{}'}}, ", number % 4 + 1);
    }
    all += "}}\n";
    let host = load(&operations(200, &all), json!({})).await.unwrap();
    let sizes = sizes(&host);
    let (largest, sum) = (sizes.iter().max().unwrap(), sizes.iter().sum::<usize>());
    assert!(*largest < 100_000, "{largest}");
    assert!(sum < 10_000_000, "{sum}");
}

#[tokio::test]
async fn too_many_operations_are_refused_before_any_is_made() {
    // Each operation is invalid. The error says only that there are too many, which shows that none
    // was examined.
    let error = load(&operations(501, "  '1': {}\n"), json!({}))
        .await
        .unwrap_err();
    assert_snapshot!(error, @"the OpenAPI document api.yaml: /paths: 501 operations would be tools; name those that are needed in `include` (500 at most)");
}

#[tokio::test]
async fn a_large_document_in_yaml() {
    let text =
        operations(1, "  '0': {type: string}\n") + "x-more: [" + &"1,".repeat(300_000) + "]\n";
    load(&text, json!({})).await.unwrap();
}

#[tokio::test]
async fn a_body_has_the_type_that_the_document_says() {
    let web = Web::start().await;
    let text = format!(
        "openapi: 3.1.0\nservers: [{{url: 'http://{}'}}]\npaths: {{/a: {{patch: {{operationId: a, requestBody: {{content: {{application/merge-patch+json: {{}}}}}}}}}}}}\n",
        web.address
    );
    let host = load(&text, json!({"methods": ["PATCH"]})).await.unwrap();
    assert_snapshot!(told(&host, "a", r#"{"body": {"x": 1}}"#).await, @r#"
    PATCH /a
    content-type: application/merge-patch+json
    {"x":1}
    "#);
}

#[tokio::test]
async fn no_name_is_given_twice() {
    let paths = ["a", "a", "a_2", "a"].iter().enumerate();
    let paths: Vec<String> = paths
        .map(|(number, id)| format!("/p{number}: {{get: {{operationId: {id}}}}}"))
        .collect();
    let text = format!(
        "openapi: 3.1.0\nservers: [{{url: http://h}}]\npaths: {{{}}}\n",
        paths.join(", ")
    );
    let host = load(&text, json!({})).await.unwrap();
    let names: Vec<String> = host.tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["a", "a_2", "a_2_2", "a_3"]);
}

#[tokio::test]
async fn secrets_of_settings_are_not_told() {
    let place = TempDir::new().unwrap();
    let text = operations(1, "  '0': {}\n");
    fs::write(place.path().join("api.yaml"), text).unwrap();
    for value in [
        json!({"spec": "http://u:secret@127.0.0.1:1/secret?k=secret"}),
        json!({"spec": "api.yaml", "baseUrl": "secret"}),
        json!({"spec": "api.yaml", "baseUrl": "ftp://u:secret@h/secret"}),
        json!({"spec": "api.yaml", "include": ["secret["]}),
        json!({"spec": "api.yaml", "exclude": ["secret["]}),
    ] {
        let api = OpenApi::from_value("pets", &value).unwrap();
        let error = api.load("pets", place.path(), client()).await.unwrap_err();
        let told = format!("{error} {error:?} {api:?}");
        assert!(!told.contains("secret"), "{told}");
    }
}

#[tokio::test]
async fn a_document_that_is_not_there() {
    let place = TempDir::new().unwrap();
    let web = Web::start().await;
    let mut all = Vec::new();
    for spec in [
        "gone.yaml".to_owned(),
        format!("http://{}/missing?key=secret", web.address),
    ] {
        let api = OpenApi::from_value("pets", &json!({"spec": spec})).unwrap();
        let error = api.load("pets", place.path(), client()).await.unwrap_err();
        all.push(web.masked(&error.to_string()));
    }
    assert_snapshot!(all.join("\n"), @"
    the OpenAPI document gone.yaml: No such file or directory (os error 2)
    the OpenAPI document http://HOST: GET HOST answered with HTTP 404 Not Found
    ");
}
