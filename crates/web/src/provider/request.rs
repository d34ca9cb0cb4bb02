//! Builds the requests to search services.

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder};
use serde_json::json;

use super::{Key, Provider, Service};

/// The header in which Brave expects the key.
const BRAVE_KEY: &str = "x-subscription-token";

/// Builds a request for the first `most` results.
pub(super) fn request(
    provider: &Provider,
    client: &Client,
    query: &str,
    most: usize,
) -> RequestBuilder {
    let mut url = provider.url.clone();
    let key = provider.key.as_ref();
    match provider.service {
        Service::Searxng => {
            let path = url.path().trim_end_matches('/');
            let path = match path.ends_with("/search") {
                true => path.to_owned(),
                false => format!("{path}/search"),
            };
            url.set_path(&path);
            url.query_pairs_mut()
                .append_pair("q", query)
                .append_pair("format", "json");
            let request = client.get(url).header(ACCEPT, "application/json");
            match key {
                Some(key) => request.header(AUTHORIZATION, bearer(key)),
                None => request,
            }
        }
        Service::Brave => {
            url.query_pairs_mut()
                .append_pair("q", query)
                .append_pair("count", &most.to_string())
                .append_pair("text_decorations", "false");
            let request = client.get(url).header(ACCEPT, "application/json");
            request.header(BRAVE_KEY, secret(key.map_or("", |key| &key.0)))
        }
        Service::Tavily => {
            let body = json!({ "query": query, "max_results": most });
            let request = client.post(url).header(CONTENT_TYPE, "application/json");
            let request = request.body(body.to_string());
            request.header(AUTHORIZATION, key.map_or_else(|| secret(""), bearer))
        }
    }
}

fn bearer(key: &Key) -> HeaderValue {
    secret(&format!("Bearer {}", key.0))
}

/// Returns a header value that is not logged. It is empty if a header cannot contain the value; the
/// service then refuses it like any wrong key.
fn secret(value: &str) -> HeaderValue {
    let mut value = HeaderValue::from_str(value).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}
