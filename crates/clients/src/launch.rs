//! The command line that starts a server.

use serde_json::Value;

use crate::Client;
use crate::dialect;
use crate::entry::{Entry, Started};

/// A command line as a client would run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The environment variables of the entry.
    pub environment: Vec<(String, String)>,
    /// The working directory, if the entry names one.
    pub directory: Option<String>,
    /// Whether the client substitutes variables.
    pub fills_in: bool,
    /// Whether the client also substitutes `$NAME` without braces.
    pub fills_in_bare: bool,
}

/// The error for a variable in a client's configuration that has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the variable `{0}` in the client's configuration has no value")]
pub struct UnsetVariable(pub String);

impl Launch {
    pub(crate) fn of(client: Client, entry: &Entry, started: Started) -> Self {
        let variables = entry
            .get(dialect::of(client).env)
            .and_then(Value::as_object);
        let variables = variables.into_iter().flatten();
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self {
            program: started.program,
            arguments: started.arguments,
            environment: variables
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
            directory: entry.get("cwd").and_then(Value::as_str).map(str::to_owned),
            fills_in: client.fills_in(),
            fills_in_bare: client == Client::Gemini,
        }
    }

    /// Returns a copy with the client's variables substituted. `value` receives the text between
    /// the braces (`HOME`, `env:HOME`, `workspaceFolder`). The error names the first variable
    /// without a value.
    pub fn filled(&self, value: impl Fn(&str) -> Option<String>) -> Result<Self, UnsetVariable> {
        let fill = |text: &String| match self.fills_in {
            true if self.fills_in_bare => filled(&bare(text, &value), &value),
            true => filled(text, &value),
            false => Ok(text.clone()),
        };
        let pair = |(name, text): &(String, String)| Ok((name.clone(), fill(text)?));
        Ok(Self {
            program: fill(&self.program)?,
            arguments: self
                .arguments
                .iter()
                .map(fill)
                .collect::<Result<_, UnsetVariable>>()?,
            environment: self
                .environment
                .iter()
                .map(pair)
                .collect::<Result<_, UnsetVariable>>()?,
            directory: self.directory.as_ref().map(fill).transpose()?,
            fills_in: false,
            fills_in_bare: false,
        })
    }
}

/// Substitutes `${name}`, `${name:-else}` and `{env:name}`.
fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, UnsetVariable> {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = [rest.find("${"), rest.find("{env:")]
        .into_iter()
        .flatten()
        .min()
    {
        let open = if rest[at..].starts_with('$') { 2 } else { 1 };
        let Some(close) = rest[at..].find('}') else {
            break;
        };
        let inner = &rest[at + open..at + close];
        let (name, other) = match inner.split_once(":-") {
            Some((name, other)) => (name, Some(other.to_owned())),
            None => (inner, None),
        };
        done.push_str(&rest[..at]);
        // Scripts may also use the braces for expansions that the client does not substitute.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_:.-".contains(c);
        match !name.is_empty() && name.chars().all(is_name) {
            true => done.push_str(
                &value(name)
                    .or(other)
                    .ok_or_else(|| UnsetVariable(name.to_owned()))?,
            ),
            false => done.push_str(&rest[at..=at + close]),
        }
        rest = &rest[at + close + 1..];
    }
    Ok(done + rest)
}

/// Substitutes `$NAME`; an unset variable stays as it is, as in Gemini CLI.
fn bare(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let name = &after[..end];
        done.push_str(&rest[..at]);
        match value(name).filter(|_| !name.is_empty()) {
            Some(value) => done.push_str(&value),
            None => done.push_str(&rest[at..=at + end]),
        }
        rest = &after[end..];
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_braces_are_filled_in() {
        let value = |name: &str| (name == "A").then(|| "1".to_owned());
        for (text, gives) in [
            ("Bearer $A", "Bearer 1"),
            ("$A-$A", "1-1"),
            ("$AB ${A} $ 5$", "$AB ${A} $ 5$"),
        ] {
            assert_eq!(bare(text, value), gives, "{text}");
        }
    }

    #[test]
    fn variables_are_filled_in() {
        let value = |name: &str| match name {
            "A" | "env:A" => Some("1".to_owned()),
            _ => None,
        };
        for (text, gives) in [
            ("plain $A {b}", Ok("plain $A {b}")),
            ("x${A}y${env:A}{env:A}", Ok("x1y11")),
            ("${B:-two}${A:-two}", Ok("two1")),
            ("${B}", Err("B")),
            ("${A", Ok("${A")),
            ("${A##*x} ${A}", Ok("${A##*x} 1")),
        ] {
            let gives = gives.map(str::to_owned);
            let gives = gives.map_err(|name| UnsetVariable(name.to_owned()));
            assert_eq!(filled(text, value), gives, "{text}");
        }
    }
}
