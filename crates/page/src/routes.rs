//! The table of all routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use spillgate_http_api::Problem;

use crate::frame::Trouble;
use crate::{
    Page, actions, artifact, assets, door, find, gateway, list, meter, runs, tree, viewer,
};

impl Page {
    /// Returns the routes of the page, without [`PREFIX`](crate::PREFIX). Requests must have passed
    /// the checks of `Host` and `Origin`.
    pub fn router(self: &Arc<Self>) -> Router {
        let look_ups = Arc::clone(&self.api).router();
        let look_ups = look_ups.layer(middleware::from_fn(only_look_ups));
        Router::new()
            .route("/", get(list::list))
            .route("/rows", get(list::fragment))
            .route("/find", get(find::find))
            .route("/find/hits", get(find::hits))
            .route("/meter", get(meter::meter))
            .route("/gateway", get(gateway::gateway))
            .route("/runs", get(runs::list))
            .route("/runs/{name}", get(runs::view))
            .route("/runs/{name}/{at}", get(runs::extraction))
            .route("/runs/{name}/{at}/step", get(runs::step))
            .route("/a/{handle}", get(artifact::artifact))
            .route("/a/{handle}/message", get(artifact::message))
            .route("/a/{handle}/outline", get(artifact::outline))
            .route("/a/{handle}/lines", get(viewer::lines))
            .route("/a/{handle}/error", get(viewer::error))
            .route("/a/{handle}/hex", get(viewer::hex))
            .route("/a/{handle}/image", get(viewer::image))
            .route("/a/{handle}/tree", get(tree::branch))
            .route("/a/{handle}/download", get(actions::download))
            .route("/a/{handle}/pin", post(actions::pin))
            .route("/a/{handle}/remove", post(actions::remove))
            .route(door::LOGIN, get(door::by_link).post(door::by_form))
            .route("/logout", post(door::leave))
            .route("/assets/{name}", get(assets::serve))
            .fallback(no_route)
            .with_state(Arc::clone(self))
            .nest_service("/v1", look_ups)
            .layer(middleware::from_fn_with_state(
                Arc::clone(self),
                door::guarded,
            ))
            .layer(middleware::from_fn(door::with_headers))
    }
}

async fn no_route(uri: Uri) -> Trouble {
    let path: String = uri.path().chars().take(80).collect();
    let what = format!("there is nothing at {}{path}", crate::PREFIX);
    Trouble(Problem::callers(StatusCode::NOT_FOUND, "no_route", what))
}

/// Lets only the look-ups of the API through: the page shows what a model would see, and has its own
/// forms for all changes. Raw bytes are downloads of the page, too.
async fn only_look_ups(request: Request, next: Next) -> Response {
    const LOOK_UPS: [&str; 4] = ["/read", "/grep", "/query", "/search"];
    let path = request.uri().path();
    let is_look_up =
        path.starts_with("/artifacts/") && LOOK_UPS.iter().any(|one| path.ends_with(one));
    if request.method() != Method::GET || !is_look_up {
        let what = "the page has only the look-ups of the API";
        return Problem::callers(StatusCode::NOT_FOUND, "no_route", what).into_response();
    }
    next.run(request).await
}
