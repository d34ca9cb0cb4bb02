//! Lets a person in: a link or a token becomes a session in a cookie.
//!
//! The cookie is not readable by scripts and is not sent with requests from other sites. Pages of other
//! servers on the same host count as the same site, so requests that a browser says come from another
//! origin are refused, too, unless they only open a page.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use axum::middleware::Next;
use axum::response::IntoResponse;
use data_encoding::HEXLOWER;
use maud::{Markup, html};
use parking_lot::Mutex;
use spillgate_artifact::{Clock, Timestamp};
use spillgate_http_api::{Caller, Problem, StillValid};
use subtle::ConstantTimeEq;

use crate::PREFIX;
use crate::asked::Asked;
use crate::frame::{self, bare};

/// Bytes of a token or of the secret of a session.
const SECRET: usize = 32;

/// Maximum number of sessions of all callers. The oldest one ends if another begins.
const SESSIONS: usize = 256;

/// Maximum number of sessions of a caller. The caller's oldest one ends if another begins, so that
/// nobody ends the sessions of others by many logins.
const SESSIONS_OF_ONE: usize = 8;

/// How long a session lasts.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);

/// The caller of a person who came by the link.
const OWNER: &str = "owner";

/// Path of the login below [`PREFIX`].
pub(crate) const LOGIN: &str = "/login";

/// Only scripts, styles and images of this server; no page may frame ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The sessions, and the token of the link.
pub struct Door {
    /// `None` if clients of the server send tokens of their own.
    token: Option<String>,
    sessions: Mutex<Vec<Session>>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Door")
    }
}

struct Session {
    secret: String,
    caller: String,
    since: Timestamp,
    /// Whether the token of the login is valid still; `None` for the link, which is valid as long as
    /// the program runs.
    validity: Option<StillValid>,
}

impl Session {
    fn is_valid(&self) -> bool {
        self.validity.as_ref().is_none_or(|validity| validity.0())
    }
}

fn secret() -> String {
    let mut bytes = [0; SECRET];
    getrandom::fill(&mut bytes).expect("invariant: the system has random bytes");
    HEXLOWER.encode(&bytes)
}

fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

impl Door {
    /// Returns a door. If clients of the server send tokens, a person comes in with such a token;
    /// otherwise with a link.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, has_tokens: bool) -> Self {
        Self {
            token: (!has_tokens).then(secret),
            sessions: Mutex::default(),
            clock,
        }
    }

    /// Whether clients of the server send tokens.
    pub(crate) fn has_tokens(&self) -> bool {
        self.token.is_none()
    }

    /// Returns the path of the link that opens the page.
    pub(crate) fn link(&self) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{PREFIX}{LOGIN}?token={token}"))
    }

    /// Begins a session and returns the secret of its cookie.
    fn begin(&self, caller: String, validity: Option<StillValid>) -> String {
        let mut sessions = self.sessions.lock();
        let of_caller = sessions.iter().filter(|one| one.caller == caller).count();
        if of_caller >= SESSIONS_OF_ONE {
            let oldest = sessions.iter().position(|one| one.caller == caller);
            sessions.remove(oldest.expect("invariant: there are some"));
        } else if sessions.len() >= SESSIONS {
            sessions.remove(0);
        }
        let secret = secret();
        sessions.push(Session {
            secret: secret.clone(),
            caller,
            since: self.clock.now(),
            validity,
        });
        secret
    }

    /// Returns the caller to whom a session belongs; `None` if there is none, or if it is over.
    fn caller(&self, secret: &str) -> Option<String> {
        let now = self.clock.now();
        let mut sessions = self.sessions.lock();
        sessions.retain(|one| one.since.age_at(now) < LASTS && one.is_valid());
        let found = sessions.iter().find(|one| is_same(&one.secret, secret));
        found.map(|one| one.caller.clone())
    }

    fn end(&self, secret: &str) {
        let mut sessions = self.sessions.lock();
        sessions.retain(|one| !is_same(&one.secret, secret));
    }

    /// Returns to whom a token belongs that came in the link, or, with a request that the server
    /// recognized, in the form.
    fn recognized(&self, token: Option<&str>, known: Option<&Caller>) -> Option<String> {
        if let Some(Caller(known)) = known {
            return Some(known.clone());
        }
        let (own, sent) = (self.token.as_deref()?, token?);
        is_same(own, sent).then(|| OWNER.to_owned())
    }
}

/// Returns the name of the cookie. Cookies do not know ports, so that of each port has its own name.
fn cookie_name(request: &Request) -> String {
    let host = request.headers().get(HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    // Requests of HTTP/2 have no `Host`.
    let host = host.as_ref().or(request.uri().authority());
    let port = host.and_then(Authority::port_u16).unwrap_or_default();
    format!("spillgate_ui_{port}")
}

/// Returns the secret in the cookie of a request.
fn cookie(request: &Request) -> Option<String> {
    let name = cookie_name(request);
    let sent = request.headers().get_all(COOKIE).iter();
    let sent = sent.filter_map(|one| one.to_str().ok());
    let mut pairs = sent.flat_map(|one| one.split(';'));
    pairs.find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then(|| value.to_owned())
    })
}

