//! The URL and headers that the options give for a server behind HTTP.

use std::collections::BTreeMap;
use std::env;

use reqwest::Url;

use crate::failure::{Failure, Fault};
use crate::server_args::Mcp;

/// Returns the URL, if one was given. Errors do not repeat it: it may hold a secret.
pub(super) fn url(mcp: &Mcp) -> Result<Option<String>, Failure> {
    let (option, url) = match (&mcp.url, &mcp.url_env) {
        (Some(url), _) => ("--url", url.clone()),
        (None, Some(name)) => ("--url-env", filled("--url-env", name)?),
        (None, None) => return Ok(None),
    };
    let parsed = Url::parse(&url).ok();
    match parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        true => Ok(Some(url)),
        false => Err(usage(
            format!("the value of {option} is not an HTTP address"),
            "write it whole: https://mcp.example.com/mcp; a server's command stands behind `--`",
        )),
    }
}

/// Returns the headers that the options give.
pub(super) fn headers(mcp: &Mcp) -> Result<BTreeMap<String, String>, Failure> {
    let mut headers = BTreeMap::new();
    for header in &mcp.header {
        // The error does not repeat the value, which may be a secret.
        let (name, value) = header.split_once(':').ok_or_else(|| {
            let hint = "write --header 'Name: value'";
            usage("a --header has no `:`".to_owned(), hint)
        })?;
        headers.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    for header in &mcp.header_env {
        let (name, of) = header.split_once('=').ok_or_else(|| {
            let hint = "write --header-env 'Name=VARIABLE'";
            usage(format!("--header-env {header:?} has no `=`"), hint)
        })?;
        let value = variable("--header-env", of.trim())?;
        headers.insert(name.trim().to_owned(), value);
    }
    if let Some(of) = &mcp.bearer_env {
        let token = filled("--bearer-env", of)?;
        headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
    }
    Ok(headers)
}

/// Returns the value of a variable that must be set. It may be empty, because a header may be.
fn variable(option: &str, name: &str) -> Result<String, Failure> {
    let value = env::var(name).map_err(|_| {
        let hint =
            "set it where the gateway is started: in the shell, or for the client that starts it";
        usage(
            format!("the variable `{name}` of {option} is not set"),
            hint,
        )
    })?;
    Ok(value.trim().to_owned())
}

/// Returns the value of a variable that must be set and not empty.
fn filled(option: &str, name: &str) -> Result<String, Failure> {
    let value = variable(option, name)?;
    match value.is_empty() {
        false => Ok(value),
        true => Err(usage(
            format!("the variable `{name}` of {option} is empty"),
            "give it its value where the gateway is started",
        )),
    }
}

fn usage(what: String, hint: &str) -> Failure {
    Failure::new("usage", Fault::Caller, what)
        .hint(hint)
        .code(2)
}

/// Returns the name of a server behind HTTP: its host.
pub(super) fn host_of(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let authority = after.split(['/', '?', '#']).next().unwrap_or(after);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    host.to_owned()
}
