//! What can go wrong with a login, told without a secret?

use rmcp::transport::auth::AuthError;
use spillgate_untrusted::line;

/// Characters of what another party said that are shown.
const MOST_SHOWN: usize = 300;

/// A login did not come about or could not be renewed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The URL of the server cannot be used.
    #[error("not the URL of a server: {0}")]
    Url(String),
    /// The server or its authorization server did not play along.
    #[error("{doing} failed: {why}")]
    Failed {
        /// At what.
        doing: &'static str,
        /// What it said.
        why: String,
    },
    /// The person, or the authorization server for them, said no.
    #[error("the login was refused: {0}")]
    Denied(String),
    /// Only a new login helps.
    #[error("{0}")]
    Again(&'static str),
    /// The tokens could not be kept or read.
    #[error("the tokens could not be kept in {path}: {source}")]
    Vault {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl LoginError {
    /// What rmcp says of a step. `secrets` are cut out of it: servers repeat what
    /// they were sent.
    pub(crate) fn at(doing: &'static str, error: &AuthError, secrets: &[&str]) -> Self {
        Self::Failed {
            doing,
            why: without(&error.to_string(), secrets),
        }
    }
}

/// A text on one line, not too long, without these secrets.
pub(crate) fn without(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "…");
    }
    line(&text, MOST_SHOWN)
}
