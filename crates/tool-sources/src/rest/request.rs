//! Builds a request from the arguments of a call.

use std::fmt;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;
use spillgate_text::clip;

use super::plan::{Body, Plan, Remainder, arguments_in};
use super::template::{Arguments, Template, encoded, plain};
use super::{BodyForm, Verb};

/// Maximum number of problems with arguments that an error lists.
const MOST_TOLD: usize = 3;

/// Maximum length of each problem, in characters.
const LONGEST_TOLD: usize = 300;

/// A request to send. Its debug output leaves out possible secrets.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())
    }
}

impl Request {
    /// Returns a short form of the request, such as `GET api.example.com`. No other part of the
    /// request is ever shown.
    pub(crate) fn what(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}"));
        format!("{} {host}{}", self.method, port.unwrap_or_default())
    }
}

impl From<Verb> for Method {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Get => Self::GET,
            Verb::Post => Self::POST,
            Verb::Put => Self::PUT,
            Verb::Patch => Self::PATCH,
            Verb::Delete => Self::DELETE,
        }
    }
}

impl Plan {
    /// Builds the request from the arguments as a model wrote them.
    ///
    /// # Errors
    ///
    /// Describes problems that the model can correct.
    pub(crate) fn request(&self, arguments: &str) -> Result<Request, String> {
        let arguments = self.checked(arguments)?;
        let mut url = self.url(&arguments)?;
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/*, */*;q=0.5"),
        );
        for (name, value) in &self.headers {
            if let Some(value) = header(value, &arguments)? {
                headers.insert(name, value);
            }
        }
        for (name, argument) in &self.query {
            if let Some(value) = arguments.get(argument) {
                append(&mut url, name, value);
            }
        }
        let body = self.body(&arguments, &mut url, &mut headers);
        Ok(Request {
            method: self.verb.into(),
            url,
            headers,
            body,
        })
    }

    fn checked(&self, text: &str) -> Result<Arguments, String> {
        let text = match text.trim() {
            "" | "null" => "{}",
            text => text,
        };
        let parsed: Value = serde_json::from_str(text)
            .map_err(|error| format!("The arguments are no JSON: {error}."))?;
        let told = |error: jsonschema::ValidationError<'_>| {
            let at = error.instance_path().to_string();
            let what = clip(&error.to_string(), LONGEST_TOLD);
            match at.is_empty() {
                true => what,
                false => format!("{at}: {what}"),
            }
        };
        let problems = self.schema.iter_errors(&parsed).map(told);
        let problems: Vec<String> = problems.take(MOST_TOLD).collect();
        match parsed {
            Value::Object(arguments) if problems.is_empty() => Ok(arguments),
            _ if problems.is_empty() => Err("The arguments are no JSON object.".to_owned()),
            _ => Err(format!(
                "The arguments do not fit the tool's schema: {}",
                problems.join("; ")
            )),
        }
    }

    fn url(&self, arguments: &Arguments) -> Result<Url, String> {
        let segments = self
            .path
            .iter()
            .map(|segment| segment_of(segment, arguments));
        let path = segments.collect::<Result<Vec<String>, String>>()?.join("/");
        let pairs = self.pairs.iter();
        let pairs = pairs.filter_map(|pair| pair.filled(arguments, encoded));
        let pairs: Vec<String> = pairs.collect();
        let mut url = self.origin.clone();
        url.set_path(&path);
        url.set_query(
            Some(pairs.join("&"))
                .filter(|query| !query.is_empty())
                .as_deref(),
        );
        Ok(url)
    }

    /// Returns the body. Arguments without a position of their own are put where the plan says.
    fn body(
        &self,
        arguments: &Arguments,
        url: &mut Url,
        headers: &mut HeaderMap,
    ) -> Option<Vec<u8>> {
        let (value, form) = match (&self.body, self.rest) {
            (Some(Body::Template(template)), _) => (
                filled(template, arguments).unwrap_or_default(),
                BodyForm::Json,
            ),
            (Some(Body::Argument(name, form)), _) => (arguments.get(name)?.clone(), *form),
            (None, Remainder::Nowhere) => return None,
            (None, Remainder::Query) => {
                for (name, value) in self.left_over(arguments) {
                    append(url, &name, &value);
                }
                return None;
            }
            (None, Remainder::Body(form)) => (Value::Object(self.left_over(arguments)), form),
        };
        let (kind, body) = match form {
            BodyForm::Json => ("application/json", value.to_string()),
            BodyForm::Form => {
                // Use `Url` to encode a form, because a form has the same format as a query.
                let mut form = self.origin.clone();
                for (name, value) in value.as_object().into_iter().flatten() {
                    append(&mut form, name, value);
                }
                let body = form.query().unwrap_or_default().to_owned();
                ("application/x-www-form-urlencoded", body)
            }
        };
        let kind = HeaderValue::from_static(kind);
        headers.entry(CONTENT_TYPE).or_insert(kind);
        Some(body.into_bytes())
    }

    fn left_over(&self, arguments: &Arguments) -> Arguments {
        let mut placed = self.placed();
        let in_body = match &self.body {
            Some(Body::Template(body)) => arguments_in(body),
            _ => std::collections::BTreeSet::new(),
        };
        placed.extend(in_body.iter().map(String::as_str));
        let rest = arguments
            .iter()
            .filter(|(name, _)| !placed.contains(name.as_str()));
        rest.map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

/// Returns a segment of a path. An argument must not change other segments: `.` and `..` are
/// rejected, because they have a special meaning even when they are encoded, and so are empty
/// segments.
fn segment_of(segment: &Template, arguments: &Arguments) -> Result<String, String> {
    let Some(name) = segment.arguments().next() else {
        return Ok(segment.filled(arguments, encoded).unwrap_or_default());
    };
    let missing = || format!("The address needs the argument `{name}`.");
    let text = segment
        .filled(arguments, str::to_owned)
        .ok_or_else(missing)?;
    match &*text {
        "" | "." | ".." => Err(format!(
            "The argument `{name}` is a part of a path: it cannot be {text:?}."
        )),
        _ => segment.filled(arguments, encoded).ok_or_else(missing),
    }
}

/// Returns a header's value; `None` if one of its arguments is missing.
fn header(value: &Template, arguments: &Arguments) -> Result<Option<HeaderValue>, String> {
    let Some(text) = value.filled(arguments, str::to_owned) else {
        return Ok(None);
    };
    let mut header = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        let names: Vec<&str> = value.arguments().collect();
        format!(
            "The argument `{}` goes into a header: it can have no line ends and no control characters.",
            names.join("` or `")
        )
    })?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// Appends `name=value` to the query; for a list, once per element; for `null`, nothing.
fn append(url: &mut Url, name: &str, value: &Value) {
    let values = match value {
        Value::Array(all) => all.iter().filter_map(plain).collect(),
        other => plain(other).into_iter().collect::<Vec<String>>(),
    };
    for value in values {
        url.query_pairs_mut().append_pair(name, &value);
    }
}

/// Returns a body with the arguments inserted; `None` if an argument is missing.
fn filled(template: &Value, arguments: &Arguments) -> Option<Value> {
    match template {
        Value::String(text) => {
            let template = Template::new(text).unwrap_or_default();
            match template.only_argument() {
                Some(name) => arguments.get(name).cloned(),
                None => template.filled(arguments, str::to_owned).map(Value::String),
            }
        }
        Value::Array(all) => {
            let all = all.iter().filter_map(|one| filled(one, arguments));
            Some(Value::Array(all.collect()))
        }
        Value::Object(all) => {
            let all = all
                .iter()
                .filter_map(|(name, one)| Some((name.clone(), filled(one, arguments)?)));
            Some(Value::Object(all.collect()))
        }
        other => Some(other.clone()),
    }
}
