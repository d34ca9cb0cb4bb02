//! The parts of a REST tool's requests (method, URL, headers, body), as its description defines
//! them.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jsonschema::{PatternOptions, Validator};
use reqwest::Url;
use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::template::{self, Template};
use super::{BodyForm, DEFAULT_TIMEOUT, MOST_BYTES, ResponseLimits, RestTool, Verb};

/// Headers that a tool must not set, because the connection sets them.
const NOT_OURS: [&str; 6] = [
    "connection",
    "content-length",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// What is wrong with a description: the name of the member, and the problem.
pub(crate) type DescriptionFault = (String, String);

/// The plan of a tool's requests. Its debug output leaves out possible secrets.
pub(crate) struct Plan {
    pub(crate) verb: Verb,
    /// Scheme, host and port.
    pub(crate) origin: Url,
    /// The path, split at its slashes.
    pub(crate) path: Vec<Template>,
    /// The query, split at `&`. A part is omitted if its argument is missing.
    pub(crate) pairs: Vec<Template>,
    pub(crate) headers: Vec<(HeaderName, Template)>,
    /// Names in the query, each with the argument that is its value.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Option<Body>,
    /// Where to put arguments that have no position of their own.
    pub(crate) rest: Remainder,
    pub(crate) schema: Validator,
    pub(crate) timeout: Duration,
    pub(crate) most_bytes: u64,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("verb", &self.verb)
            .field("host", &self.origin.host_str())
            .finish_non_exhaustive()
    }
}

/// A body that contains arguments.
#[derive(Debug)]
pub(crate) enum Body {
    /// JSON in which a string that is a placeholder stands for the argument.
    Template(Value),
    /// One argument, which is the whole body.
    Argument(String, BodyForm),
}

/// Where to put arguments that have no position of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remainder {
    /// The arguments are put into the query.
    Query,
    /// The arguments are put into the body.
    Body(BodyForm),
    /// There are no such arguments.
    Nowhere,
}

impl Plan {
    /// Creates the plan for a description.
    pub(crate) fn of(tool: &RestTool) -> Result<Self, DescriptionFault> {
        let has_body = !matches!(tool.method, Verb::Get | Verb::Delete);
        let rest = match (has_body, tool.body, &tool.body_template) {
            (_, Some(_), Some(_)) => {
                let what = "cannot be combined with `body`, because a request has one body";
                return Err(wrong("bodyTemplate", what));
            }
            (false, None, None) => Remainder::Query,
            (_, None, Some(_)) => Remainder::Nowhere,
            (_, form, None) => Remainder::Body(form.unwrap_or_default()),
        };
        let mut plan = Self::to(tool.method, &tool.url, &tool.parameters_schema).map_err(
            |(member, what)| match &*member {
                "schema" => wrong("parametersSchema", &what),
                _ => (member, what),
            },
        )?;
        for (name, value) in &tool.headers {
            let member = || format!("headers.{name}");
            let value = Template::new(value).map_err(|what| (member(), what))?;
            plan.header(name, value).map_err(|what| (member(), what))?;
        }
        plan.query = tool
            .query
            .iter()
            .map(|one| (one.clone(), one.clone()))
            .collect();
        if let Some(body) = &tool.body_template {
            let body = body_template(body).map_err(|what| wrong("bodyTemplate", &what))?;
            plan.body = Some(Body::Template(body));
        }
        plan.rest = rest;
        plan.timeout = match tool.timeout_s {
            Some(0) => return Err(wrong("timeoutS", "must be at least 1")),
            Some(seconds) => Duration::from_secs(seconds.into()),
            None => DEFAULT_TIMEOUT,
        };
        plan.most_bytes = tool.max_response_bytes.unwrap_or(MOST_BYTES);
        plan.check_names(&tool.parameters_schema)?;
        Ok(plan)
    }

    /// Creates a plan for requests to `url` with arguments that match `schema`.
    pub(crate) fn to(verb: Verb, url: &str, schema: &Value) -> Result<Self, DescriptionFault> {
        let in_url = |what: String| ("url".to_owned(), what);
        let (origin, path, query) = parts(url).map_err(in_url)?;
        let pairs = match query {
            None | Some("") => Vec::new(),
            Some(query) => Template::new(query).map_err(in_url)?.split('&'),
        };
        Ok(Self {
            verb,
            origin,
            path: Template::new(path).map_err(in_url)?.split('/'),
            pairs,
            headers: Vec::new(),
            query: Vec::new(),
            body: None,
            rest: Remainder::Nowhere,
            schema: validator(schema).map_err(|what| wrong("schema", &what))?,
            timeout: DEFAULT_TIMEOUT,
            most_bytes: MOST_BYTES,
        })
    }

