//! Which server behind HTTP do the options mean, and what do they send to it?

use std::collections::BTreeMap;
use std::env;

use reqwest::Url;

use crate::failure::{Failure, Fault};
use crate::server_args::Mcp;

/// The address, if one was given. It may hold a secret, so it is not repeated.
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
            format!("{option} gives no address of HTTP"),
            "write it whole: https://mcp.example.com/mcp; a server's command stands behind `--`",
        )),
    }
}

/// The headers of the options.
pub(super) fn headers(mcp: &Mcp) -> Result<BTreeMap<String, String>, Failure> {
    let mut headers = BTreeMap::new();
    for header in &mcp.header {
        // Its value may be a secret, so it is not repeated.
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

/// The value of a variable that must be set, for a header may be empty.
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

/// The same for what cannot be empty.
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

/// What a server behind HTTP is called: its host.
pub(super) fn host_of(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let authority = after.split(['/', '?', '#']).next().unwrap_or(after);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    host.to_owned()
}
