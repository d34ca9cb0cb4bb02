//! Sends the requests of a login.

use axum::http::Response;
use reqwest::{Body, Client, Request};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

/// Maximum size of a response, in bytes. Usual metadata and tokens take a few thousand.
const MOST_BYTES: usize = 1 << 20;

/// Sends requests with the shared HTTP client, so that proxy and certificates are the same as
/// elsewhere. Neither the client nor this type follows redirects, because the requests contain
/// secrets that only the addressed server may see.
#[derive(Debug, Clone)]
pub(crate) struct OAuthSender(pub(crate) Client);

impl OAuthHttpClient for OAuthSender {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let mut sent = Request::try_from(request.request)?;
            *sent.timeout_mut() = request.timeout;
            let fault = reqwest::Error::without_url;
            let mut response = self.0.execute(sent).await.map_err(fault)?;
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(fault)? {
                if body.len() + chunk.len() > MOST_BYTES {
                    return Err("the response has more than 1 MiB".into());
                }
                body.extend_from_slice(&chunk);
            }
            let head: Response<Body> = response.into();
            Ok(head.map(|_| body))
        })
    }
}
