//! Tools that are HTTP requests.
//!
//! `restTools` of the configuration: a [`RestTool`] is what stands there, a
//! [`RestTools`] calls them. `template` knows placeholders, `plan` what a request
//! is made of, `request` makes one of a model's arguments, `send` sends it, `stream`
//! reads what comes back.

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

/// How long a request may take, its response included, unless the tool says
/// otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes that a response may have, unless the tool says otherwise: what is longer is
/// no answer to a question.
pub const MOST_BYTES: u64 = 1 << 30;

/// A tool that is an HTTP request, as the configuration has it. Placeholders
/// `${parameters.NAME}` (or `${NAME}`) stand for the arguments of a call.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestTool {
    /// What it is for, as the model is told.
    pub description: String,
    /// The method; `GET` if nothing is said.
    #[serde(default)]
    pub method: Verb,
    /// The address, `http` or `https`. Placeholders may stand in its path and behind
    /// `?`; what they stand for is encoded, so that it stays where it is put.
    pub url: String,
    /// Headers, which may have placeholders. One whose argument is missing is left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// JSON Schema of the arguments; an object. Only references within it are
    /// followed.
    #[serde(default = "any_object")]
    pub parameters_schema: Value,
    /// Arguments that go behind the `?`, beside those that have a placeholder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<String>,
    /// The form of a body that is made of the arguments that have no other place;
    /// JSON if nothing is said. `GET` and `DELETE` have none: there they go behind the `?`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyForm>,
    /// The body: JSON in which a string that is a placeholder stands for the argument,
    /// of whatever type, or a text of such JSON, with placeholders in the place of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_template: Option<Value>,
    /// Seconds that a call may take, the response included; 60 if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// Bytes that a response may have; 1 GiB if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_response_bytes: Option<u64>,
}

impl fmt::Debug for RestTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers, and what stands behind the host, are secrets more often than not.
        let url = origin(&self.url);
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("RestTool")
            .field("method", &self.method)
            .field("url", &url.unwrap_or_default())
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// `https://api.example.com`: what of an address may be told. `None` for what is none.
pub(crate) fn origin(address: &str) -> Option<String> {
    let before = address.split("${").next().unwrap_or_default();
    let origin = Url::parse(before).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

fn any_object() -> Value {
    json!({"type": "object"})
}

/// A method of HTTP.
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
    /// As HTTP writes it.
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

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyForm {
    /// `application/json`.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
}

/// A description that cannot be used: the caller's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the REST tool `{tool}`: {member}: {what}")]
pub struct RestError {
    /// The tool.
    pub tool: String,
    /// Which member of it is wrong, such as `url`.
    pub member: String,
    /// What is wrong.
    pub what: String,
}

impl RestTool {
    /// The description of the tool `name`, as the configuration has it.
    pub fn from_value(name: &str, value: &Value) -> Result<Self, RestError> {
        Self::deserialize(value).map_err(|error| RestError {
            tool: name.to_owned(),
            member: "its members".to_owned(),
            what: error.to_string(),
        })
    }
}

/// Tools that are HTTP requests, under one name.
pub struct RestTools {
    name: String,
    tools: Vec<(ToolSpec, Arc<Plan>)>,
    client: Client,
    /// Longer than this no call may take.
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
    /// A tool that is a host of its own name. `client` follows no redirect by itself
    /// (as one made with [`http_client`](spillgate_transport::http_client)): a redirect is followed
    /// here, and takes no headers to another host.
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

    /// The same, of which no call takes longer than this, its response included,
    /// whatever the tool says.
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
