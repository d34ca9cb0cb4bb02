//! Offers HTTP requests as tools.
//!
//! A [`RestTool`] is an entry of `restTools` in the configuration, and [`RestTools`] calls such
//! tools. `template` handles placeholders, `plan` contains the parts of a request, `request` builds
//! a request from a model's arguments, `send` sends it, and `stream` reads the response.

mod plan;
mod request;
mod send;
mod stream;
mod template;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spillgate_agent::{Given, Host, Scope};
use spillgate_llm::{ToolCall, ToolSpec};

pub(crate) use plan::{Body as PlanBody, Plan};
pub(crate) use send::{ResponseLimits, fetch};
pub(crate) use template::{Template, encoded, escaped};

/// Maximum duration of a request, including its response, unless the tool sets another limit.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum size of a response, in bytes, unless the tool sets another limit.
pub const MOST_BYTES: u64 = 1 << 30;

/// A tool that is an HTTP request, as configured. Placeholders `${parameters.NAME}` (or `${NAME}`)
/// stand for the arguments of a call.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestTool {
    /// The purpose of the tool, as the model sees it.
    pub description: String,
    /// The method; `GET` by default.
    #[serde(default)]
    pub method: Verb,
    /// The URL, `http` or `https`. Its path and query may contain placeholders. Their values are
    /// encoded, so that they cannot change other parts of the URL.
    pub url: String,
    /// Headers, which may contain placeholders. If an argument is missing, its header is omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// JSON Schema of the arguments, which form an object. Only references within the schema are
    /// followed.
    #[serde(default = "any_object")]
    pub parameters_schema: Value,
    /// Names of arguments that are added to the query. Arguments that have a placeholder need not
    /// be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<String>,
    /// Format of the body, which contains the arguments that have no other position; JSON by
    /// default. `GET` and `DELETE` requests have no body; their arguments are added to the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyForm>,
    /// The body: JSON in which a string that is a placeholder stands for the argument, of any type;
    /// or the text of such JSON, with placeholders in place of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_template: Option<Value>,
    /// Maximum duration of a call in seconds, including the response; 60 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// Maximum size of a response, in bytes; 1 GiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_response_bytes: Option<u64>,
}

impl fmt::Debug for RestTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of headers, and the URL after its host, are not shown because they are often
        // secrets.
        let url = origin(&self.url);
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("RestTool")
            .field("method", &self.method)
            .field("url", &url.unwrap_or_default())
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// Returns the part of a URL that may be shown, such as `https://api.example.com`; `None` if it is
/// not a URL.
pub(crate) fn origin(address: &str) -> Option<String> {
    let before = address.split("${").next().unwrap_or_default();
    let origin = Url::parse(before).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

fn any_object() -> Value {
    json!({"type": "object"})
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "they are HTTP's own")]
pub enum Verb {
    #[default]
    #[serde(alias = "get")]
    Get,
    #[serde(alias = "post")]
    Post,
    #[serde(alias = "put")]
    Put,
    #[serde(alias = "patch")]
    Patch,
    #[serde(alias = "delete")]
    Delete,
}

impl Verb {
    /// Returns the method's name in HTTP.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The format of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyForm {
    /// `application/json`.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
}

/// A description that cannot be used, because of an error in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the REST tool `{tool}`: {member}: {what}")]
pub struct RestError {
    /// Name of the tool.
    pub tool: String,
    /// The member that is wrong, such as `url`.
    pub member: String,
    /// What is wrong.
    pub what: String,
}

impl RestTool {
    /// Parses the configured description of the tool `name`.
    ///
    /// # Errors
    ///
    /// Fails if members are missing, unknown or of the wrong type.
    pub fn from_value(name: &str, value: &Value) -> Result<Self, RestError> {
        Self::deserialize(value).map_err(|error| RestError {
            tool: name.to_owned(),
            member: "its members".to_owned(),
            what: error.to_string(),
        })
    }
}

/// HTTP tools as a host.
pub struct RestTools {
    name: String,
    tools: Vec<(ToolSpec, Arc<Plan>)>,
    client: Client,
    /// Maximum duration of a call.
    most: Duration,
}

impl fmt::Debug for RestTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestTools")
            .field("name", &self.name)
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl RestTools {
    /// Creates a host with one tool; host and tool are both called `name`. `client` must not follow
    /// redirects itself (a client made with [`http_client`](spillgate_transport::http_client) does
    /// not): this crate follows them, so that headers are never sent to another host.
    ///
    /// # Errors
    ///
    /// Fails if the description cannot be used.
    pub fn one(name: &str, tool: &RestTool, client: Client) -> Result<Self, RestError> {
        let plan = Plan::of(tool).map_err(|(member, what)| RestError {
            tool: name.to_owned(),
            member,
            what,
        })?;
        let spec = ToolSpec {
            name: name.to_owned(),
            description: tool.description.clone(),
            schema: tool.parameters_schema.clone(),
        };
        Ok(Self::of(name, vec![(spec, plan)], client))
    }

    pub(crate) fn of(name: &str, tools: Vec<(ToolSpec, Plan)>, client: Client) -> Self {
        let shared = |(spec, plan)| (spec, Arc::new(plan));
        Self {
            name: name.to_owned(),
            tools: tools.into_iter().map(shared).collect(),
            client,
            most: Duration::MAX,
        }
    }

    /// Returns the host with calls that take at most `most`, including their responses, even if a
    /// tool sets a longer limit.
    #[must_use]
    pub fn within(self, most: Duration) -> Self {
        Self { most, ..self }
    }
}

impl Host for RestTools {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(spec, _)| spec.clone()).collect()
    }

    fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
        async move {
            let mut all = self.tools.iter();
            let Some((_, plan)) = all.find(|(spec, _)| spec.name == call.name) else {
                return Given::error(format!("There is no tool '{}'.", call.name));
            };
            match plan.request(&call.arguments) {
                Ok(request) => {
                    let limits = plan.response_limits().within(self.most);
                    send::call(&self.client, request, limits).await
                }
                Err(what) => Given::error(what),
            }
        }
        .boxed()
    }
}
