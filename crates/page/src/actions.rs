//! What a person can do with an output besides looking: pin it, remove it, take it along.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use spillgate_artifact::ByteSource;
use spillgate_http_api::{Problem, shared, streamed};
use spillgate_store::Gone;

use crate::asked::{Asked, handle, in_path};
use crate::door::to;
use crate::frame::Trouble;
use crate::{PREFIX, Page};

/// `POST /a/{handle}/pin`
pub(crate) async fn pin(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Trouble> {
    let handle = handle(&named)?;
    let asked = Asked::of_form(request.into_body()).await;
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| {
        of.store.pin(handle, asked.flag("pinned"))?;
        of.catalogue.note_pin(&of.store.manifest(handle)?);
        Ok(())
    });
    work.await?;
    Ok(to(&format!("{PREFIX}/a/{}", in_path(handle))))
}

/// `POST /a/{handle}/remove`
pub(crate) async fn remove(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Trouble> {
    let handle = handle(&named)?;
    let asked = Asked::of_form(request.into_body()).await;
    if !asked.flag("sure") {
        let what = "tick the box to say that the output is to be removed";
        return Err(Problem::bad(what).into());
    }
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |api, _| {
        let now = api.tools().offloader.clock().now();
        of.store.remove(handle, Gone::Removed, now)?;
        of.catalogue.forget(handle);
        Ok(())
    });
    work.await?;
    Ok(to(&format!("{PREFIX}/")))
}

/// `GET /a/{handle}/download`: the readable text with marks in place of secrets; with `form=raw` the
/// bytes as they came, if they have no secrets or the owner asks for them.
pub(crate) async fn download(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Trouble> {
    let handle = handle(&named)?;
    let asked = Asked::of_query(request.uri().query());
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| {
        let is_raw = asked.text("form") == Some("raw");
        let reveals = asked.flag("secrets");
        let source: Arc<dyn ByteSource> = if is_raw {
            of.raw(handle, reveals)?
        } else {
            let artifact = of.offloader_for(reveals).artifact(handle)?;
            Arc::clone(artifact.view().shared())
        };
        Ok((source, is_raw))
    });
    let (source, is_raw) = work.await?;
    let name: String = handle.to_string().replace('/', "-");
    let ending = if is_raw { "raw" } else { "txt" };
    Ok(attached(&format!("{name}.{ending}"), source))
}

/// Returns a response that a browser writes to a file and never shows.
fn attached(name: &str, source: Arc<dyn ByteSource>) -> Response<Body> {
    let bytes = source.len();
    let mut response = Response::new(streamed(source, 0, bytes));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

impl Page {
    /// Returns the bytes of an output as they came. Secrets in them are for the owner who asks.
    pub(crate) fn raw(
        &self,
        handle: spillgate_artifact::Handle,
        asks_for_secrets: bool,
    ) -> Result<Arc<dyn ByteSource>, Problem> {
        // First, because what is known of an output that is gone must not be told.
        let stored = self.store.open(handle)?;
        if stored.is_shared {
            return Err(shared(handle));
        }
        let may = asks_for_secrets && self.is_owner;
        let has_secrets = || Ok(self.offloader().raw_has_secrets(handle)?);
        if !may && self.verdicts.get(handle, has_secrets)? {
            let detail = format!("the output {handle} has secrets");
            let hint = match self.is_owner {
                true => {
                    "the text has marks in their place; `Show secrets` shows the output as it came"
                }
                false => {
                    "the text has marks in their place; the owner can look with `spillgate cat --raw`"
                }
            };
            return Err(Problem::callers(StatusCode::FORBIDDEN, "secrets", detail).hint(hint));
        }
        Ok(stored.raw)
    }
}
