//! Builds tools from the operations of an OpenAPI document.
//!
//! Each operation that the configuration selects becomes a tool. `document` parses the text and
//! follows references, `schema` builds self-contained schemas, and `operation` builds a tool from
//! both.

mod document;
mod operation;
mod schema;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::rest::{ResponseLimits, RestTools, Verb, fetch, origin};
use document::Document;

/// Maximum size of a document, in bytes.
const MOST_BYTES: u64 = 32 << 20;

/// Maximum time for fetching a document from a URL.
const FETCHING: Duration = Duration::from_secs(60);

/// An API described by OpenAPI 3.0 or 3.1, as configured.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenApi {
    /// The document: a file (JSON or YAML), or a URL.
    pub spec: String,
    /// The base URL of requests. By default, it is the first server that the document names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Headers of every request, such as `Authorization`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Globs for the names of operations. Only matching operations become tools; by default, all
    /// do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Globs for the names of operations that do not become tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The methods whose operations become tools. The default is only `GET`, because other methods
    /// change data.
    #[serde(default = "only_get")]
    pub methods: Vec<Verb>,
    /// Maximum time of a call, in seconds; 60 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
}

/// Returns what may be shown of a document's source: the file name, or only the origin of a URL.
fn shown(spec: &str) -> String {
    origin(spec).unwrap_or_else(|| spec.to_owned())
}

fn only_get() -> Vec<Verb> {
    vec![Verb::Get]
}

impl fmt::Debug for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("OpenApi")
            .field("spec", &shown(&self.spec))
            .field("headers", &headers)
            .field("methods", &self.methods)
            .finish_non_exhaustive()
    }
}

/// A document, or its settings, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the OpenAPI document {source_name}: {at}{what}", at = self.at())]
pub struct OpenApiError {
    /// The file, or the origin of the URL.
    pub source_name: String,
    /// The position in the document, as a JSON pointer; empty for the whole document.
    pub pointer: String,
    /// What is wrong.
    pub what: String,
}

impl OpenApiError {
    fn at(&self) -> String {
        match self.pointer.is_empty() {
            true => String::new(),
            false => format!("{}: ", self.pointer),
        }
    }
}

/// What is wrong, and at which position in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentError {
    pub(crate) pointer: String,
    pub(crate) what: String,
}

impl DocumentError {
    pub(crate) fn new(pointer: &str, what: impl Into<String>) -> Self {
        Self {
            pointer: pointer.to_owned(),
            what: what.into(),
        }
    }
}

/// Selects the operations that become tools.
pub(crate) struct OperationFilter {
    include: Option<GlobSet>,
    exclude: GlobSet,
    methods: Vec<Verb>,
}

impl OperationFilter {
    fn new(api: &OpenApi) -> Result<Self, DocumentError> {
        let set = |member: &str, patterns: &[String]| {
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                let glob = Glob::new(pattern);
                // The pattern itself is not shown, because it may come from a variable.
                let wrong = |error: globset::Error| {
                    DocumentError::new("", format!("`{member}`: {}", error.kind()))
                };
                set.add(glob.map_err(wrong)?);
            }
            set.build()
                .map_err(|error| DocumentError::new("", format!("`{member}`: {error}")))
        };
        Ok(Self {
            include: match &api.include[..] {
                [] => None,
                some => Some(set("include", some)?),
            },
            exclude: set("exclude", &api.exclude)?,
            methods: api.methods.clone(),
        })
    }

    pub(crate) fn has(&self, verb: Verb, name: &str) -> bool {
        self.methods.contains(&verb)
            && self.include.as_ref().is_none_or(|set| set.is_match(name))
            && !self.exclude.is_match(name)
    }
}

impl OpenApi {
    /// Parses the configured description of an API.
    ///
    /// # Errors
    ///
    /// Fails if members are missing, unknown or of the wrong type.
    pub fn from_value(name: &str, value: &Value) -> Result<Self, OpenApiError> {
        Self::deserialize(value).map_err(|error| OpenApiError {
            source_name: format!("`{name}`"),
            pointer: String::new(),
            what: error.to_string(),
        })
    }

    /// Loads the document and returns its tools as the host `name`. A relative file path is
    /// relative to `directory`. The requirements on `client` are those of [`RestTools::one`].
    ///
    /// # Errors
    ///
    /// Fails if the document cannot be read or used.
    pub async fn load(
        &self,
        name: &str,
        directory: &Path,
        client: Client,
    ) -> Result<RestTools, OpenApiError> {
        let failed = |DocumentError { pointer, what }| OpenApiError {
            source_name: shown(&self.spec),
            pointer,
            what,
        };
        let address = Url::parse(&self.spec).ok();
        let address = address.filter(|url| matches!(url.scheme(), "http" | "https"));
        let text = if let Some(url) = &address {
            let limits = ResponseLimits {
                timeout: FETCHING,
                most_bytes: MOST_BYTES,
            };
            fetch(&client, url, limits).await
        } else {
            let file = directory.join(&self.spec);
            let read = spawn_blocking(move || read(&file)).await;
            read.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
        };
        let text = text.map_err(|what| failed(DocumentError::new("", what)))?;
        // Building the tools of a large document takes long, so a blocking thread does it.
        let api = self.clone();
        let made = spawn_blocking(move || api.tools(&text, address.as_ref())).await;
        let made = made.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        Ok(RestTools::of(name, made.map_err(failed)?, client))
    }

    fn tools(&self, text: &[u8], at: Option<&Url>) -> Result<operation::Tools, DocumentError> {
        let document = Document::parse(text)?;
        operation::tools(self, &OperationFilter::new(self)?, &document, at)
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let bytes = std::fs::metadata(file).map(|found| found.len());
    match bytes {
        Ok(bytes) if bytes > MOST_BYTES => Err(format!("has more than {MOST_BYTES} bytes")),
        Ok(_) => std::fs::read(file).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
