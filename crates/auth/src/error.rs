//! Errors of a login. Their texts contain no secrets.

use rmcp::transport::auth::AuthError;
use spillgate_untrusted::line;

/// Maximum length, in characters, of a server's text that an error quotes.
const MOST_SHOWN: usize = 300;

/// A login failed or could not be renewed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server's URL cannot be used.
    #[error("the URL of the MCP server cannot be used: {0}")]
    Url(String),
    /// A request to the server or to its authorization server failed.
    #[error("{doing} failed: {why}")]
    Failed {
        /// The step that failed.
        doing: &'static str,
        /// The reason.
        why: String,
    },
    /// The person or the authorization server refused the login.
    #[error("the login was refused: {0}")]
    Denied(String),
    /// The user has to log in again.
    #[error("{0}")]
    Again(&'static str),
    /// The tokens could not be saved or read.
    #[error("the file with the tokens, {path}, could not be read or written: {source}")]
    Vault {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl LoginError {
    /// Returns the error for a login step that failed in the rmcp library. Removes `secrets` from
    /// its text, because servers may echo what they received.
    pub(crate) fn at(doing: &'static str, error: &AuthError, secrets: &[&str]) -> Self {
        Self::Failed {
            doing,
            why: without(&error.to_string(), secrets),
        }
    }
}

/// Returns a text as one truncated line, with these secrets removed.
pub(crate) fn without(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "…");
    }
    line(&text, MOST_SHOWN)
}
