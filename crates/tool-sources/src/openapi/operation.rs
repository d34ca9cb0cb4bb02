//! Builds a tool from an operation.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Map, Value, json};
use spillgate_llm::ToolSpec;
use spillgate_text::clip;

use super::document::{Document, Located};
use super::schema::Schemas;
use super::{DocumentError, OpenApi, OperationFilter};
use crate::names::fitting;
use crate::rest::{BodyForm, Plan, PlanBody, Template, Verb, escaped};

/// Maximum number of tools of one document. A model can hardly choose among more.
const MOST_TOOLS: usize = 500;

/// Maximum size of all schemas of one document, and of those of one operation, in bytes. There is a
/// limit because a model reads all of them. A schema that exceeds it is replaced by one that allows
/// anything.
const MOST_BYTES: usize = 8 << 20;
const MOST_OF_ONE: usize = 64 << 10;

/// Maximum length of a description, in characters.
pub(super) const LONGEST: usize = 1500;

/// Headers that OpenAPI parameters cannot set.
const NOT_PARAMETERS: [&str; 3] = ["accept", "authorization", "content-type"];

const METHODS: [(&str, Verb); 5] = [
    ("get", Verb::Get),
    ("post", Verb::Post),
    ("put", Verb::Put),
    ("patch", Verb::Patch),
    ("delete", Verb::Delete),
];

/// Tools, each with the plan of its requests.
pub(crate) type Tools = Vec<(ToolSpec, Plan)>;

/// Returns the tools of a document. `address` is the document's URL, if known.
pub(crate) fn tools(
    api: &OpenApi,
    filter: &OperationFilter,
    document: &Document,
    address: Option<&Url>,
) -> Result<Tools, DocumentError> {
    let base = base(api, document, address)?;
    let operations = operations(filter, document)?;
    if operations.len() > MOST_TOOLS {
        let many = operations.len();
        let what = format!(
            "{many} operations would be tools; name those that are needed in `include` ({MOST_TOOLS} at most)"
        );
        return Err(DocumentError::new("/paths", what));
    }
    let (mut left, mut made) = (MOST_BYTES, Tools::new());
    let mut given = BTreeSet::new();
    for (name, item, operation) in operations {
        let Some((mut spec, plan)) = operation.tool(api, &item, &base, &mut left)? else {
            continue;
        };
        spec.name = unused(&fitting(&name), &given);
        given.insert(spec.name.clone());
        made.push((spec, plan));
    }
    match made.len() {
        0 => Err(DocumentError::new(
            "/paths",
            "has no operation that `include`, `exclude` and `methods` select",
        )),
        _ => Ok(made),
    }
}

/// Returns the selected operations, each with its name and its path item.
fn operations<'a>(
    filter: &OperationFilter,
    document: &'a Document,
) -> Result<Vec<(String, Located<'a>, Operation<'a>)>, DocumentError> {
    let mut operations = Vec::new();
    let paths = document.root().get("paths");
    for (path, item) in paths.iter().flat_map(Located::members) {
        let item = document.resolved(item)?;
        for (method, verb) in METHODS {
            let Some(at) = item.get(method) else { continue };
            let own = at.text("operationId").map(str::to_owned);
            let name = own.unwrap_or_else(|| format!("{method}_{}", path.trim_matches('/')));
            if filter.has(verb, &name) {
                let operation = Operation {
                    document,
                    at,
                    path,
                    verb,
                };
                operations.push((name, item.clone(), operation));
            }
        }
    }
    Ok(operations)
}

/// Returns `name`, or a similar name that no tool has yet.
fn unused(name: &str, given: &BTreeSet<String>) -> String {
    let clipped: String = name.chars().take(60).collect();
    let numbered = (2..).map(|n: u32| fitting(&format!("{clipped}_{n}")));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    all.find(|name| !given.contains(name))
        .expect("invariant: there are more numbers than names")
}

