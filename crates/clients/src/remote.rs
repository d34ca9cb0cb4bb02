//! Reads entries of remote servers, and builds the gateway's flags for them.

use serde_json::Value;

use crate::Client;
use crate::dialect::Dialect;
use crate::entry::Entry;

/// A server that is reached by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    /// The field that holds the address.
    pub(crate) field: String,
    pub(crate) url: String,
    /// Whether the address must be passed in an environment variable, as headers are.
    pub(crate) url_is_secret: bool,
    /// Whether the server speaks the older HTTP with SSE.
    pub(crate) sse: bool,
    pub(crate) headers: Vec<Header>,
    /// The environment variable of the client that holds the token of `Authorization: Bearer`
    /// (Codex).
    pub(crate) bearer: Option<String>,
}

/// The environment variable that passes an address with a secret.
pub(crate) const URL_VARIABLE: &str = "SPILLGATE_URL";
/// Codex's field for the variable with a bearer token.
pub(crate) const BEARER: &str = "bearer_token_env_var";

/// A header. The gateway reads its value from an environment variable, because everyone on the
/// machine can read a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) variable: String,
    /// The value of the variable; `None` if the client's environment already has it.
    pub(crate) value: Option<String>,
}

impl Remote {
    /// Reads a remote server's entry. The error says why the gateway cannot be put in front of the
    /// server.
    pub(crate) fn new(
        client: Client,
        dialect: &Dialect,
        entry: &Entry,
        field: &str,
        url: &str,
    ) -> Result<Self, String> {
        let mut headers: Vec<Header> = Vec::new();
        for (name, value) in pairs(entry, dialect.headers)? {
            if client == Client::Goose && value.contains('$') {
                return Err(format!("goose fills in the header {name:?} itself"));
            }
            let variable = variable(&name, &headers);
            let value = Some(value);
            headers.push(Header {
                name,
                variable,
                value,
            });
        }
        if client == Client::Codex {
            for (name, variable) in pairs(entry, "env_http_headers")? {
                headers.push(Header {
                    name,
                    variable,
                    value: None,
                });
            }
        }
        let wrong = headers
            .iter()
            .find(|header| header.name.is_empty() || header.name.contains(['=', '\n']));
        if let Some(header) = wrong {
            return Err(format!("{:?} is not the name of a header", header.name));
        }
        let bearer = bearer(client, entry, &headers)?;
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let kind = entry
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let sse = match kind {
            "sse" => true,
            // Without a more specific `type`, clients try both transports.
            "" | "remote" => path.trim_end_matches('/').ends_with("/sse"),
            _ => false,
        };
        Ok(Self {
            field: field.to_owned(),
            url: url.to_owned(),
            url_is_secret: holds_secret(url),
            sse,
            headers,
            bearer,
        })
    }

    /// Returns whether the entry holds any credentials.
    pub(crate) fn logs_in(&self) -> bool {
        !self.headers.is_empty() || self.bearer.is_some() || self.url_is_secret
    }
}

fn bearer(client: Client, entry: &Entry, headers: &[Header]) -> Result<Option<String>, String> {
    let variable = match entry.get(BEARER) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(variable)) if client == Client::Codex => variable,
        Some(_) => {
            return Err(format!(
                "`{BEARER}` is supported only for Codex, and only as a text"
            ));
        }
    };
    let is_authorization = |header: &Header| header.name.eq_ignore_ascii_case("authorization");
    match headers.iter().any(is_authorization) {
        true => Err(format!(
            "`{BEARER}` and a header `Authorization` are both set"
        )),
        false => Ok(Some(variable.clone())),
    }
}

fn pairs(entry: &Entry, field: &str) -> Result<Vec<(String, String)>, String> {
    let members = match entry.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(format!("`{field}` is no table")),
    };
    let pair = |(name, value): (&String, &Value)| {
        let value = value
            .as_str()
            .ok_or(format!("the header {name:?} is no text"))?;
        Ok((name.clone(), value.to_owned()))
    };
    members.iter().map(pair).collect()
}

