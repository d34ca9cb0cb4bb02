//! The MCP server of the workspace tools.
//!
//! A refusal is a result with `isError`, so that the model learns what to do instead. If oversized
//! outputs are to be offloaded instead of refused, they are stored and replaced by a preview
//! (`spillgate-offload`), and the tools that read stored outputs are listed, too.

use std::io;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, MetaObject, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use spillgate_artifact::{Origin, Reason};
use spillgate_offload::{Choice, History, Offloader, Outcome};
use spillgate_retrieval::{Extraction, RetrievalTools, definitions};
use spillgate_workspace_tools::{Body, Definition, OversizedOutput, ToolResult, WorkspaceTools};
use tokio::task::spawn_blocking;

use crate::ToolsError;
use crate::lookups::{LookupTools, looking, progress};
use crate::stdio::serve;

/// The `_meta` key with which a tool declares how long its results may be. Without it, Claude Code
/// replaces results above about 48 KiB with a preview of its own (docs/spec/limits.md, "What
/// clients take").
const CLAUDE_CODE_SIZE: &str = "anthropic/maxResultSizeChars";

/// Serves the workspace tools on standard input and output until the client disconnects.
/// `max_tokens` is the maximum size of an answer, which is announced to the client. With `lookups`,
/// outputs above it are stored.
pub async fn serve_guarded(
    guarded: WorkspaceTools,
    max_tokens: u64,
    lookups: Option<LookupTools>,
) -> Result<(), ToolsError> {
    let server = Server {
        guarded,
        max_tokens,
        lookups,
    };
    Box::pin(serve(server)).await
}

/// The MCP handler of the tools.
#[derive(Debug, Clone)]
struct Server {
    guarded: WorkspaceTools,
    max_tokens: u64,
    lookups: Option<LookupTools>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let too_much = match &self.lookups {
            None => "is refused whole, with what to do instead: follow it. Nothing is ever cut.",
            Some(_) => {
                "is refused whole, with what to do instead: follow it. A command's output and a \
                 page are not refused but stored whole, and the answer says how to look into them."
            }
        };
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(
                "spillgate-tools",
                env!("CARGO_PKG_VERSION"),
            ))
            .with_instructions(format!(
                "Files, commands and web pages below one directory. An answer over {} tokens \
                 {too_much}",
                self.max_tokens
            ))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let own = self.guarded.definitions();
        let mut all: Vec<Tool> = own.into_iter().map(|tool| self.listed(tool)).collect();
        if let Some(lookups) = &self.lookups {
            let ours = definitions(&lookups.listed, Extraction::Ours);
            all.extend(ours.into_iter().map(looking));
        }
        Ok(ListToolsResult::with_all_items(all))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = tokio::select! {
            answer = self.answer(&request.name, request.arguments.unwrap_or_default()) => answer,
            () = progress(&context) => unreachable!("invariant: progress has no end"),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        };
        answer.map(Into::into)
    }
}

impl Server {
    /// Answers a call. Dropping the future stops the call.
    async fn answer(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, ErrorData> {
        if let Some(lookups) = &self.lookups
            && lookups.listed.contains(&name)
        {
            return lookups.look(name, arguments).await;
        }
        let spelled = Value::Object(arguments.clone()).to_string();
        let ToolResult { body, is_error } = self.guarded.call(name, arguments).await;
        let text = match (body, &self.lookups) {
            (Body::Text(text), _) => text,
            (Body::Oversized(all), Some(lookups)) => {
                let origin = Origin {
                    arguments: Some(spelled),
                    ..Origin::tool(name)
                };
                let RetrievalTools {
                    offloader, session, ..
                } = &lookups.tools;
                let shown = offloaded(offloader, session.as_deref(), origin, all, is_error).await;
                shown.map_err(|error| {
                    let what =
                        format!("the output could not be stored: {error}; this is our fault");
                    ErrorData::internal_error(what, None)
                })?
            }
            (Body::Oversized(_), None) => {
                let what = "the output is too large, but no store is set up; this is our fault";
                return Err(ErrorData::internal_error(what, None));
            }
        };
        let content = vec![ContentBlock::text(text)];
        Ok(match is_error {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        })
    }

    fn listed(&self, tool: Definition) -> Tool {
        let annotations = ToolAnnotations::new()
            .read_only(tool.is_read_only)
            .open_world(tool.is_open_world);
        let characters = self.max_tokens.saturating_mul(4).saturating_add(3);
        let mut meta = JsonObject::new();
        meta.insert(CLAUDE_CODE_SIZE.to_owned(), json!(characters));
        let mut listed = Tool::new(tool.name, tool.description, tool.schema);
        listed.meta = Some(MetaObject::from(meta));
        listed.with_annotations(annotations)
    }
}

/// Stores an oversized output and returns the text that is shown instead. Every output is stored,
/// even one with few bytes, because bytes that are not valid UTF-8 take up to three times as much
/// space in a text. `session` remembers what was stored. Fails if the output cannot be read or the
/// task is aborted.
pub async fn offloaded(
    offloader: &Offloader,
    session: Option<&History>,
    origin: Origin,
    all: OversizedOutput,
    is_error: bool,
) -> io::Result<String> {
    let OversizedOutput {
        mut whole, notes, ..
    } = all;
    let offloader = offloader.clone();
    let store = move || {
        let pending = offloader.submit_stream(origin, is_error, &mut *whole, &mut |_| {})?;
        Ok::<_, io::Error>(pending.settle(Choice::Store(Reason::SizeCap)))
    };
    let stored = spawn_blocking(store).await;
    let shown = match stored.map_err(io::Error::other)?? {
        Outcome::Inline(_) => return Err(io::Error::other("it was not stored")),
        Outcome::Offloaded(stored) => {
            if let Some(session) = session {
                session.note(stored.receipt.manifest(), false);
            }
            stored.shown
        }
        Outcome::NotStored(lost) => lost.shown,
    };
    Ok(OversizedOutput::with_notes(&notes, is_error, shown.text()))
}
