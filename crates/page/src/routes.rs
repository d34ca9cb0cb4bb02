//! The table of all routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::future::BoxFuture;
use spillgate_http_api::{Caller, Problem};
use tower::ServiceExt;

use crate::frame::Trouble;
use crate::{
    Door, Page, actions, artifact, assets, door, find, gateway, list, meter, runs, tree, viewer,
};

/// Returns the page of a caller; `Err` is the problem to show if there is none now.
pub type PageOf =
    Arc<dyn Fn(Caller) -> BoxFuture<'static, Result<Arc<Page>, Problem>> + Send + Sync>;

impl Page {
    /// Returns the routes of the page, without [`PREFIX`](crate::PREFIX). Requests must have passed
    /// the checks of `Host` and `Origin`.
    pub fn router(self: &Arc<Self>) -> Router {
        behind(&self.door, self.routes())
    }

    /// Returns the routes for those who have come in.
    fn routes(self: &Arc<Self>) -> Router {
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
            .fallback(no_route)
            .with_state(Arc::clone(self))
            .nest_service("/v1", look_ups)
    }
}

/// Returns the routes of many pages behind one door, without [`PREFIX`](crate::PREFIX): each caller
/// reaches the page that `page_of` returns, and no other.
pub fn router_of_many(door: &Arc<Door>, page_of: PageOf) -> Router {
    let passed_on = move |request: Request| {
        let page_of = Arc::clone(&page_of);
        async move {
            let Some(caller) = request.extensions().get::<Caller>().cloned() else {
                let what = "there is no session, or it is over";
                return Problem::refused(StatusCode::UNAUTHORIZED, what).into_response();
            };
            match page_of(caller).await {
                Ok(page) => match page.routes().oneshot(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                },
                Err(problem) => Trouble(problem).into_response(),
            }
        }
    };
    behind(door, Router::new().fallback(passed_on))
}

/// Puts routes behind a door, beside those that let a person in and out.
fn behind(door: &Arc<Door>, routes: Router) -> Router {
    Router::new()
        .route(door::LOGIN, get(door::by_link).post(door::by_form))
        .route("/logout", post(door::leave))
        .with_state(Arc::clone(door))
        .route("/assets/{name}", get(assets::serve))
        .merge(routes)
        .layer(middleware::from_fn_with_state(
            Arc::clone(door),
            door::guarded,
        ))
        .layer(middleware::from_fn(door::with_headers))
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