/// Returns a name for the variable that passes a header. No other header uses this name.
fn variable(header: &str, others: &[Header]) -> String {
    let word = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    let name: String = header.chars().map(word).collect();
    let name = format!("SPILLGATE_HEADER_{name}");
    let taken = |name: &String| others.iter().any(|other| &other.variable == name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names
        .find(|name| !taken(name))
        .expect("invariant: numbers do not end")
}

/// Returns the reason why the gateway cannot stand in front of a remote server; `None` if it can.
pub(crate) fn obstacle(entry: &Entry, url: &str) -> Option<String> {
    let set = |field: &&&str| {
        let value = entry.get(**field);
        value.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    };
    let oauth = [
        "oauth",
        "auth",
        "authProviderType",
        "oauth_resource",
        "scopes",
        "client_id",
    ];
    if let Some(field) = oauth.iter().find(set) {
        return Some(format!("the client logs in to it by OAuth (`{field}`)"));
    }
    if set(&&"headersHelper") {
        return Some("a program of the client generates its headers (`headersHelper`)".into());
    }
    if set(&&"socket") {
        return Some("it is reached through a socket".into());
    }
    let is_http = ["http://", "https://", "$", "{"];
    let is_none = !is_http.iter().any(|start| url.starts_with(start));
    is_none.then(|| "its address is not an HTTP address".into())
}

/// Substrings of query parameter names that hold secrets.
const SECRET: [&str; 9] = [
    "key",
    "token",
    "secret",
    "auth",
    "password",
    "passwd",
    "sig",
    "code",
    "credential",
];
/// A path segment with letters and digits counts as a secret, and not as a word, if it has at least
/// this many bytes.
const LONG: usize = 24;

/// Returns whether an address seems to hold a secret, which everyone on the machine could read on a
/// command line. A value that the client substitutes always counts as a secret.
fn holds_secret(url: &str) -> bool {
    if url.contains("${") || url.contains("{env:") || url.contains("{file:") {
        return true;
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = before.split_once('/').unwrap_or((before, ""));
    let named = |name: &str| {
        let name = name.to_ascii_lowercase();
        SECRET.iter().any(|secret| name.contains(secret))
    };
    let in_query = query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or(pair);
        named(name)
    });
    let in_path = path.split('/').any(|part| {
        let letters = part.chars().any(|c| c.is_ascii_alphabetic());
        let digits = part.chars().any(|c| c.is_ascii_digit());
        part.len() >= LONG && letters && digits
    });
    host.contains('@') || in_query || in_path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_hold_secrets() {
        for (url, holds) in [
            ("https://mcp.example.com/mcp", false),
            ("https://mcp.example.com/mcp?project=seven", false),
            ("https://me:pass@mcp.example.com/mcp", true),
            ("https://mcp.example.com/mcp?apiKey=1", true),
            (
                "https://mcp.example.com/s/ab12cd34ef56ab12cd34ef56/mcp",
                true,
            ),
            (
                "https://mcp.example.com/a-rather-long-name-of-a-thing",
                false,
            ),
            ("https://mcp.example.com/mcp?access_token=${TOKEN}", true),
            ("https://mcp.example.com/${KEY}/mcp", true),
            ("{env:ADDRESS}", true),
        ] {
            assert_eq!(holds_secret(url), holds, "{url}");
        }
    }

    #[test]
    fn variables_of_headers_differ() {
        let header = |name: &str| Header {
            name: name.into(),
            variable: variable(name, &[]),
            value: None,
        };
        assert_eq!(variable("x-API key", &[]), "SPILLGATE_HEADER_X_API_KEY");
        assert_eq!(variable("A_b", &[header("a-b")]), "SPILLGATE_HEADER_A_B_2");
    }
}
