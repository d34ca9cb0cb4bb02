//! Admits the requests of the page for a person: the rate, the number in flight, and the tokens of
//! clients.
//!
//! A browser cannot send a token with each request, so the page keeps a session in a cookie and refuses
//! requests without one by itself. Where clients authenticate, the page is told here whose token came
//! with a request, or with the form of a login.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use crate::api::in_flight;
use crate::limits::ConcurrencyPermit;
use crate::problem::Problem;
use crate::server::{Inner, ends_of};
use crate::settings::Auth;

/// Path of the form with which a person sends a token, below the page's own path.
const LOGIN: &str = "/login";

/// The field of that form.
const FIELD: &str = "token";

/// Maximum size of that form, in bytes: tokens of authorization servers have some kilobytes.
const FORM: usize = 32 << 10;

/// Passes a request on to the page. If the settings ask for a token and a valid one came with the
/// request, its extensions have the [`Caller`](spillgate_http_api::Caller).
pub(crate) async fn admit(
    State(inner): State<Arc<Inner>>,
    request: Request,
    next: Next,
) -> Response {
    match admitted(&inner, request).await {
        Ok((request, permit)) => in_flight(next.run(request).await, permit),
        Err(problem) => problem.into_details(),
    }
}

async fn admitted(
    inner: &Inner,
    mut request: Request,
) -> Result<(Request, ConcurrencyPermit), Problem> {
    let ip = ends_of(&request).peer.ip();
    if let Some(rates) = &inner.rates {
        rates.count(None, ip)?;
    }
    let most = inner.settings.max_requests_per_session;
    let permit = inner.concurrency.take(format!("page of {ip}"), most)?;
    if inner.settings.auth == Auth::None {
        return Ok((request, permit));
    }
    let is_login = request.method() == Method::POST && request.uri().path().ends_with(LOGIN);
    let mut sent = request.headers().get(AUTHORIZATION).cloned();
    if is_login {
        let (head, body) = request.into_parts();
        let form = inner.read(body, FORM).await?;
        sent = in_form(&form);
        request = Request::from_parts(head, Body::from(form));
    }
    if let Some(sent) = sent {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, sent)]);
        if let Ok(owner) = inner.authenticator.ask(&headers).await {
            let caller = inner.caller(&owner)?;
            request.extensions_mut().insert(caller);
            let validity = inner.authenticator.validity(&owner);
            request.extensions_mut().insert(validity);
        }
    }
    Ok((request, permit))
}

/// Returns the token in a form, as a header would carry it.
fn in_form(form: &Bytes) -> Option<HeaderValue> {
    let mut fields = form_urlencoded::parse(form);
    let (_, token) = fields.find(|(name, _)| name == FIELD)?;
    HeaderValue::from_str(&format!("Bearer {}", token.trim())).ok()
}