/// Returns the base URL of requests.
fn base(
    api: &OpenApi,
    document: &Document,
    address: Option<&Url>,
) -> Result<String, DocumentError> {
    if let Some(base) = &api.base_url {
        return Ok(base.clone());
    }
    let missing = || {
        let what = "names no server with an address; set `baseUrl`";
        DocumentError::new("/servers", what)
    };
    let servers = document.root().get("servers").ok_or_else(missing)?;
    let server = servers.elements().next().ok_or_else(missing)?;
    let mut url = server.text("url").ok_or_else(missing)?.to_owned();
    let variables = server.get("variables");
    for (name, variable) in variables.iter().flat_map(Located::members) {
        let default = variable.text("default");
        let default = default.ok_or_else(|| variable.broken("has no `default`"))?;
        url = url.replace(&format!("{{{name}}}"), default);
    }
    let whole = Url::parse(&url).ok();
    let whole = whole.or_else(|| address.and_then(|address| address.join(&url).ok()));
    let whole = whole.ok_or_else(|| {
        let what = format!("{url:?} is not a complete URL; set `baseUrl`");
        server.broken(what)
    })?;
    Ok(whole.to_string())
}

struct Operation<'a> {
    document: &'a Document,
    at: Located<'a>,
    path: &'a str,
    verb: Verb,
}

/// A parameter of an operation, and the name of the tool's argument for it.
struct Parameter<'a> {
    at: Located<'a>,
    name: &'a str,
    place: &'a str,
    argument: String,
    is_required: bool,
}

impl<'a> Operation<'a> {
    /// Returns the tool; `None` if the operation needs something that we cannot send.
    fn tool(
        &self,
        api: &OpenApi,
        item: &Located<'a>,
        base: &str,
        left: &mut usize,
    ) -> Result<Option<(ToolSpec, Plan)>, DocumentError> {
        let mut parameters = self.parameters(item)?;
        // Cookies belong to browsers and are not sent. An operation that requires one is left out.
        if parameters
            .iter()
            .any(|one| one.place == "cookie" && one.is_required)
        {
            return Ok(None);
        }
        parameters.retain(|one| one.place != "cookie");
        let mut schemas = Schemas::new(self.document, MOST_OF_ONE.min(*left));
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for one in &parameters {
            let schema = one.schema(&mut schemas)?;
            properties.insert(one.argument.clone(), schema);
            if one.is_required {
                required.push(one.argument.clone());
            }
        }
        let mut content_type = None;
        let body = match self.body(&mut schemas)? {
            RequestBody::Nothing => None,
            RequestBody::Unusable => return Ok(None),
            RequestBody::Body {
                schema,
                form,
                kind,
                is_required,
            } => {
                content_type = kind;
                let name = free("body", &properties);
                properties.insert(name.clone(), schema);
                if is_required {
                    required.push(name.clone());
                }
                Some(PlanBody::Argument(name, form))
            }
        };
        *left = left.saturating_sub(schemas.taken());
        let schema = of_arguments(&properties, &required);
        let mut plan = self.plan(api, base, &schema)?;
        self.place(&mut plan, &parameters)?;
        plan.body = body;
        self.say_type(&mut plan, content_type)?;
        let spec = ToolSpec {
            name: String::new(),
            description: self.description(),
            schema,
        };
        Ok(Some((spec, plan)))
    }

    fn description(&self) -> String {
        let summary = self.at.text("summary").unwrap_or_default().trim();
        let description = self.at.text("description").unwrap_or_default().trim();
        let whole = match (summary.is_empty(), description.is_empty()) {
            (false, false) if !description.starts_with(summary) => {
                format!("{summary}\n{description}")
            }
            (false, true) => summary.to_owned(),
            (true, true) => format!("{} {}", self.verb.name(), self.path),
            _ => description.to_owned(),
        };
        clip(&whole, LONGEST)
    }

