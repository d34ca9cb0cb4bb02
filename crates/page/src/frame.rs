//! The frame of all views: the head, the navigation, and the page for errors.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::{Html, IntoResponse};
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;
use spillgate_http_api::Problem;

use crate::asked::Asked;
use crate::assets::address;
use crate::{PREFIX, Page};

/// The views in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Outputs,
    Find,
    Meter,
    Runs,
    Gateway,
    /// A view that the navigation does not name.
    Other,
}

const VIEWS: [(View, &str, &str); 5] = [
    (View::Outputs, "/", "Outputs"),
    (View::Find, "/find", "Search all"),
    (View::Runs, "/runs", "Runs"),
    (View::Meter, "/meter", "Meter"),
    (View::Gateway, "/gateway", "Gateway"),
];

fn head(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) " · Spillgate" }
        link rel="icon" type="image/svg+xml" href=(address("icon.svg"));
        link rel="stylesheet" href=(address("page.css"));
    }
}

/// Returns a whole page with the navigation.
pub(crate) fn framed(page: &Page, view: View, title: &str, content: &Markup) -> Html<String> {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(title))
                script src=(address("page.js")) defer {}
            }
            body data-prefix=(PREFIX) {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    a.brand href={ (PREFIX) "/" } {
                        img src=(address("icon.svg")) alt="" width="20" height="20";
                        "Spillgate"
                    }
                    nav aria-label="Views" {
                        @for (other, path, name) in VIEWS.into_iter().filter(|(view, ..)| page.offers(*view)) {
                            a href={ (PREFIX) (path) } aria-current=[(other == view).then_some("page")] { (name) }
                        }
                    }
                    span.grow {}
                    button.keys type="button" title="Keys (?)" aria-label="Show the keys" { "?" }
                    form method="post" action={ (PREFIX) "/logout" } { button.quiet { "Log out" } }
                }
                main #main { (content) }
                footer { "spillgate " (page.version) @if page.is_owner { " · " (page.place) } }
                (keys())
            }
        }
    };
    Html(markup.into_string())
}

/// Returns a page that follows what it shows: its script asks for the content alone, with `part=1`, and
/// puts the element `live` of the answer in place of that of the page.
pub(crate) fn live(
    page: &Page,
    request: &Request,
    view: View,
    title: &str,
    content: &Markup,
) -> axum::response::Response {
    match Asked::of_query(request.uri().query()).flag("part") {
        true => unless_known(request.headers().get(IF_NONE_MATCH), content),
        false => framed(page, view, title, content).into_response(),
    }
}

/// Returns markup for the script, or status 304 if it has the same already.
pub(crate) fn unless_known(
    known: Option<&HeaderValue>,
    markup: &Markup,
) -> axum::response::Response {
    let mut hash = DefaultHasher::new();
    markup.0.hash(&mut hash);
    let tag = format!("\"{:016x}\"", hash.finish());
    if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let mut response = Html(markup.0.clone()).into_response();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// The list of keys, which `?` opens.
fn keys() -> Markup {
    let keys = [
        ("j / k", "next or previous output, or line"),
        ("Enter", "open the output"),
        ("/", "search"),
        ("g / G", "beginning or end of the text"),
        ("n / p", "next or previous error in the text"),
        ("u", "back to the outputs"),
        ("?", "these keys"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            table {
                @for (key, what) in keys {
                    tr { th scope="row" { kbd { (key) } } td { (what) } }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// Returns a page without navigation, for those without a session.
pub(crate) fn bare(title: &str, content: &Markup) -> Html<String> {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head(title)) }
            body.bare { main #main { (content) } }
        }
    };
    Html(markup.into_string())
}

/// Returns a page that leads on to a path of ours at once.
pub(crate) fn leading_to(path: &str) -> Html<String> {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head("Welcome"))
                meta http-equiv="refresh" content={ "0;url=" (path) };
            }
            body.bare { main { p { a href=(path) { "Continue" } } } }
        }
    };
    Html(markup.into_string())
}

/// Returns a response for the script.
pub(crate) fn as_json(value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A problem as a person sees it.
#[derive(Debug)]
pub(crate) struct Trouble(pub(crate) Problem);

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response<Body> {
        let Self(problem) = self;
        let content = html! {
            h1 { (problem.status().canonical_reason().unwrap_or("Error")) }
            p { (crate::shown::line(problem.detail(), 1000)) }
            @if let Some(advice) = problem.advice() { p.faint { (advice) } }
            p { a href={ (PREFIX) "/" } { "All outputs" } }
        };
        (problem.status(), bare("Error", &content)).into_response()
    }
}