    /// Adds a header.
    pub(crate) fn header(&mut self, name: &str, value: Template) -> Result<(), String> {
        let header = HeaderName::try_from(name);
        let header = header.map_err(|_| format!("{name:?} is not the name of a header"))?;
        if NOT_OURS.contains(&header.as_str()) {
            return Err("is set by the connection: leave it out".to_owned());
        }
        self.headers.push((header, value));
        Ok(())
    }

    /// Returns the arguments that have a position of their own, except those in a body template.
    pub(crate) fn placed(&self) -> BTreeSet<&str> {
        let templates = self.path.iter().chain(&self.pairs);
        let templates = templates.chain(self.headers.iter().map(|(_, value)| value));
        let mut placed: BTreeSet<&str> = templates.flat_map(Template::arguments).collect();
        placed.extend(self.query.iter().map(|(_, argument)| argument.as_str()));
        match &self.body {
            Some(Body::Argument(name, _)) => drop(placed.insert(name)),
            Some(Body::Template(_)) | None => {}
        }
        placed
    }

    pub(crate) fn response_limits(&self) -> ResponseLimits {
        ResponseLimits {
            timeout: self.timeout,
            most_bytes: self.most_bytes,
        }
    }

    /// Rejects a placeholder that no argument can fill, because it must be a mistake.
    fn check_names(&self, schema: &Value) -> Result<(), DescriptionFault> {
        let Some(known) = schema["properties"].as_object() else {
            return Ok(());
        };
        let body = match &self.body {
            Some(Body::Template(body)) => arguments_in(body),
            _ => BTreeSet::new(),
        };
        let placed = self.placed();
        let mut all = placed.into_iter().chain(body.iter().map(String::as_str));
        match all.find(|name| !known.contains_key(*name)) {
            None => Ok(()),
            Some(name) => Err(wrong(
                "parametersSchema",
                &format!("has no property `{name}`, which a placeholder needs"),
            )),
        }
    }
}

fn wrong(member: &str, what: &str) -> DescriptionFault {
    (member.to_owned(), what.to_owned())
}

/// Returns the origin of a URL, its path, and its query.
fn parts(url: &str) -> Result<(Url, &str, Option<&str>), String> {
    let url = url.split('#').next().unwrap_or_default();
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (url, None),
    };
    let host_at = before.find("://").map(|at| at + 3);
    let path_at = host_at.and_then(|at| before[at..].find('/').map(|more| at + more));
    let (origin, path) = before.split_at(path_at.unwrap_or(before.len()));
    let origin = template::unescaped(origin);
    if origin.contains("${") {
        return Err(
            "has a placeholder before its path, but a model must not choose the server".to_owned(),
        );
    }
    let origin = Url::parse(&origin).map_err(|error| format!("is not a URL: {error}"))?;
    match (origin.scheme(), origin.host_str()) {
        ("http" | "https", Some(_)) => Ok((origin, path.strip_prefix('/').unwrap_or(path), query)),
        _ => Err("must begin with http:// or https:// and a host".to_owned()),
    }
}

/// Returns a validator of arguments. It does not fetch anything, and its patterns take linear time.
fn validator(schema: &Value) -> Result<Validator, String> {
    if !schema.is_object() {
        return Err("must be a JSON Schema of an object".to_owned());
    }
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| error.to_string())
}

/// Parses a body as JSON in which each string that is a placeholder stands for an argument.
fn body_template(body: &Value) -> Result<Value, String> {
    let Value::String(text) = body else {
        check_templates(body)?;
        return Ok(body.clone());
    };
    let quoted = template::replaced(text, |name| {
        json!(format!("${{parameters.{name}}}")).to_string()
    });
    let parsed = serde_json::from_str(text).or_else(|_| serde_json::from_str(&quoted));
    let parsed: Value =
        parsed.map_err(|_| "is not JSON with placeholders in place of values".to_owned())?;
    check_templates(&parsed)?;
    Ok(parsed)
}

fn check_templates(body: &Value) -> Result<(), String> {
    match body {
        Value::String(text) => Template::new(text).map(drop),
        Value::Array(all) => all.iter().try_for_each(check_templates),
        Value::Object(all) => all.values().try_for_each(check_templates),
        _ => Ok(()),
    }
}

/// Returns the names of the arguments in a body template.
pub(crate) fn arguments_in(body: &Value) -> BTreeSet<String> {
    match body {
        Value::String(text) => {
            let template = Template::new(text).unwrap_or_default();
            template.arguments().map(str::to_owned).collect()
        }
        Value::Array(all) => all.iter().flat_map(arguments_in).collect(),
        Value::Object(all) => all.values().flat_map(arguments_in).collect(),
        _ => BTreeSet::new(),
    }
}