    /// Returns the parameters of the operation and of its path. If both define a parameter, the
    /// operation's definition is used.
    fn parameters(&self, item: &Located<'a>) -> Result<Vec<Parameter<'a>>, DocumentError> {
        let lists = [item.get("parameters"), self.at.get("parameters")];
        let mut found: Vec<Parameter<'a>> = Vec::new();
        for at in lists.iter().flatten().flat_map(Located::elements) {
            let at = self.document.resolved(at)?;
            let text = |name: &str| {
                at.text(name)
                    .ok_or_else(|| at.broken(format!("has no `{name}`")))
            };
            let (name, place) = (text("name")?, text("in")?);
            found.retain(|one| (one.name, one.place) != (name, place));
            let lower = name.to_ascii_lowercase();
            if place == "header" && NOT_PARAMETERS.contains(&lower.as_str()) {
                continue;
            }
            let is_required = at.value["required"] == true || place == "path";
            let argument = String::new();
            found.push(Parameter {
                at,
                name,
                place,
                argument,
                is_required,
            });
        }
        let mut taken = Map::new();
        for one in &mut found {
            let plain = fitting(one.name);
            one.argument = match taken.contains_key(&plain) {
                false => plain,
                true => free(&format!("{plain}_{}", one.place), &taken),
            };
            taken.insert(one.argument.clone(), Value::Null);
        }
        Ok(found)
    }

    fn body(&self, schemas: &mut Schemas<'a>) -> Result<RequestBody, DocumentError> {
        let Some(body) = self.at.get("requestBody") else {
            return Ok(RequestBody::Nothing);
        };
        let body = self.document.resolved(body)?;
        let is_required = body.value["required"] == true;
        let content = body.get("content");
        let kinds = || content.iter().flat_map(Located::members);
        let essence = |kind: &str| {
            kind.split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase()
        };
        let is_json =
            |kind: &str| essence(kind) == "application/json" || essence(kind).ends_with("+json");
        let is_form = |kind: &str| essence(kind) == "application/x-www-form-urlencoded";
        let json = kinds().find(|(kind, _)| is_json(kind));
        let json = json.map(|(kind, media)| (kind, media, BodyForm::Json));
        let form = || kinds().find(|(kind, _)| is_form(kind));
        let chosen = json.or_else(|| form().map(|(kind, media)| (kind, media, BodyForm::Form)));
        let Some((kind, media, form)) = chosen else {
            // Bodies in other formats are mostly file uploads, which a model cannot write. An
            // operation with an optional body still becomes a tool.
            return Ok(match is_required {
                true => RequestBody::Unusable,
                false => RequestBody::Nothing,
            });
        };
        let mut schema = match media.get("schema") {
            Some(schema) => schemas.whole(&schema)?,
            None => json!({}),
        };
        describe(&mut schema, body.text("description"));
        Ok(RequestBody::Body {
            schema,
            form,
            // The type is kept, because an operation such as a patch may accept only one JSON type.
            kind: Some(essence(kind)).filter(|kind| kind.ends_with("+json")),
            is_required,
        })
    }

    /// Returns the plan of the requests. Its caller adds the positions of the arguments.
    fn plan(&self, api: &OpenApi, base: &str, schema: &Value) -> Result<Plan, DocumentError> {
        let at_all = json!({"type": "object", "required": schema["required"]});
        // A schema may contain patterns that only JavaScript can evaluate. The arguments are then
        // not checked here, but by the server.
        let url = escaped(base);
        let plan = Plan::to(self.verb, &url, schema);
        let plan = plan.or_else(|_| Plan::to(self.verb, &url, &at_all));
        let mut plan = plan.map_err(|(_, what)| match &api.base_url {
            // The URL is not shown, because it may contain a secret.
            Some(_) => DocumentError::new("", format!("`baseUrl` {what}")),
            None => DocumentError::new("/servers", format!("{base:?} {what}")),
        })?;
        for (name, value) in &api.headers {
            let added = plan.header(name, Template::text(value));
            added.map_err(|what| DocumentError::new("", format!("`headers.{name}` {what}")))?;
        }
        if let Some(seconds) = api.timeout_s {
            plan.timeout = Duration::from_secs(seconds.max(1).into());
        }
        Ok(plan)
    }

    /// Sets the content type of the body, unless the settings contain it.
    fn say_type(&self, plan: &mut Plan, kind: Option<String>) -> Result<(), DocumentError> {
        let is_said = plan.headers.iter().any(|(name, _)| name == "content-type");
        let Some(kind) = kind.filter(|_| !is_said) else {
            return Ok(());
        };
        let added = plan.header("content-type", Template::text(&kind));
        added.map_err(|what| self.at.broken(what))
    }

    /// Puts each parameter into its position in the request.
    fn place(&self, plan: &mut Plan, parameters: &[Parameter<'_>]) -> Result<(), DocumentError> {
        if plan
            .path
            .last()
            .is_some_and(|last| *last == Template::default())
        {
            plan.path.pop();
        }
        for segment in self.path.trim_start_matches('/').split('/') {
            plan.path.push(self.segment(segment, parameters)?);
        }
        for one in parameters {
            let argument = Template::argument(&one.argument);
            match one.place {
                "query" if one.at.value["explode"] == false => {
                    let name = crate::rest::encoded(one.name);
                    plan.pairs
                        .push(Template::text(&format!("{name}=")).then(argument));
                }
                "query" => plan.query.push((one.name.to_owned(), one.argument.clone())),
                "header" => plan
                    .header(one.name, argument)
                    .map_err(|what| one.at.broken(what))?,
                "path" => {}
                other => return Err(one.at.broken(format!("`in` is {other:?}"))),
            }
        }
        Ok(())
    }

    /// Returns the template of a path segment such as `{id}.json`, with arguments for the names in
    /// braces.
    fn segment(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<Template, DocumentError> {
        let (mut segment, mut rest) = (Template::default(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            let mut of_path = parameters.iter().filter(|one| one.place == "path");
            let Some(one) = of_path.find(|one| one.name == name) else {
                let what = format!(
                    "the path has `{{{name}}}`, and no parameter of that name is `in: path`"
                );
                return Err(self.at.broken(what));
            };
            if !before.is_empty() {
                segment = segment.then(Template::text(before));
            }
            segment = segment.then(Template::argument(&one.argument));
            rest = after;
        }
        Ok(match rest {
            "" => segment,
            rest => segment.then(Template::text(rest)),
        })
    }
}

fn of_arguments(properties: &Map<String, Value>, required: &[String]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The body of a request.
enum RequestBody {
    Nothing,
    /// A body in a format that a model cannot write.
    Unusable,
    Body {
        schema: Value,
        form: BodyForm,
        /// The media type, if it is not the usual one for `form`.
        kind: Option<String>,
        is_required: bool,
    },
}

impl<'a> Parameter<'a> {
    fn schema(&self, schemas: &mut Schemas<'a>) -> Result<Value, DocumentError> {
        let content = self.at.get("content");
        let of_content = content.and_then(|content| content.members().next()?.1.get("schema"));
        let schema = self.at.get("schema").or(of_content);
        let mut schema = match schema {
            Some(schema) => schemas.whole(&schema)?,
            None => json!({"type": "string"}),
        };
        describe(&mut schema, self.at.text("description"));
        Ok(schema)
    }
}

/// Sets the description that was given where the schema is used. It takes precedence over the
/// schema's own description.
fn describe(schema: &mut Value, text: Option<&str>) {
    if let (Some(members), Some(text)) = (schema.as_object_mut(), text) {
        members.insert("description".to_owned(), clip(text.trim(), LONGEST).into());
    }
}

/// Returns `name`, or a similar name that is not taken.
fn free(name: &str, taken: &Map<String, Value>) -> String {
    let mut name = name.to_owned();
    while taken.contains_key(&name) {
        name.push('_');
    }
    name
}
