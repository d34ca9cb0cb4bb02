//! The static tokens of clients: reads their files and variables, and reads the files again when they
//! change.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use spillgate_http_server::{Token, ValidTokens};
use tokio::task::spawn_blocking;

use super::reload::Changes;
use crate::failure::{Failure, Fault};

/// Where the tokens are.
#[derive(Debug, Clone)]
pub(super) struct TokenSources {
    pub(super) files: Vec<String>,
    pub(super) variables: Vec<String>,
    /// Whether each token must have a name.
    pub(super) names: bool,
}

impl TokenSources {
    /// Reads all tokens.
    pub(super) fn read(&self) -> Result<Vec<Token>, Failure> {
        let (files, variables) = (&self.files, &self.variables);
        let failed = |what: String| {
            let hint = "write one token per line in a file, or a single token in a variable";
            Failure::new("config", Fault::Caller, what).hint(hint)
        };
        let mut tokens = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| failed(format!("the token file {file}: {error}")))?;
            warn_of_readers(file);
            let read = Token::in_file(&text);
            let read = read.map_err(|error| failed(format!("the token file {file}: {error}")))?;
            self.check_names(&read, &format!("the token file {file}"))?;
            tokens.extend(read);
        }
        for variable in variables {
            let value = std::env::var(variable);
            let value =
                value.map_err(|_| failed(format!("the variable `{variable}` is not set")))?;
            let read: Vec<Token> = Token::new(&value).into_iter().collect();
            self.check_names(&read, &format!("the variable `{variable}`"))?;
            tokens.extend(read);
        }
        Token::check_owners(&tokens).map_err(|error| {
            let hint = "give each name a token of its own; a name can have several";
            Failure::new("config", Fault::Caller, error.to_string()).hint(hint)
        })?;
        match tokens.is_empty() {
            false => Ok(tokens),
            true if files.is_empty() && variables.is_empty() => Err(failed(
                "`http.auth.kind` is \"bearer\", but neither `token_files` nor `token_env` names a token"
                    .to_owned(),
            )),
            true => {
                let named = [files.as_slice(), variables].concat().join(", ");
                Err(failed(format!("there is no token in {named}")))
            }
        }
    }

    /// With tenants, a token without a name would belong to nobody.
    fn check_names(&self, tokens: &[Token], place: &str) -> Result<(), Failure> {
        let nameless = |(_, token): &(usize, &Token)| token.principal().is_none();
        let mut counted = (1..).zip(tokens);
        match counted.find(nameless).filter(|_| self.names) {
            None => Ok(()),
            Some((number, _)) => {
                let what = format!("token {number} of {place} has no name");
                let hint = "with `tenants.enabled`, write `NAME: TOKEN`; the tokens of one name have the same store, and the name `local` is reserved for the operator";
                Err(Failure::new("config", Fault::Caller, what).hint(hint))
            }
        }
    }
}

/// Replaces the valid tokens whenever one of their files changes. If the files have no valid tokens, the
/// old ones stay valid.
pub(super) async fn watch(sources: TokenSources, valid: ValidTokens) {
    let files: Vec<PathBuf> = sources.files.iter().map(PathBuf::from).collect();
    if files.is_empty() {
        return;
    }
    let mut changes = Changes::of(files);
    loop {
        changes.next().await;
        let again = sources.clone();
        match spawn_blocking(move || again.read()).await {
            Ok(Ok(tokens)) => {
                valid.replace(&tokens);
                tracing::warn!(
                    "the token files have changed; the new tokens are now valid, and no others"
                );
            }
            Ok(Err(failure)) => {
                let what = failure.text();
                tracing::warn!(
                    what,
                    "a token file has changed but cannot be used: the old tokens are still valid"
                );
            }
            Err(error) => tracing::error!(%error, "the token files could not be read"),
        }
    }
}

/// Only warns, because on a machine without other accounts nobody else can read the file.
fn warn_of_readers(file: &str) {
    const OTHERS: u32 = 0o007;
    let mode = std::fs::metadata(file).map(|found| found.permissions().mode() & 0o777);
    if let Ok(mode) = mode
        && mode & OTHERS != 0
    {
        tracing::warn!(
            "everybody on this machine can read the token file {file} (mode {mode:o}): run `chmod 600 {file}`"
        );
    }
}
