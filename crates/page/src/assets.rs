//! The style sheet, the script and the icon. They are part of the program, so no build step is needed.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Name, type and content of each file.
const FILES: [(&str, &str, &str); 3] = [
    (
        "page.css",
        "text/css; charset=utf-8",
        include_str!("../assets/page.css"),
    ),
    (
        "page.js",
        "text/javascript; charset=utf-8",
        include_str!("../assets/page.js"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../assets/icon.svg"),
    ),
];

/// A short hash of all files. It is part of their addresses, so that a browser keeps them and still
/// gets those of another version.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (_, _, content) in FILES {
        hash.update(content);
    }
    HEXLOWER.encode(&hash.finalize()[..6])
});

/// Returns the address of a file.
pub(crate) fn address(name: &str) -> String {
    format!("{}/assets/{name}?v={}", crate::PREFIX, *VERSION)
}

/// `GET /assets/{name}`
pub(crate) async fn serve(Path(name): Path<String>) -> Response<Body> {
    let Some((_, kind, content)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut response = Response::new(Body::from(*content));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let lasts = HeaderValue::from_static("private, max-age=31536000, immutable");
    headers.insert(CACHE_CONTROL, lasts);
    response
}
