//! `web_fetch`: fetches a web page as text (docs/guarded-tools.md).

mod page;
mod saving;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use spillgate_files::Arguments;
use spillgate_text::clip;
use spillgate_web::{
    BodyKind, FetchError, FetchResponse, FetchSettings, Fetcher, ReadableText, readable,
};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::definition::{Definition, schema};
use crate::rules::{OnOverflow, Rules, Writable};
use crate::save::{self, SaveTarget};
use crate::tool_result::{Reply, ToolError};
use crate::workspace_tools::Shared;

/// Maximum length, in characters, of a URL that an error or a confirmation shows.
const SHOWN_URL: usize = 500;

/// Limits how many pages are converted at the same time. A malicious page of 5 MiB takes about 300
/// MB of memory and two seconds (measured), and its conversion continues to its end even if the
/// call is cancelled.
static READING: Semaphore = Semaphore::const_new(2);

pub(crate) fn definition(rules: &Rules) -> Definition {
    let is_writable = rules.writable != Writable::Nowhere;
    Definition {
        name: "web_fetch",
        description: description(rules, is_writable),
        schema: schema(properties(rules, is_writable).into(), &["url"]),
        is_read_only: !is_writable,
        is_open_world: true,
    }
}

fn description(rules: &Rules, is_writable: bool) -> String {
    let saving = match is_writable {
        true => {
            "use save_to to save it to a file instead, then grep_content or read_file to read it"
        }
        false => "it cannot be saved here",
    };
    let too_much = match rules.on_overflow {
        OnOverflow::Reject => format!("is refused, never cut: {saving}"),
        OnOverflow::Offload => format!(
            "is stored whole, and the answer says how to look into it, but over {} bytes it is \
             refused: {saving}",
            settings(rules).most_page_bytes
        ),
    };
    format!(
        "Fetch a page of the public web. HTML becomes Markdown: the main part, with absolute links; \
         scripts are not run. Text and JSON stay as they are. Redirects are followed; private \
         addresses are refused, and nothing is logged in to. A page of more than {} tokens \
         {too_much}.",
        rules.max_tokens
    )
}

fn settings(rules: &Rules) -> FetchSettings {
    let settings = rules.web.as_ref().map(Fetcher::settings).cloned();
    settings.unwrap_or_default()
}

fn properties(rules: &Rules, is_writable: bool) -> Map<String, Value> {
    let settings = settings(rules);
    let mut properties = Map::new();
    let mut add = |name: &str, property| properties.insert(name.to_owned(), property);
    add(
        "url",
        json!({ "type": "string", "description": "A whole http or https URL." }),
    );
    if is_writable {
        add(
            "save_to",
            json!({
                "type": "string",
                "description": "A new file, relative to the root, to which the content is saved. \
                    Only a confirmation is returned. Needed for PDFs, images and archives."
            }),
        );
    }
    add(
        "raw",
        json!({
            "type": "boolean",
            "default": false,
            "description": "Give a page's HTML as it is."
        }),
    );
    add(
        "timeout",
        json!({
            "type": "integer",
            "minimum": 1,
            "maximum": settings.longest_timeout.as_secs(),
            "default": settings.timeout.as_secs(),
            "description": "Seconds."
        }),
    );
    properties
}

pub(crate) async fn call(shared: &Arc<Shared>, arguments: &Arguments) -> Reply {
    let rules = &shared.rules;
    let fetcher = rules.web.as_ref();
    let fetcher = fetcher.ok_or_else(|| ToolError::new("web_fetch is switched off here."))?;
    let request = FetchRequest::new(shared, arguments)?;
    let timeout = arguments.limit("timeout")?.map(Duration::from_secs);
    let advice = Advice::new(rules);
    fetcher
        .check(&request.url)
        .map_err(|error| advice.failed(&error))?;
    let response = fetcher.open(&request.url, timeout).await;
    let mut response = response.map_err(|error| advice.failed(&error))?;
    if response.status() >= 400 {
        return Err(page::status(&mut response, rules).await);
    }
    match request.target {
        Some(target) => saving::save(fetcher, response, target, request.is_raw, advice).await,
        None => page::show(fetcher, response, shared, request, advice).await,
    }
}

/// The arguments of a call.
struct FetchRequest {
    url: String,
    target: Option<SaveTarget>,
    is_raw: bool,
}

impl FetchRequest {
    fn new(shared: &Shared, arguments: &Arguments) -> Result<Self, ToolError> {
        let url = arguments.required("url")?;
        let is_raw = arguments.flag("raw")?;
        let writable = &shared.rules.writable;
        let target = match arguments.optional("save_to")? {
            Some(_) if *writable == Writable::Nowhere => return Err(save::nowhere()),
            Some(name) => Some(SaveTarget::new(&shared.workspace, writable, &name)?),
            None => None,
        };
        target.as_ref().map_or(Ok(()), SaveTarget::check)?;
        Ok(Self {
            url,
            target,
            is_raw,
        })
    }
}

/// Advice for content that cannot be shown.
#[derive(Debug, Clone, Copy)]
struct Advice {
    can_save: bool,
}

impl Advice {
    fn new(rules: &Rules) -> Self {
        let can_save = rules.writable != Writable::Nowhere;
        Self { can_save }
    }

    /// Advice for text that is too large.
    fn for_text(self) -> &'static str {
        match self.can_save {
            true => {
                "Please use save_to parameter to save content to a file, \
                 then use grep_content to search it."
            }
            false => "Nothing may be saved here; please fetch a page with less in it.",
        }
    }

    /// Advice for content that is not text.
    fn for_bytes(self) -> &'static str {
        match self.can_save {
            true => "Please use save_to parameter to save it to a file.",
            false => "Nothing may be saved here; please use another source.",
        }
    }

    /// The error for a failed fetch.
    fn failed(self, error: &FetchError) -> ToolError {
        match error {
            FetchError::TooLarge { .. } => ToolError::new(format!("{error} {}", self.for_text())),
            error => ToolError::new(error),
        }
    }
}

/// The content type for display, without its parameters.
fn type_shown(response: &FetchResponse) -> String {
    let sent = response.content_type();
    let essence = sent.split(';').next().unwrap_or_default().trim();
    match essence {
        "" => "no type".to_owned(),
        essence => clip(&essence.to_ascii_lowercase(), 100),
    }
}

fn url_shown(response: &FetchResponse) -> String {
    clip(response.url().as_str(), SHOWN_URL)
}

/// Converts a body to readable text, on a blocking thread: large pages take a while.
async fn read(
    response: &FetchResponse,
    bytes: Vec<u8>,
    kind: BodyKind,
    is_raw: bool,
) -> Result<ReadableText, ToolError> {
    let (content_type, url) = (response.content_type(), response.url().clone());
    let turn = READING.acquire().await;
    let read = spawn_blocking(move || {
        let _turn = turn;
        readable(&bytes, &content_type, kind, is_raw, &url)
    });
    read.await.map_err(|_| {
        ToolError::new("The page could not be made readable; this is our fault. Use raw=true.")
    })
}
