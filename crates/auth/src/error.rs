//! Errors of a login. Their texts contain no secrets.

use rmcp::transport::auth::AuthError;
use spillgate_untrusted::line;

/// Most characters shown of another party's text.
const MOST_SHOWN: usize = 300;

/// A login failed, or could not be renewed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server's URL cannot be used.
    #[error("not the URL of a server: {0}")]
    Url(String),
    /// A step at the server or its authorization server failed.
    #[error("{doing} failed: {why}")]
    Failed {
        /// The step that failed.
        doing: &'static str,
        /// The reason.
        why: String,
    },
    /// The person refused, or the authorization server did for them.
    #[error("the login was refused: {0}")]
    Denied(String),
    /// Only a new login helps.
    #[error("{0}")]
    Again(&'static str),
    /// The tokens could not be saved or read.
    #[error("the tokens could not be kept in {path}: {source}")]
    Vault {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl LoginError {
    /// An error of rmcp in a step. Removes `secrets` from its text, because servers repeat what
    /// they were sent.
    pub(crate) fn at(doing: &'static str, error: &AuthError, secrets: &[&str]) -> Self {
        Self::Failed {
            doing,
            why: without(&error.to_string(), secrets),
        }
    }
}

/// Returns a text on one line, truncated, without these secrets.
pub(crate) fn without(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "…");
    }
    line(&text, MOST_SHOWN)
}
