//! Logs a person in at an MCP server, with a browser.

use std::fmt;
use std::sync::Arc;

use reqwest::{Client, Url};
use rmcp::transport::auth::{
    AuthorizationCallback, AuthorizationManager, CredentialStore, InMemoryCredentialStore,
    OAuthClientConfig,
};

use crate::error::without;
use crate::http::OAuthSender;
use crate::vault::Login;
use crate::{LoginError, Vault};

/// The parameters of a login.
#[derive(Clone, Default)]
pub struct LoginRequest {
    /// The server's URL.
    pub url: String,
    /// The URL that the browser is redirected to when the login ends.
    pub redirect: String,
    /// The scopes to request; if empty, the scopes that the server names.
    pub scopes: Vec<String>,
    /// Id and secret of a client that is already registered at the authorization server. If `None`,
    /// a new client is registered.
    pub registered: Option<(String, Option<String>)>,
}

impl fmt::Debug for LoginRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginRequest")
            .field("url", &crate::origin_of(&self.url))
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// A login that has begun and waits for the person to complete it in the browser.
pub struct LoginAttempt {
    manager: AuthorizationManager,
    store: InMemoryCredentialStore,
    config: OAuthClientConfig,
    server: String,
    page: String,
}

impl fmt::Debug for LoginAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginAttempt").finish_non_exhaustive()
    }
}

impl LoginAttempt {
    /// Finds the authorization server that the MCP server names and, if necessary, registers a
    /// client there. `client` must not follow redirects.
    pub async fn begin(request: LoginRequest, client: Client) -> Result<Self, LoginError> {
        let (mut manager, store) = manager(&request.url, client).await?;
        let failed = |doing| {
            let secret = request.registered.clone().and_then(|(_, secret)| secret);
            move |error| LoginError::at(doing, &error, &[secret.as_deref().unwrap_or_default()])
        };
        let found = manager.resolve_metadata().await;
        let found = found.map_err(failed("finding the authorization server"))?;
        manager.set_metadata(found.metadata);
        let scopes = match request.scopes.is_empty() {
            true => manager.select_initial_scopes(&[]).await,
            false => request.scopes.clone(),
        };
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let config = if let Some((id, secret)) = request.registered.clone() {
            let mut config = OAuthClientConfig::new(id, &request.redirect);
            config.client_secret = secret;
            let configured = manager.configure_client(config.clone());
            configured.map_err(failed("setting up the client"))?;
            config
        } else {
            let registered = manager.register_client("Spillgate", &request.redirect, &scopes);
            registered
                .await
                .map_err(failed("registering as a client"))?
        };
        let page = manager.get_authorization_url(&scopes).await;
        let page = page.map_err(failed("preparing the login"))?;
        let server = request.url;
        Ok(Self {
            manager,
            store,
            config,
            server,
            page,
        })
    }

    /// The URL of the page that the person has to open.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// Takes the URL that the browser was redirected to, requests the tokens and stores them.
    pub async fn finish(self, callback: &str, vault: &Vault) -> Result<(), LoginError> {
        if let Some(error) = error_in(callback) {
            return Err(LoginError::Denied(error));
        }
        let answer = AuthorizationCallback::from_redirect_url(callback)
            .map_err(|error| LoginError::at("reading the browser's answer", &error, &[]))?;
        let exchanged = self.manager.exchange_code_for_token_with_issuer(
            &answer.code,
            &answer.csrf_token,
            answer.issuer.as_deref(),
        );
        let secret = self.config.client_secret.clone().unwrap_or_default();
        exchanged
            .await
            .map_err(|error| LoginError::at("getting a token", &error, &[&answer.code, &secret]))?;
        let credentials = self.store.load().await.ok().flatten();
        let credentials = credentials.ok_or(LoginError::Again(
            "the server returned no token; log in again",
        ))?;
        let _lock = vault.lock(&self.server).await?;
        vault.save(&Login {
            url: self.server,
            client_id: self.config.client_id,
            client_secret: self.config.client_secret,
            credentials,
        })
    }
}

/// Returns rmcp's manager of a login at the MCP server `url`, and the store in which it keeps the
/// tokens, in memory only.
pub(crate) async fn manager(
    url: &str,
    client: Client,
) -> Result<(AuthorizationManager, InMemoryCredentialStore), LoginError> {
    let parsed = Url::parse(url).map_err(|error| LoginError::Url(error.to_string()))?;
    let sender = Arc::new(OAuthSender(client));
    let manager = AuthorizationManager::new_with_oauth_http_client(parsed, sender).await;
    let mut manager = manager.map_err(|error| LoginError::at("setting up", &error, &[]))?;
    let store = InMemoryCredentialStore::new();
    manager.set_credential_store(store.clone());
    Ok((manager, store))
}

/// Returns the error that the authorization server put into the callback URL instead of a code, if
/// any.
fn error_in(callback: &str) -> Option<String> {
    let url = Url::parse(callback).ok()?;
    let value = |wanted: &str| {
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.into_owned())
    };
    let error = value("error")?;
    let text = match value("error_description") {
        Some(description) => format!("{error} ({description})"),
        None => error,
    };
    Some(without(&text, &[]))
}