/// Passes a request on if it comes from a person with a session, or from a client with a token.
pub(crate) async fn guarded(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> axum::response::Response {
    let is_login = request.uri().path() == LOGIN;
    let is_open = is_login || request.uri().path().starts_with("/assets/");
    if is_foreign(&request) {
        let what = "the request comes from a page of another server";
        return refused(StatusCode::FORBIDDEN, what);
    }
    let has_token = request.extensions().get::<Caller>().is_some();
    // A login is by a token alone: a session would make any token good, and could renew itself.
    let secret = (!is_login).then(|| cookie(&request)).flatten();
    let session = secret.and_then(|secret| door.caller(&secret));
    if let Some(caller) = session {
        // A cookie comes with every request, so a change must also show that one of our pages asks.
        if !request.method().is_safe() && !is_own(request.headers()) {
            let what = "the browser does not say that a page of this server asks";
            return refused(StatusCode::FORBIDDEN, what);
        }
        request.extensions_mut().insert(Caller(caller));
    } else if !is_open && !has_token {
        return not_let_in(&door, request.headers());
    }
    next.run(request).await
}

/// Whether a browser says that a page of another origin makes a request, other than to open a page.
fn is_foreign(request: &Request) -> bool {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    };
    let is_elsewhere = matches!(header("sec-fetch-site"), "same-site" | "cross-site");
    let opens_a_page = request.method() == Method::GET
        && header("sec-fetch-mode") == "navigate"
        && header("sec-fetch-dest") == "document";
    is_elsewhere && !opens_a_page
}

/// Whether a request comes from one of our own pages. The server has compared `Origin` with `Host`.
fn is_own(headers: &HeaderMap) -> bool {
    let says = headers.get("sec-fetch-site");
    headers.contains_key("origin") || says.is_some_and(|says| says == "same-origin")
}

fn refused(status: StatusCode, what: &str) -> axum::response::Response {
    Problem::refused(status, what).into_response()
}

/// The answer to a request without a session: a page for a person, a problem for a script.
fn not_let_in(door: &Door, headers: &HeaderMap) -> axum::response::Response {
    let accepts = headers.get("accept").and_then(|value| value.to_str().ok());
    if !accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        return refused(
            StatusCode::UNAUTHORIZED,
            "there is no session, or it is over",
        );
    }
    let status = StatusCode::UNAUTHORIZED;
    (status, bare("Log in", &form(door, false))).into_response()
}

fn form(door: &Door, is_wrong: bool) -> Markup {
    html! {
        h1 { "Spillgate" }
        @if is_wrong { p.notice role="alert" { "That token is not accepted." } }
        @if door.token.is_some() {
            p { "Open the link that the program printed when it started. It is valid as long as the program runs." }
        } @else {
            p { "Log in with a token of this server." }
        }
        form.login method="post" action={ (PREFIX) (LOGIN) } {
            label for="token" { "Token" }
            input #token type="password" name="token" autocomplete="off" required autofocus;
            button { "Log in" }
        }
    }
}

/// `GET /login?token=…`: begins a session by the link, or shows the form.
pub(crate) async fn by_link(
    State(door): State<Arc<Door>>,
    request: Request,
) -> axum::response::Response {
    let asked = Asked::of_query(request.uri().query());
    match asked.text("token") {
        None => bare("Log in", &form(&door, false)).into_response(),
        token => let_in(&door, &request, token),
    }
}

/// `POST /login`: begins a session by a token in a form.
pub(crate) async fn by_form(
    State(door): State<Arc<Door>>,
    request: Request,
) -> axum::response::Response {
    let (head, body) = request.into_parts();
    let asked = Asked::of_form(body).await;
    let request = Request::from_parts(head, Body::empty());
    let_in(&door, &request, asked.text("token"))
}

fn let_in(door: &Door, request: &Request, token: Option<&str>) -> axum::response::Response {
    let known = request.extensions().get::<Caller>();
    let Some(caller) = door.recognized(token, known) else {
        let status = StatusCode::UNAUTHORIZED;
        return (status, bare("Log in", &form(door, true))).into_response();
    };
    let validity = request.extensions().get::<StillValid>().cloned();
    let secret = door.begin(caller, validity);
    let name = cookie_name(request);
    let seconds = LASTS.as_secs();
    let cookie =
        format!("{name}={secret}; Path={PREFIX}; HttpOnly; SameSite=Strict; Max-Age={seconds}");
    // A redirect would belong to the request of the program or the site with the link, so the browser
    // would not send the cookie. This page leads on by itself.
    let mut response = frame::leading_to(&format!("{PREFIX}/")).into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// `POST /logout`: ends the session.
pub(crate) async fn leave(State(door): State<Arc<Door>>, request: Request) -> Response<Body> {
    if let Some(secret) = cookie(&request) {
        door.end(&secret);
    }
    to(&format!("{PREFIX}{LOGIN}"))
}

/// Returns a response that leads to a path of ours.
pub(crate) fn to(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, path);
    }
    response
}

/// Adds the headers that keep a browser from taking stored bytes for something else, and other pages
/// from using ours.
pub(crate) async fn with_headers(request: Request, next: Next) -> axum::response::Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let fixed = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // Without a referrer, forms would send no origin.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_static(POLICY);
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(policy);
    let none = HeaderValue::from_static("no-store");
    headers.entry(CACHE_CONTROL).or_insert(none);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_cookie_has_the_port() {
        for (uri, host, name) in [
            ("/", Some("localhost:8701"), "spillgate_ui_8701"),
            ("http://localhost:8702/", None, "spillgate_ui_8702"),
            ("/", Some("example.org"), "spillgate_ui_0"),
            ("/", None, "spillgate_ui_0"),
        ] {
            let mut request = Request::get(uri);
            if let Some(host) = host {
                request = request.header(HOST, host);
            }
            assert_eq!(cookie_name(&request.body(Body::empty()).unwrap()), name);
        }
    }
}
