//! Determines a request's protocol generation, and checks its headers against its body.
//!
//! The order of the checks and their error codes are those of the official Rust SDK's server (rmcp
//! 3.9). The conformance suite expects them.

use axum::http::HeaderMap;
use spillgate_mcp::meta::VERSION_HEADER;
use spillgate_mcp::{Envelope, Generation, ProtocolVersion, RequestId, error_code};

use crate::names::{self, header};
use crate::post_body::{PostBody, RequestMeta, params, text};
use crate::problem::Problem;

fn is_modern(version: &str) -> bool {
    version >= ProtocolVersion::MODERN
}

/// Returns the generation of a request without a body.
pub(crate) fn of_headers(headers: &HeaderMap) -> Result<Generation, Problem> {
    let version = header(headers, VERSION_HEADER)
        .map_err(|what| Problem::bad(error_code::INVALID_REQUEST, what))?;
    Ok(match version {
        Some(version) if is_modern(version) && is_known(version) => Generation::Modern,
        _ => Generation::Legacy,
    })
}

/// Checks that a session may be used with the version in the header. `agreed` is the version that
/// `initialize` negotiated.
pub(crate) fn check_session(headers: &HeaderMap, agreed: Option<&str>) -> Result<(), Problem> {
    let version = header(headers, VERSION_HEADER)
        .map_err(|what| Problem::bad(error_code::INVALID_REQUEST, what))?;
    match version {
        Some(version) if !is_known(version) && agreed != Some(version) => Err(unknown(version)),
        _ => Ok(()),
    }
}

fn is_known(version: &str) -> bool {
    version == ProtocolVersion::MODERN || ProtocolVersion::HANDSHAKES.contains(&version)
}

fn unknown(version: &str) -> Problem {
    let version: String = version.chars().take(40).collect();
    let what = format!("Bad Request: Unsupported MCP-Protocol-Version: {version}");
    Problem::bad(error_code::INVALID_REQUEST, what)
}

/// Returns the generation of a posted body.
pub(crate) fn of_body(
    post_body: &PostBody<'_>,
    headers: &HeaderMap,
) -> Result<Generation, Problem> {
    let named = header(headers, VERSION_HEADER)
        .map_err(|what| Problem::bad(error_code::INVALID_REQUEST, what))?;
    let Some(message) = post_body.single() else {
        return match named {
            Some(named) if is_modern(named) => {
                let what = format!("there are no batches in {}", ProtocolVersion::MODERN);
                Err(Problem::bad(error_code::INVALID_REQUEST, what))
            }
            _ => Ok(Generation::Legacy),
        };
    };
    let Some((key, method)) = message.key().zip(message.method.as_deref()) else {
        // The message is a notification or a response.
        return Ok(match named {
            Some(named) if is_modern(named) && is_known(named) => Generation::Modern,
            _ => Generation::Legacy,
        });
    };
    let params = params(message);
    // An `initialize` that declares itself modern counts as modern. The server then reports that
    // the method no longer exists.
    let says_modern = |version: &str| is_modern(version) && is_known(version);
    if method == "initialize"
        && !params
            .request_meta()
            .version
            .as_deref()
            .is_some_and(says_modern)
    {
        check_initialize(named, params.asked_version().as_deref(), key)?;
        return Ok(Generation::Legacy);
    }
    let said = params.request_meta();
    check_said(named, &said, method == "server/discover", key)?;
    let version = said.version.as_deref().or(named);
    let is_whole = said.version.is_some() && said.has_capabilities;
    Ok(match version {
        Some(version) if is_modern(version) && (said.version.is_some() || is_known(version)) => {
            Generation::Modern
        }
        _ if is_whole => Generation::Modern,
        _ => Generation::Legacy,
    })
}

/// Checks that the version header of an `initialize`, if there is one, names the version in the
/// body.
fn check_initialize(
    named: Option<&str>,
    asked: Option<&str>,
    key: RequestId,
) -> Result<(), Problem> {
    match named {
        Some(named) if asked != Some(named) => {
            let asked: String = asked.unwrap_or("nothing").chars().take(40).collect();
            let what = format!(
                "MCP-Protocol-Version header ({named}) does not match initialize params.protocolVersion ({asked})"
            );
            Err(Problem::bad(error_code::INVALID_REQUEST, what).of(Some(key)))
        }
        _ => Ok(()),
    }
}

/// Checks that `_meta` and the header name the same version. `_meta` must name a version if the
/// header names a modern one, or if the request is `server/discover`.
fn check_said(
    named: Option<&str>,
    said: &RequestMeta,
    is_discover: bool,
    key: RequestId,
) -> Result<(), Problem> {
    let of = |problem: Problem| Err(problem.of(Some(key)));
    match (named, said.version.as_deref()) {
        (_, None)
            if is_discover || named.is_some_and(|named| is_modern(named) && is_known(named)) =>
        {
            let what = "request _meta is missing io.modelcontextprotocol/protocolVersion or has no text there";
            of(Problem::bad(error_code::INVALID_PARAMS, what))
        }
        (None, Some(_)) => of(Problem::bad(
            error_code::HEADER_MISMATCH,
            "request _meta protocolVersion requires MCP-Protocol-Version header",
        )),
        (Some(named), Some(said)) if named != said => {
            let said: String = said.chars().take(40).collect();
            of(Problem::bad(
                error_code::HEADER_MISMATCH,
                format!(
                    "MCP-Protocol-Version header ({named}) does not match request _meta protocolVersion ({said})"
                ),
            ))
        }
        _ => Ok(()),
    }
}

/// Checks that the headers of a stateless request or notification match its body, so that
/// intermediaries can rely on them. `schema` returns the input schema of the called tool, if known.
pub(crate) fn check_standard(
    message: &Envelope<'_>,
    headers: &HeaderMap,
    schema: impl FnOnce(&str) -> Option<serde_json::Value>,
) -> Result<(), Problem> {
    let mismatch = |what| Problem::bad(error_code::HEADER_MISMATCH, what).of(message.key());
    let named = header(headers, VERSION_HEADER).map_err(mismatch)?;
    let (Some(method), true) = (message.method.as_deref(), named.is_some_and(is_modern)) else {
        return Ok(());
    };
    let params = params(message);
    names::check_method(headers, method).map_err(mismatch)?;
    names::check_name(headers, method, &params).map_err(mismatch)?;
    let tool = (method == "tools/call")
        .then(|| text(params.name))
        .flatten();
    let schema = tool.and_then(|tool| schema(&tool));
    names::check_params(headers, schema.as_ref(), params.arguments).map_err(mismatch)
}
