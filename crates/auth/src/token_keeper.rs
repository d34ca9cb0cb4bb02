//! Supplies a gateway with valid tokens, without a user's help.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::Client;
use reqwest::header::HeaderValue;
use rmcp::transport::auth::{AuthError, CredentialStore, OAuthClientConfig, OAuthTokenResponse};
use spillgate_transport::{Authority, NoCredential, Refused};
use tokio::time::Instant;

use crate::login::manager;
use crate::vault::Login;
use crate::{LoginError, Vault, origin_of};

/// How long a token is reused after it was read, so that the file is not opened for each message.
/// If the token in the file is replaced during this time, the server refuses the old token, and the
/// file is read again.
const REMEMBERED: Duration = Duration::from_secs(1);

/// Supplies the tokens for one server, and renews a token when the server refuses it. Ignores
/// expiry times, because only the server knows whether it still accepts a token.
#[derive(Clone)]
pub struct TokenKeeper {
    vault: Vault,
    server: Arc<str>,
    /// The command that the user runs to log in.
    command: Arc<str>,
    client: Client,
    /// The time of the last read of the file, and the token in it.
    last: Arc<Mutex<Option<CachedToken>>>,
}

/// The time of a read, and the token read.
type CachedToken = (Instant, Option<HeaderValue>);

impl std::fmt::Debug for TokenKeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenKeeper")
            .field("server", &origin_of(&self.server))
            .finish_non_exhaustive()
    }
}

impl TokenKeeper {
    /// Returns a keeper of the tokens for the server at `url`. `command` is the command to log in,
    /// for error messages. `client` must not follow redirects.
    #[must_use]
    pub fn new(vault: Vault, url: &str, command: &str, client: Client) -> Self {
        Self {
            vault,
            server: url.into(),
            command: command.into(),
            client,
            last: Arc::default(),
        }
    }

    fn kept(&self) -> Result<Option<Login>, LoginError> {
        self.vault.load(&self.server)
    }

    /// Reads the stored token.
    fn read(&self) -> Option<HeaderValue> {
        let kept = self.kept().unwrap_or_else(|error| {
            tracing::warn!(%error, "the stored login of a server could not be read");
            None
        });
        kept.as_ref().and_then(bearer)
    }

    /// Returns a token that differs from the refused one.
    async fn another(&self, refused: &Refused) -> Result<HeaderValue, LoginError> {
        let _lock = self.vault.lock(&self.server).await?;
        let again = LoginError::Again;
        let login = self.kept()?.ok_or(again("nobody has logged in yet"))?;
        let kept = bearer(&login).ok_or(again("the login has no token"))?;
        let challenge = refused.challenge.as_deref();
        if refused.credential.as_ref() != Some(&kept) {
            return Ok(kept); // another gateway or a new login has already replaced the token
        }
        if challenge.is_some_and(|challenge| challenge.contains("insufficient_scope")) {
            return Err(again(
                "the login does not include the permissions that this request needs",
            ));
        }
        let renewed = self.renewed(login, challenge).await?;
        self.vault.save(&renewed)?;
        bearer(&renewed).ok_or(again("the new token cannot be sent"))
    }

    async fn renewed(&self, login: Login, challenge: Option<&str>) -> Result<Login, LoginError> {
        let again = LoginError::Again;
        let tokens = token(&login).map(tokens).unwrap_or_default();
        let secrets = tokens.iter().chain([&login.client_secret]).flatten();
        let secrets: Vec<&str> = secrets.map(String::as_str).collect();
        let failed = |doing| {
            let secrets = secrets.clone();
            move |error| LoginError::at(doing, &error, &secrets)
        };
        let (mut manager, store) = manager(&self.server, self.client.clone()).await?;
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let metadata = found
            .map_err(failed("finding the authorization server"))?
            .metadata;
        // A token must be sent only to the server that issued it.
        let issuer = login.credentials.issuer.as_deref();
        if issuer.is_some() && issuer != metadata.issuer.as_deref() {
            return Err(again("the server has changed its authorization server"));
        }
        manager.set_metadata(metadata);
        let mut config = OAuthClientConfig::new(&login.client_id, &*self.server);
        config.client_secret = login.client_secret.clone();
        let configured = manager.configure_client(config);
        configured.map_err(failed("setting up the client"))?;
        let saved = store.save(login.credentials.clone()).await;
        saved.map_err(failed("renewing the login"))?;
        match manager.refresh_token().await {
            Ok(_) => {}
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
                return Err(again("the login has expired"));
            }
            Err(error) => return Err(failed("renewing the login")(error)),
        }
        let credentials = store.load().await.ok().flatten();
        let credentials = credentials.ok_or(again("the login has expired"))?;
        Ok(Login {
            credentials,
            ..login
        })
    }
}

impl Authority for TokenKeeper {
    fn credential(&self) -> BoxFuture<'_, Option<HeaderValue>> {
        let mut last = self.last.lock();
        let token = match &*last {
            Some((read, token)) if read.elapsed() < REMEMBERED => token.clone(),
            _ => {
                let token = self.read();
                *last = Some((Instant::now(), token.clone()));
                token
            }
        };
        std::future::ready(token).boxed()
    }

    fn refused(&self, refused: Refused) -> BoxFuture<'_, Result<HeaderValue, NoCredential>> {
        let told = async move {
            // Renewing runs to its end even if the caller stops waiting: a refresh token can often
            // be used only once, so the new one must be saved.
            let keeper = self.clone();
            let renewing = tokio::spawn(async move { keeper.another(&refused).await });
            let renewed = renewing
                .await
                .map_err(|error| NoCredential(error.to_string()))?;
            *self.last.lock() = None;
            renewed.map_err(|error| {
                tracing::info!(%error, server = origin_of(&self.server), "no valid token for a server: its login could not be renewed");
                NoCredential(format!("{error}; to log in, run `{}`", self.command))
            })
        };
        told.boxed()
    }
}

fn token(login: &Login) -> Option<&OAuthTokenResponse> {
    login.credentials.token_response.as_ref()
}

/// Returns the `Authorization` header with the access token.
fn bearer(login: &Login) -> Option<HeaderValue> {
    let [access, _] = tokens(token(login)?);
    let mut header = HeaderValue::from_str(&format!("Bearer {}", access?)).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Returns the access token and the refresh token. They are read from the JSON form of the
/// response, which RFC 6749 defines.
fn tokens(response: &OAuthTokenResponse) -> [Option<String>; 2] {
    let json = serde_json::to_value(response).unwrap_or_default();
    ["access_token", "refresh_token"].map(|name| Some(json.get(name)?.as_str()?.to_owned()))
}
